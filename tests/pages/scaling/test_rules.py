"""Section "The scale's own format": every block is in one bar, and each rule puts it where it should."""

import math
import re
from itertools import cycle

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.inputs import LAWS, OFFERED
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from pages.scaling.rules import BLOCK_SIZE, ELEMENT, LOG_UNIFORM, rules_spec
from tests.pages.specs import dataset
from tests.pages.texts import notice

PAGE = "pages/scaling.py"
SOME_KINDS = [kind.value for kind in (*LAWS, *OFFERED[-1:])] + [LOG_UNIFORM]


def table(at) -> list[list[str]]:
    """The cells of a row a rule: fp32, floor, even, round up."""
    lines = next(m.value for m in at.markdown if m.value.startswith("| Scale |")).split("\n")[2:]
    return [[cell.strip(" %") for cell in line.split("|")[1:-1]] for line in lines]


@pytest.mark.parametrize(("name", "kind"), [*zip(ELEMENT.options, cycle(SOME_KINDS), strict=False)])
def test_every_element_format_and_kind_of_blocks_answers(open_app, name, kind):
    at = open_app(PAGE, scaling="rules", scaling_element=name, scaling_blocks=kind)
    share = re.search(r"\*\*([\d.]+)% of these blocks", notice(at))[1]
    exact, floor, _, up = table(at)
    assert (exact[1], floor[1], up[1]) == ("0", share, "0")
    settings = {"scaling_element": name, "scaling_blocks": kind}
    assert 100 * fact("scaling.floor_saturated", settings) == pytest.approx(float(share), rel=0.01)


@pytest.mark.parametrize("size", BLOCK_SIZE.options)
def test_blocks_of_uniform_log_amax_saturate_as_the_closed_form_says(open_app, size):
    at = open_app(PAGE, scaling="rules", scaling_block=str(size), scaling_blocks="log_uniform")
    assert float(table(at)[1][1]) == pytest.approx(100 * (1 + 8 - math.log2(448)), abs=0.15)


@pytest.mark.parametrize("name", ELEMENT.options)
def test_every_block_is_in_one_bar_of_each_rule(name):
    for kind in SOME_KINDS:
        spec = rules_spec((name, 32, kind, "dy", 0), 1.5, LIGHT, 500)
        assert len(spec["vconcat"]) == 4
        for i in range(4):
            bins = dataset(spec, f"bins {i}")
            assert sum(bins["share"]) == pytest.approx(1.0)
            assert bins["beyond"] == [x0 >= FORMATS[name].max for x0 in bins["x0"]]


def test_a_moved_block_lands_where_the_rule_says():
    spec = rules_spec(("e4m3", 32, "gaussian", "x", 0), 1.5, LIGHT, 500)
    exact, floor, even, up = (
        dict(zip(moves["amax"], moves["lands"], strict=True))
        for moves in (dataset(spec, f"moves {i}") for i in range(4))
    )
    assert list(exact) == np.arange(1, 2, 1 / 32).tolist()
    assert floor[1.9375] == 1.9375 * 256
    assert even[1.9375] == 1.9375 * 128
    assert even[1.90625] == 1.90625 * 256
    assert (up[1.75], up[1.78125]) == (448, 1.78125 * 128)
    assert exact[1.25] == pytest.approx(448, rel=1e-6)
