"""Contract: each statistic of the layers is shown under the name that logs have."""

from dataclasses import replace

from kernels.train.job import TrainJob
from pages.loss import runs
from pages.loss.controls import EARLY, LATE, METRIC, PRODUCTS
from pages.loss.inside import alike, notice, numbers, run_of, taken
from tests.pages.loss.page import PAGE
from tests.pages.loss.rows import all_rows, row, write


def test_layers_of_one_name_stand_beside_each_other() -> None:
    layers = ["0.qkv", "0.down", "1.qkv", "1.down"]
    assert [layers[place] for place in alike(layers)] == ["0.qkv", "1.qkv", "0.down", "1.down"]


def test_each_statistic_has_a_number_for_every_layer(recorded) -> None:
    run = run_of("nvfp4", runs.groups()[0])
    found = taken(run.row.statistics, LATE)
    for metric in METRIC.options:
        series = numbers(found, metric)
        assert len(series) == (3 if metric == PRODUCTS else 6)
        told = notice(series, found.layers, metric)
        if metric == "overflows_percent":
            assert told == "overflows_percent is **0** in every layer and copy."
        else:
            assert "layer 0.qkv" in told
            assert "layer 5.down" in told
    assert taken(run.row.statistics, EARLY).step < found.step


def test_the_run_that_is_looked_into_is_one_with_statistics(tmp_path, monkeypatch) -> None:
    job = TrainJob(recipe="mxfp8")
    rows = [replace(row(job, 0.1), statistics=()), row(replace(job, seed=1), 0.2)]
    monkeypatch.setattr(
        runs, "TRAIN", write(tmp_path, [one for one in all_rows() if one.job.recipe == "bf16"] + rows)
    )
    assert run_of("mxfp8", runs.groups()[0]).row.job.seed == 1


def test_the_table_of_statistics_has_the_names_of_logs(open_app, recorded) -> None:
    at = open_app(PAGE, loss_of="layers", loss_inside="mxfp8")
    table = at.dataframe[0].value
    assert {"underflows%", "overflows%", "scale_inv_min", "scale_inv_max", "mse"} <= set(table.columns)
    assert len(table) == 24 * 6
