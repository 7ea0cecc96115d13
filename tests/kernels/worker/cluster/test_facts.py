"""Contract: two hosts may work together exactly where their versions and sources are alike; else a sentence
names both sides. The facts survive the way through a node's labels.
"""

import re
import shutil
from dataclasses import replace

import pytest

from kernels.nvml import Driver
from kernels.paths import TOP
from kernels.worker.cluster import facts
from kernels.worker.cluster.facts import Facts, difference, facts_here, from_labels

HERE = facts_here()
RAYS_LABEL = re.compile(r"([a-zA-Z0-9]([a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9])?)")
"""What Ray takes as a label, from its label_utils.py."""


def changed(**versions: str) -> Facts:
    return replace(HERE, versions={**HERE.versions, **versions})


def without(name: str) -> Facts:
    return replace(HERE, versions={key: value for key, value in HERE.versions.items() if key != name})


def test_facts_survive_the_labels_and_ray_takes_these():
    told = replace(
        changed(torch="2.11.0_cu130"), gpus="NVIDIA_H200", gpu_ids=("GPU-8f", "GPU-1c"), commit="0123abcd"
    )
    assert from_labels(told.labels()) == told
    names = [name.removeprefix("fp8-explorer/") for name in HERE.labels()]
    assert all(RAYS_LABEL.fullmatch(text) for text in (*names, *HERE.labels().values()))


@pytest.mark.parametrize("name", ["python", "torch", "numpy"])
def test_another_version_is_told_with_both_sides(name):
    told = difference(changed(**{name: "0.1"}), HERE)
    assert told == f"{name} 0.1 there, {HERE.versions[name]} here"
    assert difference(without(name), HERE) == f"{name} missing there, {HERE.versions[name]} here"


def test_a_host_may_lack_the_app_but_not_have_another_one():
    assert difference(without("streamlit"), HERE) == ""
    assert "streamlit 0.1 there" in difference(changed(streamlit="0.1"), HERE)


@pytest.mark.parametrize("told", [None, "1", "GPU-c"])
def test_a_gpu_goes_by_its_uuid_however_it_is_made_visible(monkeypatch, told):
    monkeypatch.setattr(facts, "driver", lambda: Driver(uuids=("GPU-a", "GPU-c"), names=("L4", "NVIDIA L4")))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if told is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
    here = facts_here()
    assert here.gpu_ids == (("GPU-a", "GPU-c") if told is None else ("GPU-c",))
    assert here.gpus == "L4-and-NVIDIA_L4"


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
