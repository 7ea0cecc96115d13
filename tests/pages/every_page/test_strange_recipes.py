"""Contract: a recipe unlike those of today is one entry; each use works or is refused in one sentence."""

from dataclasses import replace

import pytest

from fp8core.costs import copy_cost, matmul_rescales
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape
from fp8core.recipes import RECIPES, Family, MatmulSpec, OperandSpec, Recipe
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_FLOOR, FP32_SCALE, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape
from kernels.device import ADA, BLACKWELL, HOPPER, INTERPRETER, Unsupported
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple
from kernels.measure.jobs import GemmJob
from pages.kit.gemm.presets import refusal
from pages.kit.shared_controls import RECIPE
from pages.live_gemm.words import geometry
from pages.tile_layouts.facts import SHOW

SQUARES_OF_SQUARES = ScaleRule(
    format=FORMATS["e4m3"], fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(64, 64))
)
OPERAND_SPECS = {
    "fp6_squares": OperandSpec(format=FORMATS["e2m3"], tile=TileShape(8, 8), scale_rule=E8M0_FLOOR),
    "hif8_rows": OperandSpec(
        format=FORMATS["hif8"],
        tile=TileShape(1, WHOLE),
        scale_rule=FP32_SCALE,
        rounding=Rounding.NEAREST_AWAY,
    ),
    "outer_squares": OperandSpec(
        format=FORMATS["e2m1"], tile=TileShape(1, 16), scale_rule=SQUARES_OF_SQUARES
    ),
}
BITS = {"fp6_squares": 6 + 8 / 64, "hif8_rows": 8, "outer_squares": 4 + 8 / 16 + 32 / 64**2}
"""Bits an element takes with its share of the scales, where the tensor is large."""
HALF_IN_BF16 = "outer_squares"
"""The recipe whose Dgrad reads A in bf16."""
LAYER = LayerShape(4096, 4096, 14336)
by_recipe = pytest.mark.parametrize("name", OPERAND_SPECS)


def strange(name: str) -> Recipe:
    """A recipe with one spec for every operand; one of them leaves an operand in bf16."""
    spec, like = OPERAND_SPECS[name], RECIPES["mxfp8"]

    def both(matmul: MatmulSpec) -> MatmulSpec:
        return replace(matmul, a=spec, b=spec)

    dgrad = both(like.dgrad)
    return Recipe(
        name=name,
        title=name.replace("_", " "),
        family=Family.OWN,
        source="made up",
        fprop=both(like.fprop),
        dgrad=replace(dgrad, a=None) if name == HALF_IN_BF16 else dgrad,
        wgrad=both(like.wgrad),
    )


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """The registry with these recipes beside its own."""
    for name in OPERAND_SPECS:
        monkeypatch.setitem(RECIPES, name, strange(name))
        monkeypatch.setitem(RECIPE.options, name, RECIPES[name].title)


def is_a_sentence(text: str) -> bool:
    return len(text.split()) > 3 and "\n" not in text and "Error" not in text and "object" not in text


@by_recipe
def test_its_bytes_and_rescales_are_counted(name):
    recipe = RECIPES[name]
    for tensor in OPERANDS:
        for copy in recipe.quantized_copies(tensor):
            cost = copy_cost(copy, LAYER)
            found = 8 * (cost.code_bytes / len(copy.k_major) + cost.scale_bytes) / cost.elements
            assert found == pytest.approx(BITS[name], abs=0.01)
    tile = OPERAND_SPECS[name].tile.k
    for matmul in MATMULS.values():
        assert matmul_rescales(recipe, matmul, LAYER) == (LAYER.size(matmul.k) // tile if tile else 1)


@by_recipe
@pytest.mark.parametrize("device", [INTERPRETER, ADA, HOPPER, BLACKWELL], ids=lambda device: device.name)
@pytest.mark.parametrize("how", Summation, ids=lambda how: how.value)
def test_the_planner_plans_it_or_says_why_not(name, device, how):
    for plan in (plan_gemm, plan_simple):
        for matmul in MATMULS.values():
            found = plan(RECIPES[name].spec(matmul), (256, 256, 256), device, how)
            assert isinstance(found, GemmPlan | Unsupported)
            assert isinstance(found, GemmPlan) or is_a_sentence(found.reason)


def test_live_gemm_tells_both_levels_of_scales_and_what_stays_bf16():
    told = geometry(GemmJob(recipe="outer_squares", matmul="fprop", m=16, n=16, k=16))
    assert "one e4m3 scale for 1 × 16, under one fp32 scale for 64 × 64" in told
    told = geometry(GemmJob(recipe="outer_squares", matmul="dgrad", m=16, n=16, k=16))
    assert "**A** is dy[tokens, out] in bf16, without scales; **B** is w[out, in] in e2m1" in told
    told = geometry(GemmJob(recipe="hif8_rows", matmul="fprop", m=16, n=16, k=16))
    assert "rounded to the nearest, ties away from zero" in told


@by_recipe
@pytest.mark.parametrize("section", SHOW.options)
def test_tile_layouts_draws_it(open_app, name, section):
    for matmul in MATMULS if section == "picture" else ("wgrad",):
        at = open_app("pages/tile_layouts.py", recipe=name, matmul=matmul, show=section)
        assert not at.exception
        told = any(RECIPES[name].source in caption.value for caption in at.caption)
        assert told == (section in ("picture", "row", "copies"))


@by_recipe
def test_live_gemm_opens_with_it_and_says_what_it_refuses(open_app, stand_in_workers, name):
    at = open_app("pages/live_gemm.py", recipe=name, m="256", n="256", k="256")
    assert not at.exception
    reason = refusal(GemmJob(recipe=name, matmul="fprop", m=256, n=256, k=256), has_gpu=False)
    assert at.button(key="run").disabled == (reason is not None)
    assert reason is None or reason in [info.value for info in at.info]


@pytest.mark.parametrize("page", ["benchmarks", "rotations", "sanity_check"])
def test_pages_that_name_every_recipe_open(open_app, stand_in_workers, page):
    assert not open_app(f"pages/{page}.py").exception
