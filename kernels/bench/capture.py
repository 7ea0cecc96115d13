"""CUDA graphs of launches on the GPU in use, and never an empty one."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_EMPTY = "The CUDA Graph is empty"
"""How torch begins its warning."""


class EmptyGraph(RuntimeError):
    """Raised for a capture without a launch: its time would be the time of nothing."""


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph) -> Iterator[None]:
    """Capture the launches inside into a graph, on a new stream of the GPU in use.

    By itself torch captures every graph of a process on one stream. That stream belongs to the GPU of the
    first capture, so launches on any other GPU would not go into the graph. Raises EmptyGraph.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.filterwarnings("always", message=_EMPTY)
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            yield
    for warning in told:
        if str(warning.message).startswith(_EMPTY):
            raise EmptyGraph(
                "a CUDA graph was captured with no launch in it: the launches went to another GPU or stream, "
                "so there is nothing to time"
            )
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
