"""Contract: a warm call asks once for the small memory that only kernels see, and gives large memory back."""

import pytest
import torch

from kernels.launching import recording
from kernels.launching.tape import Release
from kernels.launching.warm import overlap
from kernels.layer import linear, record, taped
from tests.kernels.cases import WHERE
from tests.kernels.launching.stand_in import no_tapes_yet
from tests.kernels.layer.by_hand import drawn


@pytest.fixture(autouse=True)
def driver():
    with no_tapes_yet(taped.TAPES) as cuda:
        yield cuda


def gradients():
    """dx and dw of a step, and the tape of its way back."""
    x, w, dy = drawn(32, 64, 32)
    made = torch.autograd.grad(linear(x, w), (x, w), dy)
    return made, [*taped.TAPES._tapes.values()][-1]


def test_memory_is_given_back_after_the_last_kernel_that_reads_it(monkeypatch):
    monkeypatch.setattr(recording, "_SMALL_BYTES", 0)
    first, tape = gradients()
    released = [step.root for step in tape.steps if isinstance(step, Release)]
    assert released
    assert not {seen.root for seen in tape.results} & set(released)
    after = [reads(tape.steps[tape.steps.index(Release(root)) :]) for root in released]
    assert not any(root in read for root, read in zip(released, after, strict=True))
    again, _ = gradients()
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def reads(steps):
    return {root for step in steps for root in getattr(step, "reads", ())}


def test_tensors_of_one_storage_are_told_apart_if_they_do_not_overlap():
    rows = torch.zeros(4, 8)
    assert not overlap([rows[0], rows[2], rows[3, 2:]])
    assert overlap([rows[:2], rows[1]])
    assert overlap([rows[:, :4], rows[:, 4:]])
    record.TAPES.forget()
    history = torch.arange(12, dtype=torch.int32, device=WHERE).view(3, 4)
    other, amax = history.clone(), torch.arange(0.5, 12.5, device=WHERE).view(3, 4)[:, :1]
    for first, second in ((0, 1), (2, 0), (1, 2)):
        for row in (first, second):
            record.record(history[row], amax[row])
        record.record_now(other[first], amax[first], (other[second], amax[second]))
    assert torch.equal(history, other)
    assert len(record.TAPES) == 1


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (slice(0, 5), slice(4, 9), True),
        (slice(0, 5), slice(5, 9), False),
        (slice(0, 9, 4), slice(8, 9), True),
        (slice(0, 9, 4), slice(9, 12), False),
        (slice(0, 9, 2), slice(1, 9, 2), True),
    ],
    ids=str,
)
def test_tensors_overlap_up_to_their_last_element(one, other, shared):
    line = torch.zeros(12, dtype=torch.bfloat16)
    assert overlap([line[one], line[other]]) is shared
    assert overlap([line[other], line[one]]) is shared
