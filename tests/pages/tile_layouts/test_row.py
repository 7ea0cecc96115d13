"""Contract: a row of A in its windows shows what the quantizer makes of it, as one number is pulled up."""

import base64

import numpy as np
import pytest

from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES
from pages.kit.stage.window import PER_POWER
from pages.tile_layouts.charts.scene import matmul_scene
from pages.tile_layouts.row import _frames, is_lost, notice, pull, windows
from tests.pages.tile_layouts.reference import multiplied
from tests.sweeps import some_cases

LAYER = LayerShape(4096, 4096, 14336)
GEMMS = {f"{recipe}-{matmul}": (recipe, matmul) for recipe in RECIPES for matmul in MATMULS}
ROW, COLUMN, NUMBER = 5, 3, 20
FAR = 20 * PER_POWER


def own(recipe: str, matmul: str = "fprop"):
    return matmul_scene(RECIPES[recipe], MATMULS[matmul], "outlier_channels", 0, LAYER)


@pytest.mark.parametrize(("recipe", "matmul"), some_cases(3, GEMMS))
@pytest.mark.parametrize("step", [0, FAR])
def test_the_frame_has_the_numbers_of_the_quantizer(recipe, matmul, step):
    scene = pull(own(recipe, matmul), ROW, NUMBER, step)
    k, many = scene.mnk[2], len(windows(scene))
    frame = np.frombuffer(base64.b64decode(_frames(scene, ROW, COLUMN, NUMBER)), "<f4")
    lost, _, rounded, exact, edges = np.split(frame, [k, 2 * k, 3 * k, 4 * k])
    sides = list(zip(Side, (ROW, COLUMN), strict=True))
    values, other = (scene.along_k(side, multiplied(scene.operand(side), 0), at) for side, at in sides)
    x = scene.along_k(Side.A, scene.a.x, ROW)
    assert np.array_equal(lost != 0, (values == 0) & (x != 0))
    is_left_out = (scene.spec.a is None or scene.spec.a.rotation is None) * (np.arange(k) == NUMBER)
    products = np.where(is_left_out, 0, values * other)
    assert rounded == pytest.approx(np.cumsum(products), rel=1e-6, abs=1e-6 * np.abs(products).max())
    a, b = (scene.along_k(side, scene.operand(side).x, at).astype(np.float64) for side, at in sides)
    assert exact == pytest.approx(
        np.cumsum(np.where(is_left_out, 0, a * b)), rel=1e-5, abs=1e-6 * np.abs(a * b).max()
    )
    assert len(edges) == 3 * many
    top, _, zero = edges.reshape(many, 3).T
    spec = scene.spec.a
    for (start, stop), high, low in zip(windows(scene), top, zero, strict=True):
        size = np.log2(
            np.abs(values[start:stop]), where=values[start:stop] != 0, out=np.full(stop - start, low)
        )
        assert size.max() <= high + 1e-4
        if spec is not None and not spec.is_random:
            assert (np.abs(x[start:stop]) <= 2.0 ** (low + 1e-4))[lost[start:stop] != 0].all()


def test_a_large_number_takes_its_own_tile_along_and_no_other():
    first = own("deepseek_v3")
    scene = pull(first, ROW, NUMBER, FAR)
    more = is_lost(scene, ROW) & ~is_lost(first, ROW)
    assert more[:128].sum() > 64
    assert not more[128:].any()
    assert not is_lost(scene, ROW + 1).any()
    one_scale = own("per_tensor_e4m3", "wgrad")
    lost = is_lost(pull(one_scale, ROW, NUMBER, FAR), ROW + 1)
    assert lost.mean() > 0.5, "one scale for all rows"


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_a_notice_is_short_and_has_one_figure(recipe, matmul):
    first = own(recipe, matmul)
    for step in (0, FAR // 4, FAR):
        text = notice(pull(first, ROW, NUMBER, step), first, ROW, NUMBER, step)
        assert len(text.split()) <= 25
        assert text.count("**") == 2
