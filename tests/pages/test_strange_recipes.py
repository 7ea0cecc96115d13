"""Contract: a recipe unlike those of today is one entry; each use works or is refused in one sentence."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.costs import copy_cost, matmul_rescales
from fp8core.errors import rel_err
from fp8core.formats import FORMATS
from fp8core.formats.binades import mantissa_bits
from fp8core.inputs import InputKind, draw
from fp8core.linear import MATMULS, OPERANDS, LayerShape, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec, Recipe
from fp8core.scales import E8M0_FLOOR, FP32_SCALE, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape
from kernels.bench.job import GemmJob
from kernels.device import ADA, BLACKWELL, HOPPER, INTERPRETER, Unsupported
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm, plan_simple
from pages.kit.gemm_words import geometry
from pages.kit.presets import refusal
from pages.kit.shared_controls import RECIPE
from pages.sections.tiles.controls import SHOW

TWO_LEVELS = ScaleRule(
    format=FORMATS["e4m3"], fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE))
)
OPERAND_SPECS = {
    "mxfp4": OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 32), scale_rule=E8M0_FLOOR),
    "hif8_per_tensor": OperandSpec(
        format=FORMATS["hif8"], tile=TileShape(WHOLE, WHOLE), scale_rule=FP32_SCALE
    ),
    "two_levels": OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 16), scale_rule=TWO_LEVELS),
}
BITS = {"mxfp4": 4 + 8 / 32, "hif8_per_tensor": 8, "two_levels": 4 + 8 / 16}
"""Bits an element takes with its share of the scales, where the tensor is large."""
LAYER = LayerShape(4096, 4096, 14336)
by_recipe = pytest.mark.parametrize("name", OPERAND_SPECS)


def strange(name: str) -> Recipe:
    """A recipe with one spec for every operand, and no more."""
    spec, like = OPERAND_SPECS[name], RECIPES["mxfp8"]

    def both(matmul: MatmulSpec) -> MatmulSpec:
        return replace(matmul, a=spec, b=spec)

    return Recipe(
        name=name,
        title=name.replace("_", " "),
        source="made up",
        fprop=both(like.fprop),
        dgrad=both(like.dgrad),
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
            assert found == pytest.approx(BITS[name], abs=1e-5)
    tile = OPERAND_SPECS[name].tile.k
    for matmul in MATMULS.values():
        assert matmul_rescales(recipe, matmul, LAYER) == (LAYER.size(matmul.k) // tile if tile else 1)


@by_recipe
@pytest.mark.parametrize("side", Side, ids=lambda side: side.value)
@pytest.mark.parametrize("matmul", MATMULS.values(), ids=MATMULS)
def test_the_reference_quantizes_it(name, matmul, side):
    x = draw(InputKind.GAUSSIAN, (96, 160), seed=1)
    quantized = quantize(x, RECIPES[name].operand(matmul, side))
    half_step = 2.0 ** -(mantissa_bits(OPERAND_SPECS[name].format, OPERAND_SPECS[name].format.e_max) + 1)
    assert 0 < rel_err(quantized.exact_values(), x) < half_step
    assert np.isfinite(quantized.scale).all()


@by_recipe
@pytest.mark.parametrize("device", [INTERPRETER, ADA, HOPPER, BLACKWELL], ids=lambda device: device.name)
@pytest.mark.parametrize("how", Summation, ids=lambda how: how.value)
def test_the_planner_plans_it_or_says_why_not(name, device, how):
    for plan in (plan_gemm, plan_simple):
        for matmul in MATMULS.values():
            found = plan(RECIPES[name].spec(matmul), (256, 256, 256), device, how)
            assert isinstance(found, GemmPlan | Unsupported)
            assert isinstance(found, GemmPlan) or is_a_sentence(found.reason)


@by_recipe
@pytest.mark.parametrize("has_gpu", [True, False])
def test_live_gemm_says_in_a_sentence_why_it_cannot_run(name, has_gpu):
    for matmul in MATMULS:
        reason = refusal(GemmJob(recipe=name, matmul=matmul, m=256, n=256, k=256), has_gpu=has_gpu)
        format_ = OPERAND_SPECS[name].format.name
        assert reason == f"This cannot run here: the kernels quantize to e4m3 and e5m2, not to {format_}."


def test_live_gemm_tells_both_levels_of_scales():
    told = geometry(GemmJob(recipe="two_levels", matmul="fprop", m=16, n=16, k=16))
    assert "one e4m3 scale for 1 × 16, under one fp32 scale for the whole tensor" in told


@by_recipe
@pytest.mark.parametrize("section", SHOW.options)
def test_tile_layouts_draws_it(open_app, name, section):
    for matmul in MATMULS if section == "picture" else ("wgrad",):
        at = open_app("pages/tile_layouts.py", recipe=name, matmul=matmul, show=section)
        assert not at.exception
        told = any(RECIPES[name].source in caption.value for caption in at.caption)
        assert told == (section not in ("overview", "rule"))


@by_recipe
def test_live_gemm_opens_with_it_and_refuses_to_run_it(open_app, stand_in_workers, name):
    at = open_app("pages/live_gemm.py", recipe=name, m="256", n="256", k="256")
    assert not at.exception
    assert at.button(key="run").disabled
    assert any("the kernels quantize to" in info.value for info in at.info)


@pytest.mark.parametrize("page", ["benchmarks", "rotations", "sanity_check"])
def test_pages_that_name_every_recipe_open(open_app, stand_in_workers, page):
    assert not open_app(f"pages/{page}.py").exception
