"""A number is pulled up: the others become what the reference quantizer makes of them."""

import numpy as np
import pytest

from fp8core.experiments.pulled_number import ROWS, K, Numbers, Scales, pulled, recorded
from fp8core.formats import FORMATS
from fp8core.linear import FPROP, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES

E4M3 = FORMATS["e4m3"]
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
    cases = pulled(numbers, index, factors, E4M3, scales)
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
@pytest.mark.parametrize("format_", [FORMATS[name] for name in ("e4m3", "e5m2", "e2m1")], ids=str)
def test_what_lies_at_or_below_the_zero_edge_becomes_0(scales, format_):
    cases = pulled(recorded(), 12, 2.0 ** np.arange(-3, 22.25, 0.25), format_, scales)
    edge = cases.scale[..., None] * format_.min_subnormal / 2
    size = np.abs(cases.a.astype(np.float64))
    sure = np.abs(size / edge - 1) > 1e-6  # the quantizer divides in fp32
    assert np.array_equal(cases.is_lost[sure], (size <= edge)[sure])


def test_the_chosen_case_goes_wrong_under_one_scale_and_comes_back_with_a_scale_for_each_row():
    def errors(factor: float, scales: Scales) -> np.ndarray:
        case = pulled(recorded(), 12, np.array([factor]), E4M3, scales)
        return np.abs(case.sums / case.exact - 1)[0, :, -1]

    assert errors(1.0, Scales.ONE).max() < 0.06
    pulled_up = 2.0**22
    assert errors(pulled_up, Scales.ONE)[[0, 2]].min() > 0.3
    assert errors(pulled_up, Scales.ROWS).max() < 0.06
    assert pulled(recorded(), 12, np.ones(1), E4M3, Scales.NONE).is_lost.all()


@pytest.mark.parametrize("index", [-1, ROWS * K])
def test_a_number_that_a_does_not_have_is_refused(index):
    with pytest.raises(ValueError, match=f"index is 0 to {ROWS * K - 1}, got {index}"):
        pulled(recorded(), index, np.ones(1), E4M3, Scales.ONE)
