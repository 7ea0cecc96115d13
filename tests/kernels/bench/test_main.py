"""Contract: The bench command prints what it measured as a table or as JSON, records rows of a GPU only,
a whole line at a time, and answers a bad argument with one sentence and an exit code.
"""

import json
from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES
from kernels.bench import measure
from kernels.bench.__main__ import main
from kernels.bench.ceilings import CeilingsJob
from kernels.bench.job import Cache, Into
from kernels.bench.records import Records, read_records, record, recorded_ceilings, slug
from kernels.bench.row import Row
from kernels.bench.table import HEADER, ceilings_table, line, summary_table
from kernels.device import current_device
from kernels.gemm.meaning import ScaleAt, Summation, meaning_of
from kernels.gemm.simple.dot_scaled import NOTE
from kernels.typed import from_data
from tests.kernels.bench.made_up import CEILINGS, JOB, ROW
from tests.kernels.cases import ON_GPU
from tests.kernels.full_disk import files_at_most

SMALL = ["--shape", "40", "20", "70", "--runs", "2"]


def table_of(capsys) -> list[str]:
    """The lines before the geometric means, which a GPU's times have."""
    return capsys.readouterr().out.partition("\n\n")[0].splitlines()


@pytest.fixture
def planned(monkeypatch):
    """Jobs are planned, and then have a made-up row."""

    def row_of(job, *, progress, stopped):
        measure._plans(job, current_device())
        return replace(ROW, job=job)

    monkeypatch.setattr(measure, "measure", row_of)


def test_the_table_has_a_line_for_every_job(planned, capsys):
    assert main(["--recipe", "all", *SMALL]) == 0
    lines = table_of(capsys)
    assert len(lines) == 1 + len(RECIPES)
    for text, recipe in zip(lines[1:], RECIPES, strict=True):
        assert text.split()[:2] == [recipe, "fprop"]
        assert "40 × 20 × 70" in text


def test_json_lines_are_rows(capsys):
    assert main(["--recipe", "mxfp8", "--matmul", "all", "--input", "heavy_tail", "--json", *SMALL]) == 0
    rows = [from_data(Row, json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    assert [row.job.matmul for row in rows] == ["fprop", "dgrad", "wgrad"]
    assert {row.job.input.value for row in rows} == {"heavy_tail"}


def test_a_refused_job_is_reported_and_the_rest_goes_on(planned, capsys):
    assert main(["--recipe", "all", "--accumulation", "fast", *SMALL]) == 1
    lines = table_of(capsys)
    assert len(lines) == 1 + len(RECIPES)
    in_loop = [
        recipe.name
        for recipe in RECIPES.values()
        if meaning_of(recipe.fprop, current_device(), Summation.RECIPE).scale_at is ScaleAt.K_LOOP
    ]
    assert [text.split()[0] for text in lines if "fast accumulation keeps one sum" in text] == in_loop
    assert 0 < len(in_loop) < len(RECIPES)


def test_refolding_is_asked_for_by_name_and_says_that_it_is_not_bit_exact(capsys):
    assert main(["--recipe", "mxfp8", "--accumulation", "refolded", *SMALL]) == 0
    assert "hot, refolded, not bit-exact" in capsys.readouterr().out.splitlines()[1]
    assert main(["--recipe", "rowwise", "--accumulation", "refolded", *SMALL]) == 1
    assert "refolding shifts codes by ratios of scales" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--shape", "-1", "2", "3"], "kernels.bench: M is a whole number from 0 to 262144, got -1\n"),
        (["--runs", "0"], "kernels.bench: runs is a whole number from 1 to 1000, got 0\n"),
        (["--settle-ms", "-1"], "kernels.bench: settle_ms is a whole number from 0 to 1000, got -1\n"),
        (["--turn-ms", "0"], "kernels.bench: turn_ms is a whole number from 1 to 1000, got 0\n"),
        (
            ["--accumulate"],
            "kernels.bench: --accumulate adds into an fp32 D, which only Wgrad writes: "
            "ask for --matmul wgrad\n",
        ),
        (["--ceilings", "--eager"], "kernels.bench: ask for one of --ceilings and --eager at a time\n"),
        (
            ["--recorded", "--turn-ms", "9"],
            "kernels.bench: --recorded measures each GEMM as its row was: leave out --turn-ms\n",
        ),
        (
            ["--record", "--folder", f"{__file__}/rows"],
            f"kernels.bench: nothing can be kept in {__file__}/rows: {__file__} is no folder that can be "
            "written to\n",
        ),
        (["--seed", "-1"], "kernels.bench: the seed is a whole number from 0 to 2**32 - 1, got -1\n"),
    ],
)
def test_a_bad_argument_is_answered_in_a_sentence(capsys, arguments, sentence):
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize(
    "arguments", [["--recipe", "fp8"], ["--shape", "1", "2"], ["--input", "noise"], ["--cache", "warm"]]
)
def test_an_unknown_choice_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: python -m kernels.bench" in capsys.readouterr().err


def test_records_are_whole_lines_in_a_file_of_the_gpu(tmp_path):
    folder = tmp_path / "bench"
    assert record(ROW, folder) == record(ROW, folder) == folder / "a_gpu.jsonl"
    assert read_records(folder) == Records(rows=(ROW, ROW), ceilings=(), bad=())
    assert slug("NVIDIA H200 (SXM)") == "nvidia_h200_sxm"


def test_every_recorded_gemm_is_measured_again_in_the_way_in_which_it_was(monkeypatch, tmp_path):
    late = replace(ROW, job=replace(ROW.job, cache=Cache.COLD, runs=4, settle_ms=100))
    for row in (ROW, late, ROW):
        record(row, tmp_path)
    asked = []
    monkeypatch.setattr("kernels.bench.__main__.RECORDS", tmp_path)
    monkeypatch.setattr("kernels.bench.__main__._run", lambda jobs, options: asked.append(jobs) or [])
    assert main(["--recorded"]) == 0
    assert asked == [(ROW.job, late.job)]


def test_without_recorded_rows_there_is_nothing_to_measure_again(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("kernels.bench.__main__.RECORDS", tmp_path)
    assert main(["--recorded"]) == 2
    assert "and that is nothing" in capsys.readouterr().err


@pytest.mark.skipif(ON_GPU, reason="its rows are a GPU's")
def test_the_interpreters_figures_are_not_recorded(tmp_path, capsys):
    assert main(["--record", "--folder", str(tmp_path), *SMALL]) == 2
    assert "come from Triton's interpreter" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    machine = replace(ROW.machine, capability=None)
    with pytest.raises(ValueError, match="keeps rows of a GPU"):
        record(replace(ROW, machine=machine), tmp_path)


def test_a_full_disk_is_told_in_a_sentence_and_the_record_is_as_it_was(monkeypatch, capsys, tmp_path):
    path = record(ROW, tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr("kernels.bench.measure.measure", lambda job, **rest: replace(ROW, job=job))
    with files_at_most(len(before) + 100):
        assert main(["--record", "--folder", str(tmp_path), "--matmul", "all", *SMALL]) == 1
    told = capsys.readouterr()
    assert told.err.splitlines()[-1].startswith(
        "kernels.bench: the last measurement was not recorded: [Errno"
    )
    assert "Traceback" not in told.err
    assert path.read_bytes() == before
    assert record(ROW, tmp_path) == path
    assert read_records(tmp_path).rows == (ROW, ROW)


def jobs_of(monkeypatch, capsys, *arguments):
    """The jobs that a command line asks for; each is answered with a row that took 2 µs."""
    asked = []

    def answered(job, **rest):
        asked.append(job)
        return replace(ROW, job=job)

    monkeypatch.setattr("kernels.bench.measure.measure", answered)
    assert main([*arguments, "--json"]) == 0
    capsys.readouterr()
    return asked


def test_the_standard_and_the_skinny_set_are_those_of_the_layer(monkeypatch, capsys):
    standard = jobs_of(monkeypatch, capsys, "--matmul", "all", "--shapes")
    assert len(standard) == 12
    assert {(job.m, job.n, job.k) for job in standard if job.matmul == "wgrad"} == {
        (4096, 4096, 7168),
        (8192, 8192, 8192),
        (4096, 7168, 4096),
        (14336, 4096, 4096),
    }
    skinny = jobs_of(monkeypatch, capsys, "--skinny")
    assert [(job.m, job.n, job.k) for job in skinny] == [(m, 14336, 4096) for m in (16, 32, 64, 128, 256)]


def test_hot_cold_and_sustained_reach_the_job(monkeypatch, capsys):
    both = jobs_of(monkeypatch, capsys, "--cache", "all", "--sustained")
    assert [job.cache for job in both] == [Cache.HOT, Cache.COLD]
    assert {(job.runs, job.turn_ms, job.settle_ms) for job in both} == {(7, 250, 100)}
    (cold,) = jobs_of(monkeypatch, capsys, "--cold", "--sustained", "--runs", "3")
    assert (cold.cache, cold.runs, cold.turn_ms) == (Cache.COLD, 3, 250)
    late, plain = (jobs_of(monkeypatch, capsys, *given)[0] for given in (("--settle-ms", "70"), ()))
    assert (late.settle_ms, plain.settle_ms, plain.turn_ms) == (70, 0, 20)


def test_accumulating_is_for_the_matmuls_that_write_fp32(monkeypatch, capsys):
    asked = jobs_of(monkeypatch, capsys, "--matmul", "all", "--accumulate")
    assert {job.matmul: job.into for job in asked} == {
        "fprop": Into.NEW,
        "dgrad": Into.NEW,
        "wgrad": Into.ACCUMULATE,
    }


def test_geometric_means_come_last(monkeypatch, capsys):
    faster = {4096: 2.0, 256: 8.0}

    def answered(job, **rest):
        peer = replace(ROW.gemm, median_us=ROW.gemm.median_us * faster[job.m])
        return replace(ROW, job=job, torch_scaled=peer)

    monkeypatch.setattr("kernels.bench.measure.measure", answered)
    shapes = ["--shape", "4096", "64", "64", "--shape", "256", "64", "64"]
    assert main(["--recipe", "rowwise", "--cache", "all", *shapes]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3].split()[:3] == ["recipe", "matmul", "how"]
    for text, cache in zip(lines[-2:], ("hot", "cold"), strict=True):
        assert text.split() == ["rowwise", "fprop", cache, "2", "4.000", "2.000", "4.000", "1.500", "–"]


def test_a_summary_without_peers_has_dashes_and_one_without_times_is_empty():
    untimed = replace(ROW, gemm=None)
    assert summary_table([untimed]) == ""
    added = replace(JOB, into=Into.ACCUMULATE, accumulation=Summation.PROMOTED)
    alone = replace(ROW, job=added, bf16=None, simple=None)
    last = summary_table([alone, untimed]).splitlines()[-1]
    assert last.split() == ["mxfp8", "wgrad", "hot,", "promoted,", "added", "1", *["–"] * 5]


def test_dot_scaled_has_its_column_and_one_sentence_where_it_was_timed():
    timed = [replace(ROW, dot_scaled=replace(ROW.gemm, median_us=us)) for us in (4.0, 16.0)]
    column = HEADER.index("× dot_scaled")
    assert line(timed[0])[column:].split()[0] == "2.00"
    assert line(ROW)[column:].split()[0] == "–"
    *_, header, means, told = summary_table(timed).splitlines()
    assert header.split("× ")[-1] == "dot_scaled"
    assert means.split()[-1] == "4.000"
    assert told == NOTE
    assert NOTE.count(". ") == 0
    assert NOTE.endswith(".")
    assert NOTE not in summary_table([ROW])


def test_ceilings_are_printed_and_recorded(monkeypatch, capsys, tmp_path):
    asked = []
    monkeypatch.setattr(
        "kernels.bench.ceilings.measure.measure", lambda job, **rest: asked.append(job) or CEILINGS
    )
    assert main(["--ceilings", "--runs", "3", "--record", "--folder", str(tmp_path)]) == 0
    assert asked == [CeilingsJob(runs=3)]
    printed = capsys.readouterr().out
    assert "copy, read + written  4000 GB/s (p20 3990, p80 4010) at 1980 MHz, 400 W" in printed
    assert recorded_ceilings(tmp_path) == (CEILINGS,)
    without = replace(CEILINGS, fp8_tflop_s=None, fp8_note="torch has none")
    assert ceilings_table(without).splitlines()[-1] == "fp8 torch._scaled_mm  torch has none"


@pytest.mark.skipif(ON_GPU, reason="there is a GPU")
def test_ceilings_without_a_gpu_are_refused_in_a_sentence(capsys):
    assert main(["--ceilings"]) == 2
    assert capsys.readouterr().err == (
        "kernels.bench: ceilings are a GPU's, and this is Triton interpreter: nothing was run\n"
    )


def test_ctrl_c_keeps_what_was_measured(monkeypatch, capsys):
    from kernels.bench import measure as measuring

    real = measuring.measure

    def once(job, **rest):
        if job.matmul == "dgrad":
            raise KeyboardInterrupt
        return real(job, **rest)

    monkeypatch.setattr(measuring, "measure", once)
    assert main(["--matmul", "all", "--json", *SMALL]) == 130
    assert len(capsys.readouterr().out.splitlines()) == 1
