"""Contract: a row on Live GEMM says how it was timed, against which op of torch, beside which kernels."""

from dataclasses import replace

import pytest

from kernels.gemm.simple.dot_scaled import NOTE
from kernels.measure.jobs import Cache, GemmJob, Into
from kernels.measure.rows import Peer
from pages.kit.inert import plain
from pages.live_gemm.result import contenders
from pages.live_gemm.results import recorded
from tests.pages.gemm_rows import gpu_row, record, timing
from tests.pages.live_gemm.page import PAGE
from tests.pages.texts import texts

pytestmark = pytest.mark.usefixtures("stand_in_workers")


def test_a_cold_row_that_adds_into_d_says_so_and_names_torch_s_op_and_the_simple_kernel(open_app, tmp_path):
    own_job = GemmJob(recipe="rowwise", matmul="wgrad", m=4096, n=4096, k=4096)
    cold = replace(own_job, cache=Cache.COLD, into=Into.ACCUMULATE)
    op = timing(90.0, "torch._an_op, then D.add_ of it")
    record(tmp_path, [gpu_row(cold, simple=timing(120.0), torch=op)])
    at = open_app(PAGE, recipe="rowwise", matmul="wgrad", m="4096", n="4096", k="4096")
    words = texts(at)
    assert "dw += dyᵀ · x" in words
    assert "Cold: the L2 was flushed before each launch" in words
    assert "added into an fp32 D" in words
    assert f"Torch's scaled op: {plain('torch._an_op, then D.add_ of it')}" in words
    assert "This run differs from the controls: L2 is cold, D is added into." in words
    table = at.dataframe[0].value
    assert (list(table["L2"]), list(table["D"]), list(table["× simple"])) == (["cold"], ["added into"], [1.2])


@pytest.mark.parametrize(
    ("is_first", "value"),
    [(True, "comes with the careful answer"), (False, "not read")],
    ids=["first", "last"],
)
def test_what_a_first_answer_has_not_measured_comes_later(open_app, measured_here, is_first, value):
    own_job = GemmJob(recipe="rowwise", matmul="fprop", m=4096, n=4096, k=4096)
    measured_here(gpu_row(own_job, ours=timing(100.0), torch=timing(90.0), is_first=is_first))
    words = texts(open_app(PAGE, recipe="rowwise", matmul="fprop", m="4096", n="4096", k="4096"))
    assert f"- Clock: {value}" in words
    assert f"- Power: {value}" in words
    assert f"- Torch's scaled op: {value if is_first else 'none was timed'}" in words


def test_a_row_with_dot_scaled_has_its_ratio_and_one_sentence_on_what_it_is(open_app, tmp_path):
    own_job = GemmJob(recipe="mxfp8", matmul="fprop", m=4096, n=4096, k=4096)
    record(tmp_path, [gpu_row(own_job, dot_scaled=timing(350.0))])
    at = open_app(PAGE, recipe="mxfp8", matmul="fprop", m="4096", n="4096", k="4096")
    assert NOTE in at.dataframe[0].proto.columns
    assert list(at.dataframe[0].value["× dot_scaled"]) == [3.5]
    assert contenders(gpu_row(own_job, dot_scaled=timing(350.0)))[-1].name == "tl.dot_scaled"


def test_of_rows_of_one_job_the_newest_comes_first_and_of_one_day_the_last(tmp_path):
    job = GemmJob(recipe="rowwise", matmul="wgrad", m=4096, n=4096, k=4096)
    days = ("2026-01-01", "2026-03-01", "2026-03-01", "2026-02-01")
    rows = [
        gpu_row(job, date=day, ours=timing(us)) for day, us in zip(days, (1.0, 2.0, 3.0, 4.0), strict=True)
    ]
    far = gpu_row(replace(job, m=8192), date="2027-01-01", ours=timing(5.0))
    record(tmp_path, [far, *rows])
    times = [result.row.us(Peer.OURS) for result in recorded(job)]
    assert times == [3.0, 2.0, 4.0, 1.0, 5.0]
