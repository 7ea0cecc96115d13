"""The pictures of the page "Design a recipe" draw what they are given."""

from dataclasses import replace

import pytest

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.recipes.plain import SCALES
from pages.design import error
from pages.design.charts.cells import (
    CELLS,
    SCALE_FORMATS,
    SHAPES,
    STOPS,
    STRIP,
    TILES,
    number_of,
    parts,
    tile_of,
)
from pages.design.draft import draft_of
from pages.design.sketch import picture, words
from pages.kit.charts.bars import PARTS
from pages.kit.charts.ink import DARK, LIGHT
from pages.kit.charts.tile_marks import WORDS
from tests.pages.specs import dataset, rows

by_recipe = pytest.mark.parametrize("name", RECIPES)


@by_recipe
def test_the_sketch_has_six_cells_and_the_tiles_of_each(name) -> None:
    draft = draft_of("", name)
    spec = picture(draft, "dgrad_b", LIGHT)
    cells = dataset(spec, CELLS)
    verdicts = [word for word in rows(spec, WORDS) if word["text"].startswith(("✓", "✗"))]
    assert len(verdicts) == 3
    assert all(len(word["n_text"]) > 2 for word in verdicts), "a mark has words on a telephone, too"
    assert len(cells["title"]) == 6
    assert [title for title, chosen in zip(cells["title"], cells["chosen"], strict=True) if chosen] == [
        "Dgrad w"
    ]
    for matmul in MATMULS.values():
        for side in Side:
            operand = RECIPES[name].spec(matmul).operand(side)
            title = f"{matmul.title} {matmul.operand(side).value}"
            tiles = [one for one in rows(spec, TILES) if one["title"] == title]
            assert len(tiles) == (parts(operand.tile.mn) * parts(operand.tile.k) if operand else 1)


def test_k_runs_across_in_a_and_down_in_b() -> None:
    tiles = rows(picture(draft_of("", "mxfp8"), "", LIGHT), TILES)
    a, b = (next(one for one in tiles if one["title"] == title) for title in ("Fprop x", "Fprop w"))
    assert a["y1"] - a["y0"] < a["x1"] - a["x0"]
    assert b["y1"] - b["y0"] > (b["x1"] - b["x0"]) / 2


def test_the_handle_stands_at_the_corner_of_the_first_tile_of_the_chosen_operand() -> None:
    for cell, tile in (("fprop_a", (1, 32)), ("dgrad_b", (1, 32))):
        spec = picture(draft_of("", "mxfp8"), cell, LIGHT)
        (box,) = [one for one in rows(spec, CELLS) if one["chosen"]]
        first = next(one for one in rows(spec, TILES) if one["title"] == box["title"])
        stops = {tile_of(one["at"]): one for one in rows(spec, STOPS)}
        assert set(stops) == set(SHAPES)
        assert (stops[tile]["x0"], stops[tile]["y0"]) == pytest.approx((first["x1"], first["y1"]))
        assert all(number_of(one) == stop["at"] for one, stop in stops.items())
    square = dataset(picture(draft_of("", "mxfp8_square"), "fprop_b", LIGHT), STOPS)["at"]
    assert [tile_of(at) for at in square] == [*SHAPES, (32, 32)], "the operand's own tile is one of them"
    assert not rows(picture(draft_of("", "rowwise_hp_wgrad"), "wgrad_a", LIGHT), STOPS)


def test_the_strip_offers_the_formats_of_scales_and_the_operands_own() -> None:
    assert SCALE_FORMATS == ("fp32", "e8m0", "e4m3")
    draft = draft_of("", "mxfp8")
    sketch = picture(draft, "fprop_a", LIGHT)
    stops = rows(sketch, STRIP)
    names = [word["n_text"] for word in rows(sketch, WORDS) if word["n_y"] == stops[0]["y0"] + 21]
    assert names == list(SCALE_FORMATS), "on a telephone they stand below their points"
    assert [stop["cell"] for stop in stops] == list(SCALE_FORMATS)
    assert [list(SCALES)[stop["at"]] for stop in stops] == list(SCALE_FORMATS)
    other = draft_of(draft.with_value(("fprop", "a", "scale", "format"), "bf16"), "mxfp8")
    assert [stop["cell"] for stop in rows(picture(other, "fprop_a", LIGHT), STRIP)][-1] == "bf16"
    assert not rows(picture(draft_of("", "rowwise_hp_wgrad"), "wgrad_a", LIGHT), STRIP)


def test_an_operand_in_words_says_what_is_unusual() -> None:
    data = draft_of("", "nvfp4").data
    assert words(data["wgrad"]["a"]) == ("e2m1 1 × 16", "e4m3 nearest", "stochastic, rotated")
    assert words(None) == ("bf16", "no scale", "")
    assert words(draft_of("", "per_tensor").data["fprop"]["a"])[0] == "e4m3 one tile"


def test_the_bars_have_the_errors_in_their_order() -> None:
    errors = {"yours": {"y": 0.04, "dx": 0.0, "dw": 0.01}, "b": {"y": 0.1, "dx": 0.2, "dw": 0.3}}
    bars = rows(error.picture(errors, LIGHT), PARTS)
    assert [(one["group"], one["share"]) for one in bars] == [
        (name, share) for name, of in errors.items() for share in of.values()
    ]
    assert [one["words"] for one in bars][:2] == ["y 4%", "dx 0"]


def test_a_sketch_of_what_is_no_recipe_is_drawn_without_verdicts() -> None:
    draft = replace(draft_of("", "mxfp8"), recipe=None)
    spec = picture(draft, "fprop_a", DARK, is_flat=True)
    assert len(dataset(spec, CELLS)["title"]) == 6
    assert not any(word["text"].startswith(("✓", "✗")) for word in rows(spec, WORDS))
