"""A process's connection to the cluster, and the table of its nodes. Ray is imported here, and late."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_HEAD = "node:__internal_head__"
"""The resource by which Ray tells the first node from the others."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A host in the cluster: Ray's id of it, its address, how many GPUs it lends, and its labels."""

    id: str
    host: str
    gpus: int = 0
    is_here: bool = False
    is_head: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


def connect(address: str) -> Any:
    """Join the cluster as a client of it, for as long as this process lives; gives Ray."""
    # Ray tells the far side to look for modules in this folder first: an empty one, not another version's.
    os.chdir("/")
    import ray

    ray.init(address=address, log_to_driver=False, logging_level="error")
    return ray


def nodes() -> list[Node]:
    """The nodes that answer now."""
    import ray

    here = ray.get_runtime_context().get_node_id()
    return [
        Node(
            id=node["NodeID"],
            host=node["NodeManagerAddress"],
            gpus=int(node["Resources"].get("GPU", 0)),
            is_here=node["NodeID"] == here,
            is_head=_HEAD in node["Resources"],
            labels=node["Labels"],
        )
        for node in ray.nodes()
        if node["Alive"]
    ]
