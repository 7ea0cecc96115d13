"""The chart of quantizing kernels has a hollow mark in the row of each kernel that torch.compile also has."""

from pages.fused.charts.copy_ratio import Quantizer, ratio_chart
from pages.kit.charts.ink import INKS
from tests.pages.specs import rows


def quantizer(compiled: float | None) -> Quantizer:
    told = {"time": "20 µs", "rate": "4,000 GB/s", "told": "1 launch"}
    other = {"compiled": compiled, "compiled_time": "60 µs", "compiled_rate": "1,300 GB/s"}
    return Quantizer(line="MXFP8, x along rows", recipe="mxfp8", ratio=0.9, **told, **other)


def test_torch_compile_s_mark_is_in_the_row_of_its_kernel():
    spec = ratio_chart([quantizer(each) for each in (None, 0.3, 0.4)], 590, INKS["light"])
    assert [(row["y"], row["ratio"]) for row in rows(spec, "points")] == [(1, 0.3), (2, 0.4)]
    assert [row["ratio"] for row in rows(spec, "bars")] == [0.9] * 3
    assert rows(ratio_chart([quantizer(None)], 590, INKS["light"]), "points") == []
