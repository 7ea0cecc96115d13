"""Facts about figures in words: what is printed adds up, and no figure is lost in rounding."""

import random
import re

import pytest

from pages.outliers.words import adding_up, bits, db, listed, percent


def read(text: str) -> float:
    assert re.fullmatch(r"−?[\d,]+(\.\d+)?", text), text
    return float(text.replace(",", "").replace("−", "-"))


@pytest.mark.parametrize("seed", range(200))
def test_printed_parts_add_up_to_the_printed_total(seed) -> None:
    draw = random.Random(seed)
    decimals = draw.choice((0, 1, 3))
    parts = {str(n): draw.choice((-1, 1)) * 10 ** draw.uniform(-6, 4) for n in range(draw.randint(1, 6))}
    total = sum(parts.values())
    texts = adding_up(parts, total, decimals)
    printed = {name: round(read(text) * 10**decimals) for name, text in texts.items()}
    assert sum(printed[name] for name in parts) == printed[""] == round(total * 10**decimals)
    for name, value in parts.items():
        assert abs(printed[name] - value * 10**decimals) < 1
        assert texts[name] != "−0"


def test_a_zero_has_no_sign() -> None:
    assert adding_up({"a": -0.01, "b": 0.01}, 0.0, 1) == {"a": "0.0", "b": "0.0", "": "0.0"}


def test_figures_read_as_they_are() -> None:
    assert [percent(x) for x in (0, 0.0264, 0.9917, 1, 1e-7, 2.5)] == [
        "0%", "2.6%", "99.17%", "100%", "< 0.001%", "250%",
    ]  # fmt: skip
    assert db(31.54) == "31.5\xa0dB"
    assert db(float("inf")) == "no error"
    assert [bits(x) for x in (8, 8.25, 8.0019, 4.5)] == ["8", "8.25", "8.002", "4.5"]
    assert listed(["a"]) == "**a**"
    assert listed(["a", "b", "c"]) == "**a**, **b** and **c**"
