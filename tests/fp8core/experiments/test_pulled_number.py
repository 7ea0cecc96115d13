"""A number is pulled up: the others become what the reference quantizer makes of them."""

import numpy as np
import pytest

from fp8core.experiments.pulled_number import PART, ROWS, STEP, K, Numbers, Scales, pulled, recorded
from fp8core.formats import FORMATS
from fp8core.inputs.recorded import tensor
from fp8core.linear import FPROP, MATMULS, WGRAD, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES

E4M3 = FORMATS["e4m3"]
SPEC = RECIPES["per_tensor_e4m3"].spec(WGRAD)
RECIPE = {Scales.ONE: "per_tensor_e4m3", Scales.ROWS: "rowwise"}
RNG = np.random.default_rng(20261128)


def quantized(x: np.ndarray, scales: Scales) -> np.ndarray:
    """x as the recipe of these scales rounds it, one matrix at a time."""
    if scales is Scales.NONE:
        return E4M3.decode(E4M3.encode(x))
    recipe = RECIPES[RECIPE[scales]]
    return quantize(x, recipe.grid(FPROP, Side.A, x.shape), recipe.spec(FPROP).operand(Side.A)).values()


@pytest.mark.parametrize("scales", Scales)
@pytest.mark.parametrize("size", [2.0**-20, 1.0, 100.0])
def test_each_case_is_the_matmul_of_its_rounded_operands(scales, size):
    numbers = Numbers(
        a=(RNG.standard_normal((ROWS, K)) * size).astype(np.float32),
        b=RNG.standard_normal(K).astype(np.float32),
    )
    factors = 2.0 ** np.array([-3.0, 0.0, 2.5, 9.0, 18.25])
    index = int(RNG.integers(ROWS * K))
    cases = pulled(numbers, index, factors, SPEC, scales)
    for case, factor in enumerate(factors):
        a = numbers.a.copy()
        a.flat[index] *= np.float32(factor)
        values = quantized(a, scales)
        b = quantized(numbers.b[None], scales)[0]
        assert np.array_equal(cases.values[case].astype(np.float32), values.astype(np.float32))
        assert np.array_equal(E4M3.decode(cases.codes[case]) * cases.scale[case][:, None], cases.values[case])
        assert cases.sums[case][:, -1] == pytest.approx(values.astype(np.float64) @ b, rel=1e-6, abs=1e-30)
        assert cases.exact[case][:, -1] == pytest.approx(a.astype(np.float64) @ numbers.b, rel=1e-12)


@pytest.mark.parametrize("scales", Scales)
@pytest.mark.parametrize("recipe", ["per_tensor_e4m3", "per_tensor", "mxfp4"])
@pytest.mark.parametrize("matmul", MATMULS.values(), ids=list(MATMULS))
def test_what_lies_at_or_below_the_zero_edge_becomes_0(scales, recipe, matmul):
    spec = RECIPES[recipe].spec(matmul)
    cases = pulled(recorded(matmul), 12, 2.0 ** np.arange(-3, 22.25, 0.25), spec, scales)
    edge = cases.scale[..., None] * spec.a.format.min_subnormal / 2
    size = np.abs(cases.a.astype(np.float64))
    sure = np.abs(size / edge - 1) > 1e-6  # the quantizer divides in fp32
    assert np.array_equal(cases.is_lost[sure], (size <= edge)[sure])


def test_the_chosen_case_goes_wrong_under_one_scale_and_comes_back_with_a_scale_for_each_row():
    def errors(factor: float, scales: Scales) -> np.ndarray:
        case = pulled(recorded(), 12, np.array([factor]), SPEC, scales)
        return np.abs(case.sums / case.exact - 1)[0, :, -1]

    assert errors(1.0, Scales.ONE).max() < 0.06
    pulled_up = 2.0**22
    assert errors(pulled_up, Scales.ONE)[[0, 2]].min() > 0.3
    assert errors(pulled_up, Scales.ROWS).max() < 0.06
    assert pulled(recorded(), 12, np.ones(1), SPEC, Scales.NONE).is_lost.all()


@pytest.mark.parametrize("index", [-1, ROWS * K])
def test_a_number_that_a_does_not_have_is_refused(index):
    with pytest.raises(ValueError, match=f"index is 0 to {ROWS * K - 1}, got {index}"):
        pulled(recorded(), index, np.ones(1), SPEC, Scales.ONE)


@pytest.mark.parametrize("matmul", MATMULS.values(), ids=list(MATMULS))
def test_a_and_b_are_crops_of_the_recorded_operands_along_one_stretch_of_k(matmul):
    numbers = recorded(matmul)
    stretches = []
    for side, rows in ((Side.A, numbers.a), (Side.B, numbers.b[None])):
        x = tensor(PART, STEP, matmul.operand(side))
        along_k = x.T if matmul.k_is_rows(side) else x
        windows = np.lib.stride_tricks.sliding_window_view(along_k, rows.shape)
        corners = np.argwhere((windows == rows).all(axis=(2, 3)))
        assert len(corners) == 1
        stretches.append(corners[0, 1])
    assert stretches[0] == stretches[1]


@pytest.mark.parametrize("recipe", ["nvfp4", "per_tensor_delayed", "mxfp4_train"])
def test_a_recipe_with_more_than_one_scale_of_now_is_refused(recipe):
    with pytest.raises(ValueError, match="both operands need one scale a tile"):
        pulled(recorded(), 0, np.ones(1), RECIPES[recipe].spec(WGRAD), Scales.ONE)
