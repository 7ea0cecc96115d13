"""The chart of quantizing kernels names torch.compile where it has a mark, and not where it has none."""

import pytest

from pages.fused.charts.copy_ratio import COMPILED, Quantizer, ratio_chart
from pages.kit.charts.ink import INKS
from tests.pages.specs import dataset


def quantizer(compiled: float | None) -> Quantizer:
    told = {"time": "20 µs", "rate": "4,000 GB/s", "told": "1 launch"}
    other = {"compiled": compiled, "compiled_time": "60 µs", "compiled_rate": "1,300 GB/s"}
    return Quantizer(line="MXFP8, x along rows", recipe="mxfp8", ratio=0.9, **told, **other)


@pytest.mark.parametrize(("others", "labels"), [((None, None), []), ((None, 0.3, 0.4), [COMPILED, ""])])
def test_the_first_mark_of_torch_compile_has_its_name(others, labels):
    spec = ratio_chart([quantizer(each) for each in others], 590, INKS["light"])
    found = dataset(spec, "points")
    assert list(found["label"]) == labels
    assert list(found["y"]) == [place for place, each in enumerate(others) if each]
