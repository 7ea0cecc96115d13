"""Facts of the page "Fused quantization" against figures found another way."""

from dataclasses import replace

import pytest

from fp8core.costs import copy_cost
from fp8core.linear import OPERANDS
from fp8core.reach import reach
from fp8core.recipes import RECIPES
from kernels.layer.timeline.row import Way
from kernels.measure.jobs import LAYER
from kernels.measure.peak_rates import PEAK_RATES, Limits
from pages.fused import rows
from pages.fused.amax import Strategy, layer_traffic, out_of_blocks, out_of_rows, table_of_recipes, together
from pages.fused.facts import CONTROLS, lost, lost_in_matmuls, recorded
from pages.kit.lesson.facts import fact
from tests.kernels.layer.timeline.steps import layer_row, record_rows

NUMBERS = LAYER.tokens * LAYER.in_ + LAYER.out * LAYER.in_ + LAYER.tokens * LAYER.out
"""In x, w and dy."""


def test_the_lesson_tells_recorded_speeds_and_says_where_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LAYER_RECORDS", tmp_path)
    monkeypatch.setattr("kernels.measure.records.datasheet_limits", lambda name: Limits())
    defaults = {control.key: control.default for control in CONTROLS}
    assert {recorded(defaults), lost(defaults)} == {"No GPU has recorded this step yet."}
    assert lost_in_matmuls(defaults) == 0.0
    naive, ours = layer_row(Way.NAIVE), layer_row(Way.OURS)
    record_rows(tmp_path, [replace(naive, date="2026-11-22"), ours])
    assert recorded(defaults).startswith("On the NVIDIA H200, 2026-11-22 to 2026-11-23, speeds")
    record_rows(tmp_path, [naive])
    speeds = f"naive {naive.times_bf16:.2f}, fused {ours.times_bf16:.2f}."
    assert recorded(defaults) == f"On the NVIDIA H200, 2026-11-23, speeds over bf16's were: {speeds}"
    slow = ours.kernels[1]
    slower = replace(slow, time_us=slow.time_us + 50.0, start_us=slow.start_us - 10.0)
    record_rows(
        tmp_path, [replace(ours, kernels=(ours.kernels[0], slower, *ours.kernels[2:]), date="2026-11-24")]
    )
    assert "Matmuls lose **50 µs** against the fastest one, 700 TFLOP/s" in lost(defaults)
    assert 0 < lost_in_matmuls(defaults) < 1


def test_two_copies_out_of_one_read_move_four_bytes_a_number_and_two_passes_each_ten():
    once, apart = (
        layer_traffic(RECIPES["deepseek_v3"], LAYER, strategy)
        for strategy in (Strategy.TOGETHER, Strategy.APART)
    )
    assert (once["amax"], once["cast"], once["codes"]) == (0, 2 * NUMBERS, 2 * NUMBERS)
    before = layer_traffic(RECIPES["deepseek_v3"], LAYER, Strategy.BEFORE)
    assert (before["amax"], before["cast"], before["codes"]) == (0, 0, 2 * NUMBERS)
    w = LAYER.out * LAYER.in_  # one copy, in two layouts: its amax is read once
    assert (apart["amax"], apart["cast"]) == (4 * NUMBERS - 2 * w, 4 * NUMBERS)
    assert fact("fused.once_us", {}) == pytest.approx(once.total() / PEAK_RATES["H200 SXM"].memory_gb_s / 1e3)


@pytest.mark.parametrize("name", RECIPES)
def test_no_strategy_moves_more_than_the_one_before_and_all_write_the_same(name):
    recipe = RECIPES[name]
    every = [layer_traffic(recipe, LAYER, strategy) for strategy in Strategy]
    assert [one.total() for one in every] == sorted((one.total() for one in every), reverse=True)
    costs = [copy_cost(copy, LAYER) for tensor in OPERANDS for copy in recipe.quantized_copies(tensor)]
    assert {one["codes"] for one in every} == {sum(cost.code_bytes for cost in costs)}


def test_a_delayed_scale_can_be_written_by_any_step_and_a_tensor_s_own_by_none():
    verdicts = {}
    for name in ("per_tensor_delayed", "per_tensor", "deepseek_v3", "rowwise"):
        copies = RECIPES[name].quantized_copies(OPERANDS[0])
        verdicts[name] = [step(together(copies)) for step in (out_of_rows, out_of_blocks)]
    assert verdicts == {
        "per_tensor_delayed": ["yes", "yes"],
        "per_tensor": ["no", "no"],
        "deepseek_v3": ["reads twice", "yes"],
        "rowwise": ["no", "no"],
    }
    along = reach(RECIPES["rowwise"].quantized_copies(OPERANDS[0])[0].operand)
    assert (out_of_rows(along), out_of_blocks(along)) == ("yes", "no")


def test_the_table_of_all_recipes_says_who_needs_a_second_read():
    lines = {line[0]: line[1:] for line in table_of_recipes(LAYER)}
    assert len(lines) == len(RECIPES)
    assert lines["DeepSeek-V3"] == ("a tile", "1 / 1 / 1", "reads twice", "yes")
    assert lines["Per tensor, delayed"] == ("earlier steps", "1 / 1 / 1", "yes", "yes")
    assert lines["Per row, bf16 Wgrad"][:2] == ("a whole row or column, the whole tensor", "1 / 2 / 1")
