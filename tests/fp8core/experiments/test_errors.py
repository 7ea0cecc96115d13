"""Contract: errors of y, dx, dw and of one operand are those of the codes; splits add up; a design's knob
turns one choice back.
"""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.costs import bits_per_element
from fp8core.errors import rel_err, split_error
from fp8core.experiments.designs import CELLS, KNOBS, LAYER, knobs, mean_bits, result_errors
from fp8core.experiments.error_curves import (
    CREST_POWERS,
    Counted,
    crest_factor,
    over_crest,
    over_tiles,
    powered_gaussian,
    sqnr_of,
)
from fp8core.experiments.layer_error import layer_errors, product, result_error, truths
from fp8core.experiments.operand_error import operand_error, tile_sums
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import LAWS, InputKind, draw, draw_operand
from fp8core.linear import FPROP, MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from fp8core.recipes.plain import to_plain
from fp8core.recipes.text import from_text
from fp8core.rounding import Rounding
from fp8core.tiles import TileGrid
from tests.fp8core.by_hand import stored_bits
from tests.fp8core.random_recipes import own_text

SHAPE = LayerShape(32, 64, 48)


def tensors(seed: int = 0) -> dict[LayerTensor, np.ndarray]:
    return {
        tensor: as_bf16(
            draw_operand(InputKind.HEAVY_TAIL, tensor, SHAPE.of(tensor), 3 * seed + place, fan_in=SHAPE.in_)
        )
        for place, tensor in enumerate(OPERANDS)
    }


def test_truths_are_the_three_products_of_a_layer() -> None:
    x, w, dy = (tensors()[tensor].astype(np.float64) for tensor in OPERANDS)
    exact = truths(tensors())
    for name, direct in (("fprop", x @ w.T), ("dgrad", dy @ w), ("wgrad", dy.T @ x)):
        assert exact[name].shape == SHAPE.of(MATMULS[name].d)
        np.testing.assert_allclose(exact[name], direct, rtol=1e-12)


@pytest.mark.parametrize("recipe", RECIPES)
def test_errors_are_those_of_the_operands_multiplied_in_float64(recipe) -> None:
    inputs, exact = tensors(2), truths(tensors(2))
    errors = layer_errors(RECIPES[recipe], inputs, exact, seed=1)
    for name, matmul in MATMULS.items():
        operands = {side: RECIPES[recipe].operand(matmul, side) for side in Side}
        if not any(operands.values()):
            assert errors[name].rel_err == errors[name].off_cosine == 0
            continue
        assert 0 < errors[name].rel_err < 0.5
        if any(operand and operand.spec.is_random for operand in operands.values()):
            continue
        values = {
            side: inputs[matmul.operand(side)]
            if operand is None
            else read_back(inputs[matmul.operand(side)], operand).values
            for side, operand in operands.items()
        }
        assert errors[name].rel_err == pytest.approx(rel_err(product(matmul, values), exact[name]), rel=1e-12)


def test_a_rotation_of_both_operands_cancels() -> None:
    """Unrotated operands with the error of rotated ones would give an error of about √2."""
    errors = layer_errors(RECIPES["nvfp4"], tensors(), truths(tensors()))
    assert errors["wgrad"].rel_err < 0.3


def test_one_minus_the_cosine_keeps_its_digits() -> None:
    rng = np.random.default_rng(0)
    truth, noise = rng.standard_normal((2, 30, 40))
    for size in (1e-2, 1e-6):
        error = result_error(truth + size * noise, truth)
        flat = (truth + size * noise).ravel(), truth.ravel()
        cosine = np.vdot(*flat) / np.prod([np.linalg.norm(one) for one in flat])
        assert error.off_cosine == pytest.approx(1 - cosine, rel=1e-3, abs=1e-16)
        assert 0 < error.off_cosine < size**2
    assert result_error(truth, truth).cosine == 1
    assert result_error(0 * truth, truth).off_cosine == 1
    assert result_error(-truth, truth).cosine == pytest.approx(-1)


CURVE_SHAPE = (16, 128)
SEEDS = range(3)


def operand(recipe: str):
    return RECIPES[recipe].operand(FPROP, Side.A)


def test_the_power_of_a_gaussian_sets_the_crest_factor() -> None:
    crests = [crest_factor(powered_gaussian(power, CURVE_SHAPE, 0)) for power in CREST_POWERS]
    assert crests == sorted(crests)
    assert crest_factor(powered_gaussian(0.0, CURVE_SHAPE, 0)) == 1
    gaussian = np.random.default_rng(4).standard_normal(CURVE_SHAPE)
    np.testing.assert_array_equal(powered_gaussian(1.0, CURVE_SHAPE, 4), as_bf16(gaussian))


def test_every_point_keeps_every_draw() -> None:
    points = over_crest(operand("mxfp4"), CURVE_SHAPE, SEEDS, powers=(1.0, 3.0))
    for power, point in zip((1.0, 3.0), points, strict=True):
        draws = [powered_gaussian(power, CURVE_SHAPE, seed) for seed in SEEDS]
        assert point.sqnr_db == tuple(sqnr_of(x, operand("mxfp4")) for x in draws)
        assert point.at == pytest.approx(np.mean([crest_factor(x) for x in draws]))
        assert point.low < point.mean < point.high
        assert point.bits == bits_per_element(operand("mxfp4"), CURVE_SHAPE)


def test_the_smaller_half_is_counted_by_itself() -> None:
    x = as_bf16(draw(InputKind.OUTLIER_CHANNELS, CURVE_SHAPE, 0))
    small = np.abs(x) < np.median(np.abs(x))
    tensor = read_back(x, operand("mxfp4"))
    sqnr = sqnr_of(x, operand("mxfp4"), counted=Counted.SMALLER_HALF)
    assert sqnr == pytest.approx(-20 * np.log10(rel_err(tensor.values[small], x[small])))
    assert sqnr < sqnr_of(x, operand("mxfp4")) - 3


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_longer_tile_has_fewer_scale_bits_and_one_line(recipe) -> None:
    base = operand(recipe)
    if base is None:
        pytest.skip("it stays bf16")
    draws = [as_bf16(draw(InputKind.GAUSSIAN, CURVE_SHAPE, seed)) for seed in SEEDS]
    points = over_tiles(base, draws, (8, 32, 128))
    assert [point.at for point in points] == [8, 32, 128]
    bits = [point.bits for point in points]
    assert bits == sorted(bits, reverse=True)
    assert bits[0] > bits[-1]


OPERAND_SHAPE = (64, 160)
ROLES = {
    RECIPES[recipe].operand(matmul, side): (recipe, matmul.name, side)
    for recipe in reversed(RECIPES)
    for matmul in MATMULS.values()
    for side in Side
    if RECIPES[recipe].operand(matmul, side) is not None
}
ROLES = list(ROLES.values())
"""Each operand once."""
NAMES = [f"{recipe}-{matmul}-{side.value}" for recipe, matmul, side in ROLES]


def numbers(seed: int, shape: tuple[int, int] = OPERAND_SHAPE) -> np.ndarray:
    kinds = LAWS
    return as_bf16(draw(kinds[seed % len(kinds)], shape, seed))


def read(role: tuple[str, str, Side], seed: int):
    recipe, matmul, side = role
    return read_back(numbers(seed), RECIPES[recipe].operand(MATMULS[matmul], side), seed)


@pytest.mark.parametrize("role", ROLES, ids=NAMES)
def test_every_split_adds_up_to_the_squared_error(role) -> None:
    tensor = read(role, seed=len(str(role)))
    error = operand_error(tensor)
    direct = np.sum((tensor.values - tensor.given) ** 2) / np.sum(tensor.given**2)
    assert error.total == pytest.approx(direct, rel=1e-12)
    scale = tensor.grid.expand(np.where(tensor.scale == 0, 1, tensor.scale))
    parts = split_error(tensor.made_of, tensor.values, scale, tensor.operand.spec.format)
    was = np.sum(tensor.made_of**2) / np.sum(tensor.given**2)
    for name in ("saturation", "deadzone", "grid"):
        share = getattr(error.parts, name)
        assert share == pytest.approx(was * getattr(parts, name), rel=1e-9, abs=1e-12), name
    assert (error.parts.saturated, error.parts.dead) == (parts.saturated, parts.dead)
    by_element = error.parts.total + error.before.second + error.before.cross
    assert by_element == pytest.approx(error.total, rel=1e-9, abs=1e-15)
    assert error.bias.total == pytest.approx(error.total, rel=1e-9, abs=1e-15)
    assert error.shrunk + error.beside == pytest.approx(error.total, rel=1e-12)
    assert error.before.first == pytest.approx(error.parts.total, rel=1e-9)
    # What no factor mends is at a right angle to x: it is the error after the best factor.
    beside = tensor.values - error.alpha * tensor.given
    assert error.beside == pytest.approx(np.sum(beside**2) / np.sum(tensor.given**2), rel=1e-6)


@pytest.mark.parametrize("role", ROLES, ids=NAMES)
def test_what_is_read_back_is_what_the_codes_stand_for(role) -> None:
    recipe, matmul, side = role
    operand = RECIPES[recipe].operand(MATMULS[matmul], side)
    x = numbers(3)
    tensor = quantize(x, operand, random=stored_bits(operand, OPERAND_SHAPE, 5))
    result = read_back(x, operand, seed=5)
    np.testing.assert_array_equal(result.values, tensor.exact_values())
    if operand.spec.rotation is None:
        np.testing.assert_array_equal(result.given, x)
    else:
        assert not np.array_equal(result.given, x)
        np.testing.assert_allclose(result.in_place(result.given), x, rtol=1e-12, atol=1e-12)


def test_the_log_counts_zeros_overflows_and_scales_of_the_codes() -> None:
    operand = RECIPES["mxfp8_floor"].operand(MATMULS["fprop"], Side.A)
    x = numbers(1)
    tensor, error = quantize(x, operand), operand_error(read_back(x, operand))
    logged, scale = error.logged, tensor.grid.expand(tensor.scale)
    assert logged.underflows == 100 * np.mean(tensor.exact_values() == 0)
    assert logged.overflows == 100 * np.mean(np.abs(x) > operand.spec.format.max * scale) > 0
    assert logged.mse == pytest.approx(np.mean((tensor.exact_values() - x) ** 2))
    assert (logged.scale_inv_min, logged.scale_inv_max) == (tensor.scale.min(), tensor.scale.max())


def test_scale_bias_is_zero_where_the_scale_is_the_ideal_one() -> None:
    x = numbers(0)
    operand = RECIPES["mxfp8"].operand(MATMULS["fprop"], Side.A)
    grid = operand.grid(OPERAND_SHAPE)
    exact = x / grid.expand(grid.amax(x)) * np.float32(operand.spec.format.max)
    for rounding in (Rounding.NEAREST_EVEN, Rounding.STOCHASTIC):
        own = replace(operand, spec=replace(operand.spec, rounding=rounding))
        assert operand_error(read_back(exact, own, 3)).bias.first == pytest.approx(0, abs=1e-12)
    assert operand_error(read_back(x, operand)).bias.first > 1e-5


def test_sums_over_tiles_keep_partial_tiles_at_the_edge() -> None:
    x = np.arange(35.0).reshape(5, 7)
    sums = tile_sums(x, TileGrid.over((5, 7), (2, 3)))
    assert sums.shape == (3, 3)
    assert sums[2, 2] == x[4:, 6:].sum()
    assert sums.sum() == x.sum()


@pytest.mark.parametrize("seed", range(3))
def test_lines_hold_all_of_the_error_and_the_signal(seed) -> None:
    tensor = read(ROLES[seed * 7], seed)
    error = operand_error(tensor)
    for lines, axis in ((error.channels, 0), (error.tokens, 1)):
        assert lines.energy.shape == (OPERAND_SHAPE[1 - axis],)
        assert lines.error.sum() / lines.energy.sum() == pytest.approx(error.total, rel=1e-9)


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
    differences = knobs(to_plain(RECIPES[own]), to_plain(RECIPES[base]))
    differing = {
        name
        for name in KNOBS
        if any(was[c] and then[c] and field(was[c], name) != field(then[c], name) for c in CELLS)
    }
    lone = {"bf16"} if any((was[c] is None) != (then[c] is None) for c in CELLS) else set()
    assert {knob.name for knob in differences} == differing | lone
    for knob in (one for one in differences if one.line and one.name != "bf16"):
        after = cells(from_text(knob.line))
        for cell in CELLS:
            for name in KNOBS:
                if was[cell] is None:
                    assert after[cell] is None
                    continue
                source = then if cell in knob.cells and name == knob.name else was
                assert field(after[cell], name) == field(source[cell], name)


def test_a_choice_that_cannot_go_back_alone_says_why() -> None:
    own, base = (to_plain(RECIPES[name]) for name in ("per_tensor_delayed", "rowwise"))
    by_name = {knob.name: knob for knob in knobs(own, base)}
    assert by_name["tile"].line is None
    assert "fprop.a: a delayed scale is that of a whole tensor" in by_name["tile"].reason
    assert from_text(by_name["history"].line).fprop.a.scale_rule.history == 0


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
    errors = result_errors(own_text(recipe), kind.value, seed)
    assert errors == {name: error.rel_err for name, error in expected.items()}
    assert errors["fprop"] == 0
