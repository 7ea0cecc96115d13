"""Contract: a table of plans is data, keyed by architecture, family and shape; a plan measured nearby runs
where the cost model agrees, else the model's choice; the plan says which and why.
"""

import json
from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from kernels.device import ADA, HOPPER, INTERPRETER
from kernels.gemm import choose
from kernels.gemm.blocks import Variant
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.tuned import Tuned, read_table, shape_class, table
from kernels.typed import from_data, to_data
from tests.kernels.gemm.tuned_rows import FAST, MEASUREMENT, MNK, SPEC, SPLIT, row


@pytest.fixture
def tuned(monkeypatch):
    """Puts rows where the shipped table of sm_90 is."""

    def put(*rows: Tuned) -> None:
        families = {r.family: tuple(x for x in rows if x.family == r.family) for r in rows}
        monkeypatch.setattr(choose, "table", lambda capability: families if capability == (9, 0) else {})
        forget()

    yield put
    forget()


def forget() -> None:
    """Let the next plan look the table up."""
    choose.best_blocks.cache_clear()


def plan(mnk=MNK, device=HOPPER, choose=plan_gemm, spec=SPEC) -> GemmPlan:
    result = choose(spec, mnk, device, Summation.RECIPE)
    assert isinstance(result, GemmPlan), result
    return result


def test_the_fastest_measured_blocks_of_a_shape_run(tuned):
    tuned(row(SPLIT, 9.0), row(FAST, 8.0))
    result = plan()
    assert result.blocks == FAST
    assert result.why == "the best blocks measured on NVIDIA H200, 2026-11-20, for this shape"
    tuned(row(SPLIT, 7.0), row(FAST, 8.0))
    assert plan().blocks == SPLIT


def test_where_the_fast_schedule_cannot_run_the_plan_says_why(tuned):
    tuned(row(FAST, 8.0))
    assert plan(device=ADA).why.startswith("sm_89 has no wgmma, so the simple kernel runs, with the fastest")
    old = plan(device=replace(HOPPER, triton=(3, 5)))
    assert old.variant is Variant.SIMPLE
    assert old.why.startswith("the kernels in Gluon are for Triton 3.6 to 3.9 and this is 3.5, so the simple")
    new = plan(device=replace(HOPPER, triton=(3, 10)))
    assert new.why.startswith(
        "the kernels in Gluon are for Triton 3.6 to 3.9 and this is 3.10, so the simple"
    )
    assert new.blocks == old.blocks
    here = plan(mnk=(64, 64, 128), device=INTERPRETER)
    assert (here.variant, here.why) == (Variant.SIMPLE, "Triton's interpreter runs the simple kernel")


def test_a_measured_plan_that_would_promote_at_another_pace_is_refused(tuned):
    spec = RECIPES["per_tensor"].dgrad
    slower = replace(SPLIT, block_k=64)
    tuned(row(slower, 1.0, spec=spec))
    with pytest.raises(ValueError, match="every 128 products needs block_k 128, got 64"):
        plan(spec=spec)


def written(path, rows):
    path.write_text(json.dumps(rows))
    return path


def test_a_table_survives_the_disk(tmp_path):
    rows = (row(SPLIT, 9.0), row(FAST, 8.0))
    data = {"measurements": [vars(MEASUREMENT)], "plans": [to_data(r) | {"measurement": 0} for r in rows]}
    assert read_table(written(tmp_path / "sm_90.json", data)) == rows
    assert read_table(tmp_path / "sm_10.json") == ()


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": {"block_m": 64}},
        {"blocks": vars(SPLIT) | {"variant": "other"}},
        {"blocks": vars(SPLIT) | {"variant": "simple", "warps": 5}},
        {"shape": "large"},
        {"measurement": 3},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_bad_table_is_named_in_one_sentence(tmp_path, change):
    good = to_data(row(SPLIT, 9.0)) | {"measurement": 0}
    data = {"measurements": [vars(MEASUREMENT)], "plans": [good | change]}
    path = written(tmp_path / "sm_90.json", data)
    with pytest.raises(ValueError, match=r"^sm_90.json is not a table of plans: ") as raised:
        read_table(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b"null", bytes(9), b'{"plans": 3}'], ids=repr)
def test_a_table_that_cannot_be_read_leaves_the_choice_to_the_model_and_the_plan_says_so(
    monkeypatch, tmp_path, content
):
    (tmp_path / "sm_90.json").write_bytes(content)
    monkeypatch.setattr("kernels.gemm.tuned.FOLDER", tmp_path)
    table.cache_clear()
    forget()
    result = plan()
    assert result.blocks == choose.ranked(result.numerics, MNK, HOPPER, Variant)[0][1]
    assert "µs; sm_90.json is not a table of plans: " in result.why
    assert "\n" not in result.why
    table.cache_clear()
    forget()


@pytest.mark.parametrize(
    ("mnk", "name"),
    [
        ((1, 4096, 4096), "rows≤16 waves≤2^-2 depth≤4096"),
        ((17, 14336, 4097), "rows≤32 waves≤2^0 depth≤16384"),
        ((256, 4096, 14336), "rows≤256 waves≤2^-1 depth≤16384"),
        ((257, 128, 1), "rows≤512 waves≤2^-3 depth≤256"),
        ((8192, 8192, 65536), "rows≤512 waves≤2^4 depth≤16384"),
        ((0, 0, 0), "rows≤16 waves≤2^-3 depth≤256"),
    ],
    ids=str,
)
def test_a_shape_class_is_a_function_of_the_sizes(mnk, name):
    assert shape_class(mnk, 132) == name
    data = to_data(row(SPLIT, 9.0)) | {"shape": name}
    assert to_data(from_data(Tuned, data)) == data
