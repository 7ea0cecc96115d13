"""Facts of the page "Benchmarks" against the recorded file, read by hand."""

import json

import pytest

from kernels.paths import RECORDS
from pages.kit.lesson.facts import fact

ROWS = [json.loads(line) for line in (RECORDS / "nvidia_h200.jsonl").read_text().splitlines()]
SETTINGS = {"bench_shape": "4096x4096x7168", "matmul": "wgrad", "cache": "hot"}


def recorded(recipe: str) -> dict:
    """The last row of a recipe's plain Wgrad of this shape."""
    job = {"recipe": recipe, "matmul": "wgrad", "m": 4096, "n": 4096, "k": 7168, "cache": "hot"}
    job |= {"accumulation": "recipe", "into": "new", "input": "gaussian"}
    return [row for row in ROWS if job.items() <= row["job"].items()][-1]


@pytest.mark.parametrize(("name", "recipe"), [("fp8_gain", "per_tensor"), ("blocks_gain", "deepseek_v3")])
def test_a_gain_is_a_ratio_of_two_medians_of_one_run(name, recipe):
    row = recorded(recipe)
    bf16, gemm, quantize = (row["times"][part]["median_us"] for part in ("bf16", "ours", "quantize"))
    assert fact(f"benchmarks.{name}", SETTINGS) == pytest.approx(bf16 / gemm)
    if name == "fp8_gain":
        assert fact("benchmarks.fp8_gain_all", SETTINGS) == pytest.approx(bf16 / (gemm + quantize))


def test_the_ceiling_is_a_share_of_the_datasheet():
    share = fact("benchmarks.ceiling_fp8", {}) / fact("benchmarks.peak_fp8", {})
    assert fact("benchmarks.ceiling_share", {}) == pytest.approx(share)
    assert 0.4 < share < 1.0


def test_a_case_that_was_not_recorded_is_refused():
    with pytest.raises(ValueError, match="no per-tensor recipe is recorded"):
        fact("benchmarks.fp8_gain", {"bench_shape": "layer_16", "matmul": "wgrad"})
