"""Contract: shapes have one home: what is recorded, what is tuned and what Benchmarks offers are the same."""

from types import ModuleType

import pytest

from fp8core.linear import LayerShape
from kernels.bench.shapes import CUBE, LAYER, SKINNY, STANDARD, shape_text
from kernels.tune.jobs import SHAPES as TUNED


@pytest.fixture
def controls() -> ModuleType:
    """The controls of Benchmarks: streamlit is not on every machine that has a GPU."""
    pytest.importorskip("streamlit")
    from pages.benchmarks import controls

    return controls


def test_a_shape_in_words_is_as_short_as_it_can_be():
    assert [shape_text(shape) for shape in (CUBE, (4096, 4096, 7168), (1, 1, 2))] == [
        "4096³",
        "4096 × 4096 × 7168",
        "1 × 1 × 2",
    ]
    assert shape_text(LayerShape(tokens=16, in_=2, out=3)) == "16 tokens, 2 → 3"


def test_benchmarks_offers_every_shape_that_the_bench_records(controls):
    offered = controls.SHAPES
    assert [preset.shape for preset in offered.values()] == [CUBE, *STANDARD, *reversed(SKINNY)]
    assert len({preset.label for preset in offered.values()}) == len(offered)
    assert offered["layer_16"].label == "Layer: 16 tokens, 4096 → 14336"
    assert "4096x4096x7168" in offered


def test_few_tokens_are_those_of_the_skinny_set(controls):
    size = controls.Size
    assert {size.of((layer.tokens, layer.out, layer.in_)) for layer in SKINNY} == {size.SKINNY}
    assert size.of((SKINNY[-1].tokens + 1, LAYER.out, LAYER.in_)) is size.LARGE
    assert f"at most {SKINNY[-1].tokens}" in controls.SIZE.help


def test_what_the_bench_records_is_what_the_tuner_times():
    assert set(STANDARD) <= set(TUNED.values())
    assert {SKINNY[0], SKINNY[-1]} <= set(TUNED.values())
    assert TUNED["4096-4096-7168"] == (4096, 4096, 7168)
    assert TUNED["64-tokens"].tokens == 64
