"""Contract on a GPU: equal runs have equal bits, a captured step is the one op by op, and the reference's
rules on a CPU give the same curve within what one rounding to bf16 changes.
"""

from dataclasses import replace

import pytest
import torch

from kernels.train.job import BF16, ON_CPU, TrainJob
from kernels.train.run import Course, add_held_out, add_statistics, quantized_gemms, run
from kernels.train.speed import gemm_launches, launches
from kernels.train.statistics import statistics
from kernels.train.step import CHUNK, Trainer, this_place
from kernels.train.text import installed_text
from tests.kernels.train.small import on_cpu, small_text

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore"),  # Inductor warns of its own ways
    pytest.mark.usefixtures("one_compiler"),
]
STEPS = 20
LONG, REPEATS = 150, 3
DRAWS, MARGIN = 4, 2.0
ULP = 2.0**-8
"""Distance of two bf16 numbers, over the number, at most."""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return small_text(tmp_path_factory.mktemp("text"))


def trainer_of(recipe: str, text, seed: int = 0) -> Trainer:
    return this_place().trainer(TrainJob(recipe=recipe, model=ON_CPU, seed=seed), text)


@pytest.mark.parametrize("recipe", [BF16, "deepseek_v3", "nvfp4"])
def test_equal_runs_have_equal_bits_captured_or_not(recipe, text, monkeypatch):
    one, other = trainer_of(recipe, text), trainer_of(recipe, text)
    first = one.run(0, STEPS, STEPS)
    one.restart(0)
    assert one.run(0, STEPS, STEPS) == first
    monkeypatch.setattr(other, "_replay", lambda name, work: work())
    other.restart(0)  # both draw from one generator
    assert other.run(0, STEPS, STEPS) == first
    end = other.state()
    one.restart(0)
    one.run(0, STEPS, STEPS)
    assert all(torch.equal(a, b) for a, b in zip(one.state(), end, strict=True))
    assert one.held_out_loss() == other.held_out_loss()


@pytest.mark.parametrize("recipe", ["deepseek_v3", "per_tensor", "mxfp8"])
def test_a_model_whose_gradients_sum_over_many_tokens_repeats_its_bits(recipe):
    """Wgrad's K is 32 thousand tokens, so programs share its blocks: a race between them shows here."""
    one = this_place().trainer(TrainJob(recipe=recipe), installed_text())
    runs = []
    for _ in range(REPEATS):
        one.restart(0)
        losses, norms = zip(*(one.run(first, CHUNK, LONG) for first in range(0, LONG, CHUNK)), strict=True)
        runs.append((losses, norms))
    assert all(each == runs[0] for each in runs)


@pytest.mark.parametrize("recipe", [BF16, "deepseek_v3", "per_tensor", "mxfp8"])
def test_the_references_rules_give_the_curve_within_a_rounding_to_bf16(recipe, text):
    """The kernels' sums differ from the exact ones, so that results are rounded to the next bf16 number.

    How far that goes in 20 steps is measured: weights are changed by up to one step of bf16 each.
    """
    losses, _ = trainer_of(recipe, text).run(0, STEPS, STEPS)
    reference = on_cpu().trainer(TrainJob(recipe=recipe, model=ON_CPU), text)
    truth, _ = reference.run(0, STEPS, STEPS)
    spread = 0.0
    for draw in range(DRAWS):
        reference.restart(0)
        dice = torch.Generator().manual_seed(draw)
        with torch.no_grad():
            for weights in reference.model.parameters():
                weights.mul_(1 + ULP * (2 * torch.rand(weights.shape, generator=dice) - 1))
        changed, _ = reference.run(0, STEPS, STEPS)
        spread = max(spread, *(abs(a - b) for a, b in zip(changed, truth, strict=True)))
    assert max(abs(a - b) for a, b in zip(losses, truth, strict=True)) <= MARGIN * spread


@pytest.mark.parametrize("recipe", [BF16, "deepseek_v3", "per_tensor", "mxfp8", "nvfp4"])
def test_each_quantized_gemm_is_a_launch(recipe, text):
    one = trainer_of(recipe, text)
    assert gemm_launches(launches(one)) == quantized_gemms(one) == (0 if recipe == BF16 else 3 * 4)


@pytest.mark.parametrize("recipe", ["deepseek_v3", "mxfp8"])
def test_statistics_of_the_kernels_are_those_of_the_reference(recipe, text):
    """Both look at the first weights: what they multiply differs by roundings to bf16."""
    on_gpu = statistics(trainer_of(recipe, text), 0)
    truth = statistics(on_cpu().trainer(TrainJob(recipe=recipe, model=ON_CPU), text), 0)
    for one, other in zip((*on_gpu.copies, *on_gpu.products), (*truth.copies, *truth.products), strict=True):
        assert one.sqnr_db == pytest.approx(other.sqnr_db, abs=0.5)
    for one, other in zip(on_gpu.copies, truth.copies, strict=True):
        assert one.amax == pytest.approx(other.amax, rel=0.05)
        assert one.mse == pytest.approx(other.mse, rel=0.2)


def test_a_whole_run_goes_on_from_its_state(text):
    one = trainer_of("nvfp4", text)
    looks = dict.fromkeys((STEPS // 2, STEPS), (add_held_out, add_statistics))

    def ran(course: Course, stopped):
        return run(one, course, looks, progress=lambda *call: None, stopped=stopped)

    course = Course(steps=STEPS)
    ran(course, lambda: course.done > 0)
    state = one.state()
    one.run(0, 3, STEPS)
    one.restore(state)
    again = ran(course, lambda: False)
    one.restart(0)
    whole = ran(Course(steps=STEPS), lambda: False)
    assert replace(again, step_ms=None) == replace(whole, step_ms=None)
