"""Contract: shapes have one home: what is recorded, what is tuned and what Benchmarks offers are the same."""

from types import ModuleType

import pytest

from fp8core.linear import LayerShape
from kernels.bench.shapes import CUBE, SKINNY, STANDARD, shape_text


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
