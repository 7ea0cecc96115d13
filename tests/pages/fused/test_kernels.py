"""Quantizing kernels: a mark lies in its kernel's row, and each kernel's source is found."""

import pytest

from kernels.measure.jobs import QuantizerKernel
from pages.fused.charts.kernels import COMPILED, OURS, Row, ratio_chart
from pages.fused.kernels import KERNEL, SOURCES
from pages.kit.charts.ink import INKS
from pages.kit.in_code.source_text import text
from tests.pages.specs import rows


def quantizer(y: int, who: str, ratio: float) -> Row:
    words = {"name": "MXFP8, x along rows", "time": "20 µs", "rate": "4,000 GB/s", "note": "1 launch"}
    return {"y": y, "recipe": "mxfp8", "who": who, "ratio": ratio, **words}


def test_torch_compile_s_mark_is_in_the_row_of_its_kernel():
    ours = [quantizer(y, OURS, 0.9) for y in range(3)]
    spec = ratio_chart(ours, [quantizer(2, COMPILED, 1.4)], 590, INKS["light"])
    assert [(row["y"], row["ratio"], row["zero"]) for row in rows(spec, "bars")] == [
        (y, 0.9, 0) for y in range(3)
    ]
    assert [(row["y"], row["ratio"]) for row in rows(spec, "points")] == [(2, 1.4)]
    assert any("1.42" in str(layer["encoding"]["x"].get("scale")) for layer in spec["layer"]), "1.02 · 1.4"
    assert rows(ratio_chart(ours, [], 590, INKS["light"]), "points") == []


@pytest.mark.parametrize("kernel", KERNEL.options)
def test_the_source_of_every_kernel_is_found(kernel):
    assert "@triton.jit" in text(SOURCES[QuantizerKernel(kernel)])
