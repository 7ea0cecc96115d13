"""Contract: a host joins with the token and equal sources, is fed a GPU each, and is told when it leaves."""

import re
import shutil
import stat
from dataclasses import dataclass, field, replace

import pytest

from kernels.paths import TOP
from kernels.worker.cluster.facts import Facts, facts_here, from_labels
from kernels.worker.cluster.link import Node
from kernels.worker.cluster.members import Members
from kernels.worker.cluster.ray_node import first_node, further_node
from kernels.worker.cluster.token import new_token, token_environment

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


FACTS_HERE = facts_here()
RAYS_LABEL = re.compile(r"([a-zA-Z0-9]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?)")
"""What Ray takes as a label, from its label_utils.py."""


def changed(**versions: str) -> Facts:
    return replace(FACTS_HERE, versions={**FACTS_HERE.versions, **versions})


def test_facts_survive_the_labels_and_ray_takes_these():
    told = replace(
        changed(torch="2.11.0_cu130"), gpus="NVIDIA_H200", gpu_ids=("GPU-8f", "GPU-1c"), commit="0123abcd"
    )
    assert from_labels(told.labels()) == told
    names = [name.removeprefix("fp8-explorer/") for name in FACTS_HERE.labels()]
    assert all(RAYS_LABEL.fullmatch(text) for text in (*names, *FACTS_HERE.labels().values()))


@pytest.mark.parametrize(
    ("file", "matters"), [("kernels/bits.py", True), ("fp8core/tiles.py", True), ("README.md", False)]
)
def test_the_digest_follows_the_files_that_workers_read(tmp_path, file, matters):
    for room in ("kernels/bits.py", "fp8core/tiles.py", "README.md"):
        (tmp_path / room).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / room, tmp_path / room)
    before = facts_here(tmp_path)
    assert before.commit == ""
    (tmp_path / file).write_text("changed\n")
    assert (facts_here(tmp_path).sources != before.sources) == matters


FACTS = Facts(versions={"python": "3.12.3"}, sources="beef")


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".cluster-token"


def test_the_token_is_made_once_and_only_its_owner_reads_it(file):
    first = token_environment({}, new_token, file)
    text = file.read_text()
    assert len(text) >= 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first == token_environment({}, lambda: pytest.fail("it is there already"), file)
    assert first == {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)}
    assert file.read_text() == text


@pytest.mark.parametrize("typed", [None, "", "  \n"])
def test_a_host_without_a_token_says_where_to_get_it(file, typed):
    with pytest.raises(ValueError, match=r"copy the file \.cluster-token .* RAY_AUTH_TOKEN"):
        token_environment({}, lambda: typed, file)
    assert not file.exists()


def test_a_token_that_others_can_read_is_refused(file):
    token_environment({}, new_token, file)
    file.chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        token_environment({}, new_token, file)


@pytest.mark.parametrize(
    "arguments", [first_node("10.0.0.1", 18600, FACTS), further_node("10.0.0.1:18600", 18600, 2, FACTS)]
)
def test_no_command_line_has_a_token_or_a_dashboard(arguments):
    assert not any("token" in argument for argument in arguments)
    assert "--include-dashboard=true" not in arguments
    assert ("--include-dashboard=false" in arguments) == ("--head" in arguments)
