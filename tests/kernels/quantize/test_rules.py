"""Contract: the scales of every rule are the reference's bit for bit, for amax at and around every edge:
powers of two, Qmax times a power of two, below the smallest scale, at FLT_MAX; of one level or two, delayed,
searched.
"""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.fused import multiply_add
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Operand, OperandSpec
from fp8core.rounding import Rounding
from fp8core.scales import FP32_SCALE, SCALE_RULES, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape
from kernels.device import DeviceKind, Unsupported
from kernels.quantize.facts import check_operand, rule_facts
from tests.kernels.cases import sample
from tests.kernels.quantize.same_bits import assert_same_bits, assert_same_floats, both
from tests.sweeps import each, some_pairs

E8M0, E4M3 = FORMATS["e8m0"], FORMATS["e4m3"]
TENSOR = OuterScale(tile=TileShape(WHOLE, WHOLE))
UNDER = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=TENSOR)
DELAYED = replace(FP32_SCALE, history=4)
RULES = SCALE_RULES | {
    "e8m0_nearest": ScaleRule(format=E8M0, fit=Fit.NEAREST),
    "e4m3_nearest": ScaleRule(format=E4M3, fit=Fit.NEAREST),
    "e5m2_floor": ScaleRule(format=FORMATS["e5m2"], fit=Fit.FLOOR),
    "bf16_nearest": ScaleRule(format=FORMATS["bf16"], fit=Fit.NEAREST),
    "floored": replace(FP32_SCALE, amax_floor=1e-4),
    "target": replace(FP32_SCALE, target=0.3),
    "power of two in fp32": ScaleRule(format=FORMATS["fp32"], fit=Fit.CEIL),
    "constant": replace(SCALE_RULES["e8m0_floor"], outer=replace(TENSOR, constant=4 / 3)),
    "under a tensor": UNDER,
    "under a row": replace(UNDER, outer=OuterScale(tile=TileShape(1, WHOLE))),
    "under 2x64": replace(UNDER, outer=OuterScale(tile=TileShape(2, 64), inner_max=256)),
}
ELEMENTS = ("e4m3", "e2m1", "mxint8", "uniform4")
EACH = {
    f"{name}-{element}": (rule, FORMATS[element])
    for place, (name, rule) in enumerate(RULES.items())
    for element in dict.fromkeys(
        (ELEMENTS[place % len(ELEMENTS)], "mxint8" if rule.fit is not Fit.NEAREST else "e4m3")
    )
}


def of(rule: ScaleRule, element=E4M3, tile=(1, 16), **more) -> Operand:
    spec = OperandSpec(format=element, tile=TileShape(*tile), scale_rule=rule, **more)
    return Operand(spec=spec, k_is_rows=False)


def amaxes(largest: float) -> np.ndarray:
    """float32[rows, 4]: powers of two, these times Qmax and times a tie, each with its neighbors."""
    powers = np.exp2(np.arange(-149.0, 128.0))
    marks = np.concatenate([powers, powers * largest, powers * 1.75, powers * 1.9375])
    with np.errstate(over="ignore"):
        marks = np.minimum(marks.astype(np.float32), np.finfo(np.float32).max)
        near = [np.nextafter(marks, np.float32(side)) for side in (0, np.inf)]
    every = np.concatenate([marks, *near])
    every = np.random.default_rng(0).permutation(every[np.isfinite(every)])[: 4 * 230]
    every[:8] = [0, 2.0**-149, 2.0**-127, 2.0**-126, 1, largest, np.finfo(np.float32).max, 1e-4]
    return every.reshape(-1, 4)


@pytest.mark.parametrize(("rule", "element"), EACH.values(), ids=EACH)
def test_scales_are_the_references_around_every_edge(rule, element):
    top = amaxes(element.max)
    x = np.repeat(top, 16, axis=1) * np.tile(np.linspace(1, -0.9, 16, dtype=np.float32), 4)
    assert_same_bits(*both(x, of(rule, element)))


@pytest.mark.parametrize("tile", [(3, 5), (96, WHOLE), (WHOLE, 40), (256, 128), (1, 512), (2, 16)], ids=str)
@pytest.mark.parametrize("rule", [FP32_SCALE, SCALE_RULES["e8m0_round_up"]], ids=["fp32", "e8m0"])
def test_any_tile_will_do(tile, rule):
    assert_same_bits(*both(sample("wide", (70, 150)), of(rule, FORMATS["e5m2"], tile)))


@pytest.mark.parametrize("k_is_rows", [False, True])
@pytest.mark.parametrize(
    ("tile", "element"),
    [((1, 16), "e2m1"), ((16, 16), "e2m1"), ((4, 32), "mxint8"), ((2, 1), "hif8"), ((1, 64), "e4m3")],
    ids=str,
)
def test_the_scale_that_errs_least_is_the_references(tile, element, k_is_rows):
    rule = replace(SCALE_RULES["e8m0_floor"] if k_is_rows else UNDER, search=(1.0, 1.5, 0.75))
    operand = replace(of(rule, FORMATS[element], tile), k_is_rows=k_is_rows)
    for name in ("wide", "nan"):
        assert_same_bits(*both(sample(name, operand.stored((20, 70))), operand))


def test_a_search_takes_tiles_that_fit_a_block():
    searched = replace(FP32_SCALE, search=(1.0, 1.5))
    for tile in ((1, WHOLE), (3, 16), (256, 128)):
        reason = check_operand(of(searched, tile=tile).spec)
        assert isinstance(reason, Unsupported)
        assert "search a scale for tiles that fit a block" in reason.reason
    assert check_operand(of(searched, tile=(128, 128)).spec) is None


@pytest.mark.parametrize(
    ("element", "history"),
    some_pairs(
        each(("e4m3", "e5m2", "e2m1", "hif8")),
        (None, [], [0, 0], [9, 0.5, 2, 1, 3], [1e-3], [2.0**127]),
        every=3,
    ),
)
def test_a_delayed_scale_comes_from_earlier_steps(element, history):
    operand = of(DELAYED, FORMATS[element], (WHOLE, WHOLE))
    steps = None if history is None else np.array(history, np.float32)
    for name in ("gaussian", "nan", "inf"):
        x = sample(name, (5, 140))
        own, truth = both(x, operand, steps)
        assert_same_bits(own, truth)
        amax = own.amax.cpu().numpy()
        assert amax.shape == (1, 1)
        if name == "gaussian":
            assert_same_floats(own.amax, np.abs(x).max().reshape(1, 1))
        else:
            assert not np.isfinite(amax).all()


@pytest.mark.parametrize(
    ("element", "name"),
    some_pairs(
        each(("e4m3", "e5m2", "e3m2", "e2m1", "uniform4", "mxint8", "e4m3fnuz")),
        ("wide", "subnormal", "huge", "nan", "inf"),
        every=3,
    ),
)
def test_random_rounding_is_the_references(element, name):
    rule = replace(FP32_SCALE, target=2 * FORMATS[element].max)  # some of the numbers saturate
    operand = of(rule, FORMATS[element], rounding=Rounding.STOCHASTIC)
    assert_same_bits(*both(sample(name, (7, 50)), operand))


def targets() -> dict[float, tuple[np.float32, np.float32]]:
    """(target, fl32(1 / target)) of each rule that divides so, by the target."""
    pairs = {}
    for recipe in RECIPES.values():
        for matmul in MATMULS.values():
            for operand in (recipe.operand(matmul, side) for side in Side):
                if operand is None:
                    continue
                facts = rule_facts(operand.spec.scale_rule, operand.spec.format, DeviceKind.GPU)
                if facts.by_steps:
                    bits = np.array([facts.target_bits, facts.share_bits], np.int32).view(np.float32)
                    pairs[float(bits[0])] = (bits[0], bits[1])
    return pairs


TARGETS = targets()


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_steps_divide_as_ieee_does(target):
    """Numbers from 1 to 2, those of all sizes, and those whose quotient is near the smallest scale."""
    by, share = TARGETS[target]
    dice, least = np.random.default_rng(0), np.finfo(np.float32).tiny
    bits = (0x3F800000 + dice.integers(0, 1 << 23, 100_000), dice.integers(0, 0x7F800000, 100_000))
    x = np.concatenate([each.astype(np.uint32).view(np.float32) for each in bits])
    x = np.concatenate([x, least * by * (1 + dice.integers(-99, 99, 1000) * 2.0**-22).astype(np.float32)])
    about = x * share
    quotients = multiply_add(multiply_add(about, -by, x), share, about)
    np.testing.assert_array_equal(np.maximum(quotients, least), np.maximum(x / by, least))
