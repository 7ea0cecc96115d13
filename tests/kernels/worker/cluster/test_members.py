"""Contract: a host that is like this one lends its GPUs as soon as the table has it; another one is refused
in a sentence, once; one that leaves takes its GPUs along.
"""

from dataclasses import dataclass, field, replace

import pytest

from kernels.worker.cluster.facts import Facts
from kernels.worker.cluster.link import Node
from kernels.worker.cluster.members import Members
from kernels.worker.process import HostGone

HERE = Facts(
    versions={"python": "3.12.3", "torch": "2.11.0"},
    sources="beef",
    gpus="NVIDIA_H200",
    gpu_ids=("GPU-1", "GPU-2"),
)
THERE = replace(HERE, gpu_ids=("GPU-8", "GPU-9"))
B = Node(id="b", host="10.0.0.2", gpus=2, labels=THERE.labels())
OLD = replace(HERE, versions={"python": "3.12.3", "torch": "2.10.0"})


@dataclass
class Supervisor:
    launch: object
    is_retired: bool = False


@dataclass
class Queue:
    fed: list[Supervisor] = field(default_factory=list)

    def add(self, launch) -> Supervisor:
        self.fed.append(Supervisor(launch))
        return self.fed[-1]


@dataclass
class Worker:
    has_vanished: bool = False


@dataclass
class World:
    queue: Queue
    said: list[str]
    members: Members
    now: float = 0.0


@pytest.fixture
def world() -> World:
    made = World(Queue(), [], None)
    made.members = Members(made.queue, HERE, lambda node: Worker(), made.said.append, lambda: made.now)
    return made


def test_a_host_that_joins_is_fed_a_gpu_each_and_told_once(world):
    for _ in range(3):
        world.members.update([replace(B, id="a", is_here=True), B])
    assert len(world.queue.fed) == 2
    assert world.said == ["10.0.0.2 has joined with 2 × NVIDIA H200."]


REFUSED = {
    "another version": (
        replace(B, labels=OLD.labels()),
        "10.0.0.2 is not used, because it differs from this host: torch 2.10.0 there, 2.11.0 here. "
        "Make both alike.",
    ),
    "another project": (
        replace(B, labels={}),
        "10.0.0.2 is not used: it does not run FP8 Explorer. Start it there with make cluster.",
    ),
    "this host's own GPUs": (
        replace(B, labels=replace(HERE, gpu_ids=("GPU-3", "GPU-2")).labels()),
        "10.0.0.2 is not used: it lends GPUs that serve this host already.",
    ),
    "no GPU": (replace(B, gpus=0), "10.0.0.2 is not used: it lends no GPU."),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_host_that_does_not_fit_is_refused_in_one_sentence(world, why):
    node, sentence = REFUSED[why]
    for _ in range(3):
        world.members.update([node])
    assert (world.said, world.queue.fed) == ([sentence], [])
    assert world.members.sentences == {"10.0.0.2": sentence}


def test_a_host_that_was_made_alike_joins_as_a_new_node(world):
    world.members.update([replace(B, labels=OLD.labels())])
    world.members.update([replace(B, id="b2")])
    assert len(world.queue.fed) == 2
    assert "has joined" in world.members.sentences["10.0.0.2"]


def test_no_worker_is_started_on_a_host_that_has_left(world):
    world.members.update([B])
    world.members.update([])
    assert world.said[-1] == "10.0.0.2 has left the cluster."
    for supervisor in world.queue.fed:
        with pytest.raises(HostGone, match="its host has left the cluster"):
            supervisor.launch()


def test_a_worker_that_was_lost_is_not_started_again_by_the_same_supervisor(world):
    world.members.update([B])
    launch = world.queue.fed[0].launch
    worker = launch()
    assert launch() is not worker
    launch().has_vanished = True
    with pytest.raises(HostGone):
        launch()


def test_a_host_that_was_lost_but_is_still_there_is_tried_again_after_a_rest(world):
    world.members.update([B])
    world.queue.fed[0].is_retired = True
    for world.now in (0.0, 5.0, 10.0):
        world.members.update([B])
        assert len(world.queue.fed) == 2
    world.now = 20.0
    for _ in range(3):
        world.members.update([B])
    assert len(world.queue.fed) == 3
