"""Contract: a host joins with equal versions and sources, is fed a GPU each, and is told when it leaves."""

import re
import shutil
from dataclasses import replace

import pytest

from kernels.paths import TOP
from kernels.worker.cluster.hosts import Follower, Node, facts_here
from kernels.worker.cluster.node import first_node, further_node

VERSIONS = {"fp8-explorer/python": "3.12.3", "fp8-explorer/torch": "2.11.0", "fp8-explorer/sources": "beef"}
HERE = {**VERSIONS, "fp8-explorer/gpus": "NVIDIA_H200", "fp8-explorer/gpu-ids": "1.2"}
B = Node(id="b", host="10.0.0.2", gpus=2, labels={**HERE, "fp8-explorer/gpu-ids": "8.9"})


class Queue:
    fed = 0

    def add(self, launch) -> None:
        self.fed += 1


@pytest.fixture
def follower() -> Follower:
    made = Follower(Queue(), "10.0.0.1:18600", say=lambda sentence: made.said.append(sentence))
    made.said, made._here = [], HERE
    return made


def test_a_host_that_joins_is_fed_a_gpu_each_and_told_once_as_is_its_leaving(follower):
    for _ in range(3):
        follower.update([replace(B, id="a", is_here=True), B])
    assert follower._queue.fed == 2
    follower.update([])
    assert follower.said == ["10.0.0.2 has joined with 2 × NVIDIA H200.", "10.0.0.2 has left the cluster."]


REFUSED = {
    "another version": (
        replace(B, labels={**B.labels, "fp8-explorer/torch": "2.10.0"}),
        "10.0.0.2 is not used, because it differs from this host: torch 2.10.0 there, 2.11.0 here. "
        "Make both alike.",
    ),
    "another project": (
        replace(B, labels={}),
        "10.0.0.2 is not used: it does not run FP8 Explorer. Start it there with make cluster.",
    ),
    "this host's own GPUs": (
        replace(B, labels={**B.labels, "fp8-explorer/gpu-ids": "3.2"}),
        "10.0.0.2 is not used: it lends GPUs that serve this host already.",
    ),
    "no GPU": (replace(B, gpus=0), "10.0.0.2 is not used: it lends no GPU."),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_host_that_does_not_fit_is_refused_in_one_sentence(follower, why):
    node, sentence = REFUSED[why]
    for nodes in ([node], [node], []):
        follower.update(nodes)
    assert (follower.said, follower._queue.fed) == ([sentence], 0)


RAYS_LABEL = re.compile(r"([a-zA-Z0-9]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?)")
"""What Ray takes as a label, from its label_utils.py."""


def test_ray_takes_the_facts_as_labels():
    facts = facts_here()
    names = [name.removeprefix("fp8-explorer/") for name in facts]
    assert all(RAYS_LABEL.fullmatch(text) for text in (*names, *facts.values()))
    assert {"python", "torch", "triton", "sources"} <= set(names)


@pytest.mark.parametrize(
    ("file", "matters"), [("kernels/bits.py", True), ("fp8core/tiles.py", True), ("README.md", False)]
)
def test_the_digest_follows_the_files_that_workers_read(tmp_path, file, matters):
    for room in ("kernels/bits.py", "fp8core/tiles.py", "README.md"):
        (tmp_path / room).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / room, tmp_path / room)
    before = facts_here(tmp_path)
    (tmp_path / file).write_text("changed\n")
    assert (facts_here(tmp_path) != before) == matters


@pytest.mark.parametrize(
    "command",
    [first_node("10.0.0.1", 18600, HERE), further_node("10.0.0.1:18600", 2, 18600, HERE)],
    ids=["first", "further"],
)
def test_no_command_line_has_a_token_or_a_dashboard(command):
    assert not any("token" in argument for argument in command)
    assert ("--include-dashboard=false" in command) == ("--head" in command)
