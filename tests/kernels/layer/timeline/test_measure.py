"""Contract: a way that cannot be is left out with its reason, and a fault of ours is not taken for one."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from kernels.device import Unsupported
from kernels.layer.timeline import Timeline, Way, measure
from tests.kernels.layer.timeline.made_up import JOB, ROW


@pytest.fixture
def ways(monkeypatch):
    """What making a way ready raises, by the way; nothing is measured."""
    raised: dict[Way, Exception] = {}

    def ready(way, *given):
        if way in raised:
            raise raised[way]
        return SimpleNamespace(way=way, run=lambda: None)

    monkeypatch.setattr(measure, "ready", ready)
    monkeypatch.setattr(measure.Tensors, "of", lambda job: None)
    monkeypatch.setattr(measure, "_times", lambda *given: None)
    monkeypatch.setattr(measure, "_row", lambda job, one, *given: replace(ROW, way=one.way))
    return raised


def measured(stopped=lambda: False):
    made = Timeline(job=JOB, rows=())
    return measure._measured(made, tuple(Way), lambda *told: None, stopped)


def test_what_torch_cannot_do_is_left_out_with_its_reason(ways):
    ways[Way.NAIVE] = Unsupported("torch has no cast for e2m1")
    ways[Way.COMPILED] = RuntimeError("Data-dependent branching\nmore")
    found = measured()
    assert found.done == len(Way)
    naive, compiled = found.left_out
    assert naive.reason == "torch has no cast for e2m1"
    assert compiled.reason == "torch.compile does not take the casts: Data-dependent branching"


@pytest.mark.parametrize(
    ("way", "fault"), [(Way.OURS, RuntimeError("a fault")), (Way.COMPILED, torch.OutOfMemoryError("no room"))]
)
def test_a_fault_of_ours_and_a_lack_of_memory_are_told(ways, way, fault):
    ways[way] = fault
    with pytest.raises(type(fault), match=str(fault)):
        measured()
