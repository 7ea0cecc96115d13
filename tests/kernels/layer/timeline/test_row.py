"""Contract: a row of a timeline is what it says of its kernels, survives a file, and refuses nonsense."""

from dataclasses import replace

import pytest

from kernels.layer.timeline import (
    Role,
    TimelineJob,
    read_timelines,
    record_timeline,
)
from tests.kernels.layer.timeline.made_up import JOB, ROW, kernel, without_graph


def test_gaps_are_the_time_in_which_nothing_runs():
    row = replace(ROW, kernels=(kernel(0, 5), kernel(2, 1), kernel(7, 3)))
    assert (row.busy_us, row.span_us, row.gaps_us) == (9, 10, 2)


def test_a_step_counts_as_it_ran_in_a_graph_where_there_is_one():
    assert ROW.times_bf16 == 1.5
    assert without_graph().step_us == ROW.eager.median_us


def test_bytes_are_unknown_where_one_kernel_s_are():
    assert ROW.bytes == 4
    assert replace(ROW, kernels=(kernel(0, 1, bytes_=None), kernel(1, 1))).bytes is None
    assert ROW.role_us(Role.FUSED) == 2000


def test_a_gpu_s_row_comes_back_from_its_file(tmp_path):
    path = record_timeline(ROW, tmp_path)
    assert path.name == "nvidia_h200.jsonl"
    record_timeline(without_graph(), tmp_path)
    found = read_timelines(tmp_path)
    assert found.rows == (ROW, without_graph())
    assert not found.bad


@pytest.mark.parametrize(
    "wrong", [{"recipe": "fp9"}, {"tokens": 0}, {"out": 1 << 30}, {"rounds": 0}, {"turn_ms": 0}]
)
def test_a_job_out_of_range_is_refused_in_a_sentence(wrong):
    fields = {"block": JOB.block, "recipe": JOB.recipe, "tokens": 1, "in_": 1, "out": 1}
    with pytest.raises(ValueError, match=r"got|there are"):
        TimelineJob(**(fields | wrong))
