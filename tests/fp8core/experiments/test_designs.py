"""Contract: a knob turns one choice back; the nearest in bits are the nearest; errors are the layer's."""

import pytest

from fp8core.costs import bits_per_element
from fp8core.experiments.designs import (
    CELLS,
    KNOBS,
    LAYER,
    knobs,
    mean_bits,
    result_errors,
)
from fp8core.experiments.layer_error import layer_errors, truths
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS
from fp8core.recipes import RECIPES
from fp8core.recipes.plain import to_plain
from fp8core.recipes.text import from_text, own_text

PAIRS = [
    ("nvfp4", "nvfp4_1x16"),
    ("mxfp8", "mxfp4"),
    ("four_over_six", "nvfp4"),
    ("mxfp8", "rowwise_hp_wgrad"),
]


def field(spec, knob):
    """What a knob sets in an operand; for another knob's field, what stays."""
    rule = spec.scale_rule
    return {
        "format": spec.format,
        "tile": spec.tile,
        "scale": (rule.format, rule.fit, rule.outer, rule.target),
        "amax floor": rule.amax_floor,
        "history": rule.history,
        "search": rule.search,
        "rounding": spec.rounding,
        "rotation": spec.rotation,
        "saved copy": spec.saved_as,
    }[knob]


def cells(recipe):
    return {(name, side): recipe.spec(MATMULS[name]).operand(side) for name, side in CELLS}


@pytest.mark.parametrize(("own", "base"), PAIRS, ids=str)
def test_a_knob_turns_one_choice_back_where_it_differs_and_nothing_else(own, base) -> None:
    was, then = cells(RECIPES[own]), cells(RECIPES[base])
    found = knobs(to_plain(RECIPES[own]), to_plain(RECIPES[base]))
    differing = {
        name
        for name in KNOBS
        if any(was[c] and then[c] and field(was[c], name) != field(then[c], name) for c in CELLS)
    }
    lone = {"bf16"} if any((was[c] is None) != (then[c] is None) for c in CELLS) else set()
    assert {knob.name for knob in found} == differing | lone
    for knob in (one for one in found if one.line and one.name != "bf16"):
        turned = cells(from_text(knob.line))
        for cell in CELLS:
            for name in KNOBS:
                if was[cell] is None:
                    assert turned[cell] is None
                    continue
                source = then if cell in knob.cells and name == knob.name else was
                assert field(turned[cell], name) == field(source[cell], name)


def test_a_choice_that_cannot_go_back_alone_says_why() -> None:
    own, base = (to_plain(RECIPES[name]) for name in ("per_tensor_delayed", "rowwise"))
    found = {knob.name: knob for knob in knobs(own, base)}
    assert found["tile"].line is None
    assert "fprop.a: a delayed scale is that of a whole tensor" in found["tile"].reason
    assert from_text(found["history"].line).fprop.a.scale_rule.history == 0


def test_mean_bits_weigh_operands_by_their_elements() -> None:
    recipe = RECIPES["rowwise_hp_wgrad"]
    bits = elements = 0.0
    for (name, side), _ in cells(recipe).items():
        rows, columns = LAYER.of(MATMULS[name].operand(side))
        bits += rows * columns * bits_per_element(recipe.operand(MATMULS[name], side), (rows, columns))
        elements += rows * columns
    assert mean_bits(recipe, LAYER) == pytest.approx(bits / elements)
    assert mean_bits(RECIPES["mxfp8"], LAYER) == 8.25


def test_the_error_of_a_line_is_that_of_its_recipe_on_the_seeded_layer() -> None:
    recipe, kind, seed = RECIPES["mxfp4_train"], InputKind.GRADIENT_LIKE, 3
    tensors = {
        tensor: draw_operand(kind, tensor, LAYER.of(tensor), 3 * seed + at, fan_in=LAYER.in_)
        for at, tensor in enumerate(OPERANDS)
    }
    expected = layer_errors(recipe, tensors, truths(tensors), seed)
    assert result_errors(own_text(recipe), kind.value, seed) == {
        name: error.rel_err for name, error in expected.items()
    }
    assert result_errors(own_text(recipe), kind.value, seed)["fprop"] == 0
