"""The page "Benchmarks" as its tests read it."""

from collections.abc import Mapping, Sequence

from kernels.measure.jobs import GemmJob
from pages.benchmarks.charts.points import TITLES
from tests.pages.specs import in_rows, sent_dataset

PAGE = "pages/benchmarks.py"
JOB = GemmJob(recipe="per_tensor", matmul="fprop", m=4096, n=4096, k=7168)


def rows_of(at, name: str) -> list[dict]:
    """A dataset of the page's one chart, a dict for each row; none where the chart has no such dataset."""
    (chart,) = at.get("vega_lite_chart")
    if name not in {one.name for one in chart.proto.datasets}:
        return []
    return in_rows(sent_dataset(chart, name))


def word(row: Mapping[str, object], title: str, titles: Sequence[str] = TITLES) -> object:
    """A line of the tooltip of a mark, by its title."""
    return row[f"words_{titles.index(title)}"]
