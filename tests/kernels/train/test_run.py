"""Contract of a run: it learns, repeats bit for bit, goes on where it was left, and ends with a sentence
where a number is not finite. Tokens attend to themselves and those before.
"""

from dataclasses import replace

import pytest
import torch

from kernels.measure.jobs import StoppedEarly
from kernels.train import run as job_module
from kernels.train.job import BF16, ON_CPU, SIZES, TrainJob
from kernels.train.model import attend, rope
from kernels.train.row import TrainRow
from kernels.train.run import Course, measure
from kernels.train.step import LAST_RATE, rate_at
from kernels.worker.jobs import Result as AnyResult
from kernels.worker.jobs import kind_of, packed, unpacked
from tests.kernels.train.small import on_cpu, small_text, trained, trainer

STEPS, FEW = 30, 8


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return small_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(autouse=True)
def few_batches(monkeypatch):
    """What is held out is looked at in two batches."""
    monkeypatch.setattr("kernels.train.step.HELD_OUT_BATCHES", 2)


@pytest.mark.parametrize("recipe", [BF16, "mxfp4"])
def test_thirty_steps_learn_and_are_told(recipe, text):
    row = trained(trainer(recipe, text), STEPS)
    assert row.finished
    assert row.losses[0] == pytest.approx(5.55, abs=0.1)  # ln 256: nothing is known yet
    assert row.losses[-1] < 4
    assert row.held_out_at == (STEPS // 2, STEPS)
    assert row.final == pytest.approx(row.held_out_bf16, abs=0.05)
    assert row.text == text.source
    assert row.machine.capability is None
    linears = len(SIZES["tiny"].block_linears)
    assert (row.quantized_gemms, row.gemms) == (0 if recipe == BF16 else 3 * linears, 3 * (linears + 1))


def test_a_run_goes_on_bit_for_bit(text):
    """The bits of stochastic rounding are part of its state."""
    one = trainer("nvfp4", text)
    whole = trained(one, FEW)
    end = one.state()
    one.restart(0)
    course = Course(steps=FEW)
    part = trained(one, FEW, course, stopped=lambda: course.done > 0)
    assert (part.done, part.finished) == (FEW // 2, False)
    state = one.state()
    other = trainer("nvfp4", text, seed=0)
    other.restore(state)
    again = trained(other, FEW, course)
    assert all(torch.equal(a, b) for a, b in zip(end, other.state(), strict=True))
    assert replace(again, step_ms=None) == replace(whole, step_ms=None)


def test_seeds_differ_and_recipes_begin_with_equal_weights(text):
    first, second, quantized = (trainer(BF16, text), trainer(BF16, text, 1), trainer("mxfp8", text))
    same = [torch.equal(a, b) for a, b in zip(first.state(), quantized.state(), strict=False)]
    assert all(same)
    assert not torch.equal(first.model.embedding, second.model.embedding)
    assert first.run(0, 2, 4) != second.run(0, 2, 4)


def test_looking_changes_nothing(text):
    one = trainer("nvfp4", text)
    one.run(0, 2, STEPS)
    before = one.state()
    one.held_out_loss()
    one.held_out_loss(plain=True)
    one.observe(lambda name, layer, x, y: None)
    assert all(torch.equal(a, b) for a, b in zip(before, one.state(), strict=True))


def test_a_number_that_is_not_finite_ends_the_run_with_step_and_tensor(text, monkeypatch):
    one = trainer("mxfp8", text)
    plain = one.step

    def breaking() -> None:
        plain()
        if one._at.item() == 4:
            one.model.blocks[0].layers["gate_up"].weight.data[0, 0] = torch.inf

    monkeypatch.setattr(one, "step", breaking)
    row = trained(one, STEPS)
    assert row.done == 4
    assert row.failure == (
        "Step 5: y of layer 0.gate_up has numbers that are not finite, and the loss is not finite. "
        "The run ended there."
    )
    assert row.final is None


def test_the_rate_rises_for_a_tenth_and_falls_to_a_tenth():
    rates = [rate_at(step, 200, 2.0) for step in range(200)]
    assert rates.index(max(rates)) == 19
    assert rates[19] == 2.0
    assert rates[-1] == pytest.approx(2.0 * LAST_RATE, rel=0.01)
    assert rates[:20] == sorted(rates[:20])
    assert rates[20:] == sorted(rates[20:], reverse=True)


JOB = TrainJob(recipe="mxfp8", model=ON_CPU, steps=4)


@pytest.fixture
def small(monkeypatch, tmp_path):
    text = small_text(tmp_path)
    monkeypatch.setattr(job_module, "installed_text", lambda: text)
    monkeypatch.setattr(job_module, "this_place", on_cpu)
    monkeypatch.setattr("kernels.train.step.HELD_OUT_BATCHES", 2)


@pytest.mark.usefixtures("small")
def test_partial_rows_are_the_beginning_of_the_result():
    calls: list[tuple[float, str]] = []
    parts: list[TrainRow] = []

    def keep(fraction: float, note: str, part: TrainRow | None = None) -> None:
        calls.append((fraction, note))
        parts.extend([part] if part else [])

    row = measure(JOB, progress=keep, stopped=lambda: False)
    assert row.finished
    assert parts[-1] == row
    assert [part.losses for part in parts] == [row.losses[: part.done] for part in parts]
    assert [fraction for fraction, _ in calls] == sorted(fraction for fraction, _ in calls)
    before = [note for fraction, note in calls if fraction == 0]
    assert before[:2] == ["reading the text", "making the model"]
    assert before[-1] == "making a step ready"
    assert unpacked(AnyResult, packed(parts[0])) == parts[0]
    assert kind_of(row).name == "train"


@pytest.mark.usefixtures("small")
def test_a_stopped_run_goes_on_where_it_was_left_or_anew_with_equal_bits():
    whole = measure(JOB, progress=lambda *calls: None, stopped=lambda: False)
    parts: list[TrainRow] = []

    def keep(fraction: float, note: str, part: TrainRow | None = None) -> None:
        parts.extend([part] if part else [])

    with pytest.raises(StoppedEarly):
        measure(JOB, progress=keep, stopped=lambda: bool(parts))
    assert parts[-1].done < JOB.steps
    again: list[TrainRow] = []
    gone_on = measure(
        JOB,
        progress=lambda f, n, part=None: again.extend([part] if part else []),
        stopped=lambda: False,
        so_far=parts[-1],
    )
    assert again[0].done > parts[-1].done
    assert replace(gone_on, step_ms=None) == replace(whole, step_ms=None)
    anew = measure(JOB, progress=lambda *calls: None, stopped=lambda: False, so_far=parts[-1])
    assert replace(anew, step_ms=None) == replace(whole, step_ms=None)


SEQUENCES, LENGTH, HEADS, DIM = 2, 5, 3, 8


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    angles = torch.arange(LENGTH)[:, None] * torch.rand(DIM // 2)
    return angles.cos(), angles.sin()


def test_products_of_q_and_k_depend_on_the_distance_of_their_positions_alone():
    torch.manual_seed(0)
    same = torch.randn(1, 1, 3, HEADS, DIM).expand(SEQUENCES, LENGTH, 3, HEADS, DIM)
    q, k, _ = rope(same, *tables())
    products = torch.einsum("slhd,smhd->shlm", q, k)
    for distance in range(-LENGTH + 1, LENGTH):
        along = products.diagonal(distance, 2, 3)
        torch.testing.assert_close(along, along[..., :1].expand_as(along), rtol=1e-4, atol=1e-5)


def test_a_token_attends_to_itself_and_those_before_it():
    torch.manual_seed(0)
    q, k, v = (torch.randn(SEQUENCES, LENGTH, HEADS, DIM) for _ in range(3))
    whole = attend(q, k, v)
    for each in (q, k, v):
        each[:, -1] = 0
    torch.testing.assert_close(attend(q, k, v)[:, :-1], whole[:, :-1])
    torch.testing.assert_close(whole[:, 0], v[:, 0])
