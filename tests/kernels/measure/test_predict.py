"""Contract: a prediction is the kernel's order of operations on the accumulator's model; on a Hopper GPU each
predicted bit is the kernel's.
"""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.recipes import RECIPES
from kernels.device import HOPPER
from kernels.gemm.blocks import Variant
from kernels.gemm.choose import tries
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in, plan_gemm
from kernels.measure import exactness
from kernels.measure.exactness import Sample, Sampled, predict
from kernels.measure.gemm import measure
from kernels.measure.jobs import GemmJob
from kernels.measure.rows import Prediction
from tests.kernels.cases import GEMMS, ON_GPU

M, N, K = 5, 6, 384


def plan_of(recipe, matmul) -> GemmPlan:
    plan = plan_gemm(recipe.spec(matmul), (M, N, K), HOPPER, Summation.RECIPE)
    assert isinstance(plan, GemmPlan)
    return plan


def samples(plan: GemmPlan, seed: int, whole: bool) -> tuple[Sample, Sample]:
    """Codes of small integers with scales that are powers of two, or of any values with any scales."""
    rng = np.random.default_rng(seed)
    made = []
    for side, rows in ((Side.A, M), (Side.B, N)):
        spec, tile = plan.numerics.spec.operand(side), plan.numerics.applied(side)
        element = FORMATS["bf16"] if spec is None else spec.format
        top = min(2, int(element.max))
        drawn = rng.integers(-top, top + 1, (rows, K)) if whole else rng.standard_normal((rows, K))
        numbers = element.decode(element.encode(drawn))
        tile_k = K if tile is None else tile.k or K
        scale = scales(rng, (rows, K // tile_k), whole) if tile is not None else np.ones((rows, 1))
        if plan.numerics.on_codes(side):
            along = np.repeat(scales(rng, (rows, K // spec.tile.k), whole), spec.tile.k, 1)
            stored = spec.scale_rule.format
            numbers = numbers * np.exp2(np.rint(np.log2(stored.decode(stored.encode(along)))))
        made.append(Sample(numbers, scale.astype(np.float32), tile_k))
    return made[0], made[1]


def scales(rng: np.random.Generator, shape: tuple[int, int], whole: bool) -> np.ndarray:
    """Powers of two, or any numbers far below 1."""
    return np.exp2(rng.integers(-2, 3, shape) if whole else rng.uniform(-6, -4, shape))


def exact(a: Sample, b: Sample) -> np.ndarray:
    return a.values() @ b.values().T


by_gemm = pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)


@by_gemm
def test_a_product_that_needs_no_rounding_is_predicted_exactly(recipe, matmul):
    plan = plan_of(recipe, matmul)
    a, b = samples(plan, 0, whole=True)
    truth = exact(a, b)
    out = plan.numerics.spec.out
    np.testing.assert_array_equal(predict(plan, a, b), out.decode(out.encode(truth)))


@by_gemm
def test_any_product_is_predicted_within_the_accumulator_s_bound(recipe, matmul):
    plan = plan_of(recipe, matmul)
    a, b = samples(plan, 1, whole=False)
    left, right = a.values(), b.values()
    bound = plan.numerics.accumulator.error_bound(left, right)
    total = np.abs(left) @ np.abs(right).T + bound
    steps = K // plan.blocks.block_k + 2  # one fp32 rounding a stretch of K, two of the scales
    bound = bound + total * (steps * 2.0**-24 + 2.0 ** -(plan.numerics.spec.out.mantissa_bits + 1))
    assert (np.abs(predict(plan, a, b) - exact(a, b)) <= bound).all()


def test_the_scale_in_the_loop_is_applied_by_one_fused_multiply_add():
    plan = plan_of(*GEMMS["deepseek_v3-wgrad"])
    ones = np.zeros((1, 2 * plan.blocks.block_k))
    ones[0, 0] = ones[0, plan.blocks.block_k] = 1.0
    third = np.float32(1 / 3)
    a = Sample(ones, np.array([[1.0, third]], np.float32), plan.blocks.block_k)
    b = Sample(ones, np.array([[1.0, third]], np.float32), plan.blocks.block_k)
    scale = np.float32(third * third)
    assert predict(plan, a, b)[0, 0] == np.float32(np.float64(scale) + 1.0)


def test_what_the_model_says_is_compared_bit_by_bit(monkeypatch):
    model = np.array([[1.0, np.nan], [-0.0, 2.0]], np.float32)
    monkeypatch.setattr(exactness, "predict", lambda plan, a, b: model)
    sample, places = Sample(model, model, 1), np.array([7, 8])
    sampled = Sampled(None, model.copy(), places, places, sample, sample)
    assert sampled.prediction() == Prediction(outputs=4, equal=4, first_difference="")
    sampled.out[1, 0] = 0.0
    first = "D[8, 7]: the model says -0.0, the GPU 0.0"
    assert sampled.prediction() == Prediction(outputs=4, equal=3, first_difference=first)


def test_of_4_bit_codes_the_even_ones_of_32_are_added_first():
    """A kernel that decodes them in registers adds 16 even ones, then 16 odd ones; another one neighbors."""
    spec = RECIPES["mxfp4"].fprop
    numerics = plan_built_in(spec, (M, N, 32), HOPPER, Summation.RECIPE)
    blocks = next(tries(Variant.DECODING, numerics.numerics, (M, 4096, 64), HOPPER))
    decoded, plain = replace(numerics, blocks=blocks), numerics
    left = np.zeros((1, 32))
    left[0, [0, 1, 2]] = 2.0**30, 1.0, -(2.0**30)
    a, b = (Sample(x, np.ones((1, 1), np.float32), 32) for x in (left, np.ones((1, 32))))
    assert predict(decoded, a, b)[0, 0] == 1.0, "what is large has cancelled when the odd ones come"
    assert predict(plain, a, b)[0, 0] == 0.0, "1 is lost beside what is large"


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
@pytest.mark.parametrize("mnk", [(300, 520, 1000), (1024, 512, 2048), (64, 48, 4100)], ids=str)
@by_gemm
def test_every_predicted_bit_is_the_kernel_s(recipe, matmul, mnk):
    m, n, k = mnk
    job = GemmJob(recipe=recipe.name, matmul=matmul.name, m=m, n=n, k=k, runs=1)
    prediction = measure(job, progress=print, stopped=lambda: False, gives_first=False).prediction
    if prediction is None:
        pytest.skip("no model of this GPU")
    assert prediction.first_difference == ""
    assert prediction.equal == prediction.outputs > 2000
