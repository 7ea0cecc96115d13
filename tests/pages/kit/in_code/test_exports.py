"""Contract: a text for another library makes these very operands; where it cannot, a sentence says why."""

import random
import re
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from types import ModuleType

import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Family
from fp8core.recipes.plain import checked, to_plain
from fp8core.recipes.reading import WRONG
from pages.design.fields import BASIC, FINER
from pages.kit.in_code.export import operands
from pages.kit.in_code.torchao import torchao
from pages.kit.in_code.transformer_engine import transformer_engine

LIBRARIES = (transformer_engine, torchao)
by_library = pytest.mark.parametrize("library", LIBRARIES, ids=lambda one: one.__name__)
by_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
TE = {
    "per_tensor": "Float8CurrentScaling",
    "per_tensor_e4m3": "Float8CurrentScaling",
    "per_tensor_delayed": "DelayedScaling",
    "deepseek_v3": "Float8BlockScaling",
    "mxfp8": "MXFP8BlockScaling",
    "mxfp8_square": "MXFP8BlockScaling",
    "nvfp4": "NVFP4BlockScaling",
    "nvfp4_1x16": "NVFP4BlockScaling",
}
TORCHAO = {
    "per_tensor": "Float8LinearConfig.from_recipe_name('tensorwise')",
    "per_tensor_e4m3": "Float8LinearConfig",
    "rowwise": "Float8LinearConfig(cast_config",
    "deepseek_v3": "",
    "rowwise_hp_wgrad": "Float8LinearConfig(cast_config",
    "mxfp8": "MXFP8TrainingOpConfig",
    "mxfp8_floor": "MXFP8TrainingOpConfig",
    "nvfp4": "NVFP4TrainingConfig",
}


class Named:
    """Stands in for whatever a library has: it remembers what it was called with."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> "Named":
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(f"{self.name}.{name}")

    def __enter__(self) -> "Named":
        return self

    def __exit__(self, *what: object) -> None:
        pass

    def __call__(self, *args, **kwargs) -> "Named":
        told = [*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())]
        return Named(f"{self.name}({', '.join(told)})")

    def __repr__(self) -> str:
        return self.name


class Library(ModuleType):
    """A module that has every name, and is a package of such modules."""

    __path__ = ()

    def __getattr__(self, name: str) -> Named:
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(name)


@pytest.fixture
def made(monkeypatch) -> Callable[[str], str]:
    """A function that runs a text with stand-ins of its libraries and gives what it made, as text."""

    def run(text: str) -> str:
        for name in re.findall(r"^(?:from|import) ([\w.]+)", text, re.MULTILINE):
            parts = name.split(".")
            for end in range(1, len(parts) + 1 if parts[0] != "os" else 0):
                monkeypatch.setitem(sys.modules, ".".join(parts[:end]), Library(".".join(parts[:end])))
        scope = {"model": Named("model"), "x": Named("x")}
        monkeypatch.setattr("os.environ", {})
        exec(compile(text, "<recipe>", "exec"), scope)
        return repr(scope.get("recipe", scope.get("config", "")))

    return run


@by_recipe
def test_every_recipe_is_expressed_or_refused_in_a_sentence(recipe, made) -> None:
    for library, known in zip(LIBRARIES, (TE, TORCHAO), strict=True):
        export = library(recipe)
        assert (export.text is not None) == (recipe.name in known), export.why
        if export.text is None:
            assert re.fullmatch(r"(torchao|Transformer Engine) cannot express it: [^\n]*[^.]\.", export.why)
        else:
            assert export.why == ""
            assert made(export.text).startswith(known[recipe.name])


@by_library
@by_recipe
def test_the_data_decide_and_not_the_name(recipe, library) -> None:
    renamed = replace(recipe, name="own", title="Other", family=Family.OWN, source="", remark="")
    assert library(renamed) == library(recipe)


def test_arguments_of_transformer_engine(made) -> None:
    def text(name: str) -> str:
        return transformer_engine(RECIPES[name]).text

    assert made(text("per_tensor")) == "Float8CurrentScaling(fp8_format=Format.HYBRID)"
    assert made(text("per_tensor_delayed")) == (
        "DelayedScaling(fp8_format=Format.HYBRID, amax_history_len=1024, amax_compute_algo='max')"
    )
    assert made(text("nvfp4")) == "NVFP4BlockScaling()"
    assert made(text("nvfp4_1x16")) == "NVFP4BlockScaling(disable_2d_quantization=True)"
    assert made(text("mxfp8_square")) == (
        "MXFP8BlockScaling(fp8_format=Format.E4M3, enable_2d_quantization=True)"
    )
    assert 'os.environ["NVTE_FP8_BLOCK_SCALING_FP32_SCALES"] = "1"' in text("deepseek_v3")
    assert made(text("deepseek_v3")) == "Float8BlockScaling(fp8_format=Format.E4M3)"
    power = with_all(RECIPES["deepseek_v3"], scale={"format": "e8m0", "fit": "round_up"})
    assert "os.environ" not in transformer_engine(power).text


def test_what_transformer_engine_sums_fast_is_an_argument(made) -> None:
    recipe = RECIPES["per_tensor"]
    split = replace(recipe, fprop=replace(recipe.fprop, accumulator=ACCUMULATORS["hopper_promoted"]))
    assert "fp8_gemm_fprop=MMParams(use_split_accumulator=True)" in made(transformer_engine(split).text)
    fast = replace(recipe, wgrad=replace(recipe.wgrad, accumulator=ACCUMULATORS["hopper_fast"]))
    assert "fp8_gemm_wgrad=MMParams(use_split_accumulator=False)" in made(transformer_engine(fast).text)
    assert "gemm_config_grad_weight=Float8GemmConfig(use_fast_accum=True)" in made(torchao(fast).text)


@pytest.mark.parametrize("name", ["per_tensor", "deepseek_v3", "mxfp8", "nvfp4"])
def test_a_backward_pass_in_bf16_is_an_argument(name, made) -> None:
    recipe = RECIPES[name]
    forward = replace(
        recipe, dgrad=replace(recipe.dgrad, a=None, b=None), wgrad=replace(recipe.wgrad, a=None, b=None)
    )
    assert "backward_override='high_precision'" in made(transformer_engine(forward).text)


@pytest.mark.parametrize(
    ("name", "torchao_name"), [("rowwise", "rowwise"), ("rowwise_hp_wgrad", "rowwise_with_gw_hp")]
)
def test_torchao_s_recipes_of_rows_round_scales_to_powers_of_two(name, torchao_name, made) -> None:
    """Read in torchao 0.18.0: both of its recipes set round_scales_to_power_of_2, the entries here do not."""
    power = with_all(RECIPES[name], scale={"fit": "round_up"})
    assert made(torchao(power).text) == f"Float8LinearConfig.from_recipe_name('{torchao_name}')"
    assert "round_scales_to_power_of_2" not in torchao(RECIPES[name]).text


def test_four_over_six_without_a_rotation_is_an_argument(made) -> None:
    recipe = RECIPES["four_over_six"]
    data = to_plain(recipe)
    data["wgrad"]["a"]["rotation"] = data["wgrad"]["b"]["rotation"] = None
    data["wgrad"]["b"]["scale"] = deepcopy(data["fprop"]["a"]["scale"])
    own, _ = checked(data)
    assert made(transformer_engine(own).text) == (
        "NVFP4BlockScaling(disable_rht=True, nvfp4_4over6='all', nvfp4_4over6_err_mode='MSE')"
    )
    assert "combine 4over6 with a rotation" in transformer_engine(recipe).why


def with_all(recipe, scale):
    """The recipe with these fields in the scales of all operands."""
    data = to_plain(recipe)
    for matmul in MATMULS:
        for side in "ab":
            if data[matmul][side] is not None:
                data[matmul][side]["scale"] |= scale
    own, report = checked(data)
    assert own is not WRONG, report
    return own


@by_library
def test_recipes_of_equal_text_have_equal_operands(library) -> None:
    """One field of one operand changes: the text changes or is refused. torchao's own floor may differ."""
    chance = random.Random(library.__name__)
    expressed = [recipe for recipe in RECIPES.values() if library(recipe).text]
    tried = 0
    while tried < 250:
        recipe = chance.choice(expressed)
        data, field = to_plain(recipe), chance.choice((*BASIC, *FINER))
        node = data[chance.choice(list(MATMULS))][chance.choice("ab")]
        if node is None:
            continue
        value = chance.choice(list(field.offers.values()))
        for step in field.path[:-1]:
            node = node[step]
        node[field.path[-1]] = deepcopy(value)
        own, _ = checked(data)
        if own is WRONG:
            continue
        tried += 1
        if field.key == "floor" and value == 1e-12:
            continue
        same = operands(own) == operands(recipe)
        assert (library(own).text == library(recipe).text) == same, (recipe.name, field.key, value)
