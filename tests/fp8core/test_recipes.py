"""Contract: everything about a recipe follows from its operand specs; the table of copies comes out."""

import math

import pytest

from fp8core.costs import copy_cost, matmul_rescales
from fp8core.linear import DGRAD, FPROP, MATMULS, OPERANDS, WGRAD, LayerShape, LayerTensor, Side
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE

by_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
LAYER = LayerShape(4096, 4096, 14336)


@pytest.mark.parametrize(
    ("name", "copies"),
    {
        "per_tensor": [1, 1, 1],
        "per_tensor_delayed": [1, 1, 1],
        "rowwise": [2, 2, 2],
        "rowwise_hp_wgrad": [1, 2, 1],
        "deepseek_v3": [2, 1, 2],
        "deepseek_v3_pow2": [2, 1, 2],
        "mxfp8": [2, 2, 2],
        "mxfp8_square": [2, 1, 2],
        "mxfp4_train": [1, 1, 2],
        "nvfp4": [2, 1, 2],
        "nvfp4_1x16": [2, 2, 2],
    }.items(),
)
def test_copies_come_out_of_the_geometry(name, copies) -> None:
    assert [RECIPES[name].copies(tensor) for tensor in OPERANDS] == copies


@by_recipe
def test_every_read_of_every_tensor_is_served_by_one_copy(recipe) -> None:
    for tensor in OPERANDS:
        readers = [reader for copy in recipe.quantized_copies(tensor) for reader in copy.readers]
        reads = [(m, side) for m in MATMULS.values() if (side := m.side_of(tensor))]
        expected = [(m, side) for m, side in reads if recipe.operand(m, side)]
        assert sorted(readers, key=str) == sorted(expected, key=str)


@by_recipe
def test_hopper_needs_the_layout_of_every_matmul_that_reads_a_quantized_tensor(recipe) -> None:
    for tensor in OPERANDS:
        layouts = [layout for copy in recipe.quantized_copies(tensor) for layout in copy.k_major]
        reads = [(m, side) for m in MATMULS.values() if (side := m.side_of(tensor))]
        assert sorted(layouts) == sorted(m.k_is_rows(side) for m, side in reads if recipe.operand(m, side))


def test_the_hybrid_recipe_has_e5m2_only_where_gradients_are_read() -> None:
    for matmul in MATMULS.values():
        for side in Side:
            is_gradient = matmul.operand(side) is LayerTensor.DY
            name = RECIPES["per_tensor"].spec(matmul).operand(side).format.name
            assert name == ("e5m2" if is_gradient else "e4m3")
            assert RECIPES["per_tensor_e4m3"].spec(matmul).operand(side).format.name == "e4m3"


@by_recipe
def test_no_scale_varies_along_k_inside_what_is_promoted_or_rescaled(recipe) -> None:
    for matmul in MATMULS.values():
        spec = recipe.spec(matmul)
        for side in Side:
            tile_k = spec.extent(side)
            promotion = spec.accumulator.promotion
            assert tile_k is WHOLE or promotion is WHOLE or tile_k % promotion == 0, (
                f"{matmul.name}, {side}: a scale changes every {tile_k} products, inside the {promotion} "
                "that are summed first; fp8core/recipes/short.py says which accumulator goes with which tile"
            )


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ("per_tensor", (1, 1, 1)),
        ("rowwise", (1, 1, 1)),
        ("deepseek_v3", (32, 112, 32)),
        ("mxfp8", (128, 448, 128)),
    ],
)
def test_rescales_per_output_of_the_default_layer(recipe, expected) -> None:
    rescales = tuple(matmul_rescales(RECIPES[recipe], m, LAYER) for m in (FPROP, DGRAD, WGRAD))
    assert rescales == expected


@pytest.mark.parametrize(
    ("recipe", "tensor", "scales", "bits"),
    [
        ("per_tensor", LayerTensor.X, [1], [32 / (4096 * 4096)]),
        ("rowwise", LayerTensor.X, [4096, 4096], [32 / 4096, 32 / 4096]),
        ("deepseek_v3", LayerTensor.X, [131072, 131072], [0.25, 0.25]),
        ("deepseek_v3", LayerTensor.W, [3584], [32 / 128**2]),
        ("mxfp8", LayerTensor.W, [1835008, 1835008], [0.25, 0.25]),
    ],
)
def test_counts_of_the_default_layer(recipe, tensor, scales, bits) -> None:
    costs = [copy_cost(copy, LAYER) for copy in RECIPES[recipe].quantized_copies(tensor)]
    assert [cost.scales for cost in costs] == scales
    assert [8 * cost.scale_bytes / math.prod(LAYER.of(tensor)) for cost in costs] == bits


def test_a_copy_made_of_a_saved_one_reads_what_fprop_reads() -> None:
    recipe = RECIPES["deepseek_v3_pow2"]
    first, again = recipe.quantized_copies(LayerTensor.X)
    assert again.operand.saved is not None
    assert (again.operand.saved.tile, again.operand.saved.spec.scale_rule) == (
        first.tile,
        first.spec.scale_rule,
    )
