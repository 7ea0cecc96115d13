"""The KV cache against sizes counted by hand."""

import pytest

from kernels.bench.ceilings.peak_rates import PEAK_RATES
from pages.why_fp8.controls import ALL_CONTROLS
from pages.why_fp8.decoding import BF16, FP8, sizes, steps

OPENED = {control.key: control.default for control in ALL_CONTROLS}


def test_a_token_keeps_a_key_and_a_value_in_each_layer():
    model = sizes({**OPENED, "why_model": "llama31_8b"})
    assert model.token_bytes(BF16) == 2 * 32 * 8 * 128 * 2
    assert model.token_bytes(FP8) == model.token_bytes(BF16) / 2


def test_tokens_a_second_are_bandwidth_over_all_bytes():
    chosen = {**OPENED, "why_model": "own", "why_billions": 3, "why_batch": 4, "why_gpu": "h200_sxm"}
    chosen |= {"why_layers": 10, "why_kv_heads": 2, "why_head_dim": 64, "why_context": 10}
    bf16, cache, both = steps(chosen)
    kept = 4 * 1024 * 2 * 10 * 2 * 64
    memory = PEAK_RATES["H200 SXM"].memory_gb_s * 1e9
    assert bf16.tokens_s == pytest.approx(4 * memory / (6e9 + 2 * kept))
    assert cache.tokens_s == pytest.approx(4 * memory / (6e9 + kept))
    assert both.tokens_s == pytest.approx(2 * bf16.tokens_s)
