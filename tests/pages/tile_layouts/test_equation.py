"""Contract: the equation beside the picture has the indices of the scales that its tiles leave."""

from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import LIGHT
from pages.tile_layouts.charts.equation import Choice, equation_lines, latex


def _text(spec) -> str:
    return " ".join("".join(text for text, _ in line) for line in equation_lines(spec))


def test_the_equation_has_the_indices_that_the_tiles_leave():
    deepseek, mxfp8 = RECIPES["deepseek_v3"], RECIPES["mxfp8"]
    assert "Σj sA[m,j]·sB[j,⌊n/128⌋]" in _text(deepseek.fprop)
    assert "Σj sA[m,j]·sB[j,n]" in _text(deepseek.wgrad)
    assert "Σj sA[m,j]·sB[j,n]" in _text(mxfp8.fprop)
    assert "sA[m]·sB[n]" in _text(RECIPES["rowwise"].fprop)
    assert "sA·sB" in _text(RECIPES["per_tensor"].fprop)
    assert "Σj" not in _text(RECIPES["per_tensor"].fprop)


def test_latex_writes_a_scale_inside_the_sum_where_it_is_stuck():
    choice = Choice(TileShape(1, 32), TileShape(128, WHOLE), 128)
    assert "stuck inside" in latex(choice, leaves=False, ink=LIGHT)
    assert "rescale" in latex(choice, leaves=True, ink=LIGHT)
