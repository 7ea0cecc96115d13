"""The chart of quantizing kernels names torch.compile where it has a mark, and not where it has none."""

import pytest

from pages.kit.charts.ink import INKS
from pages.sections.fused.charts.copy_ratio import COMPILED, OURS, Quantizer, ratio_chart


def quantizer(compiled: float | None) -> Quantizer:
    told = {"time": "20 µs", "rate": "4,000 GB/s", "told": "1 launch"}
    other = {"compiled": compiled, "compiled_time": "60 µs", "compiled_rate": "1,300 GB/s"}
    return Quantizer(line="MXFP8, x along rows", ratio=0.9, **told, **other)


@pytest.mark.parametrize(("others", "names"), [((None, None), [OURS]), ((None, 0.3), [OURS, COMPILED])])
def test_the_legend_names_those_that_have_a_mark(others, names):
    spec = ratio_chart([quantizer(each) for each in others], INKS["light"])
    legends = [view["encoding"]["color"]["legend"] for view in spec["layer"][:2]]
    assert [legend["values"] for legend in legends] == [names] * 2
