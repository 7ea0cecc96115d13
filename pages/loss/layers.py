"""Layers: what a recipe does to the tensors of each layer, under the names in logs."""

from collections.abc import Sequence

from fp8core.linear import MATMULS
from kernels.train.row import CopyStatistics, Statistics
from kernels.train.variants import VARIANTS
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.tables import arrow_table, draw_rows
from pages.kit.view import here, stage
from pages.loss import words
from pages.loss.charts.layers import layers_chart
from pages.loss.controls import EARLY, INSIDE, METRIC, PRODUCTS, WHEN
from pages.loss.runs import Group, Key, Run, key_of

LOG_NAMES = {"underflows_percent": "underflows%", "overflows_percent": "overflows%"}
"""Fields whose name in a log is no name in Python."""
FIELDS = (
    "sqnr_db",
    "underflows_percent",
    "overflows_percent",
    "scale_inv_min",
    "scale_inv_max",
    "mse",
    "amax",
)
_ZEROS = "A layer where a tensor is 0, every element of it, has no point for it. "
_LOGARITHMIC = {"scale_inv_min", "scale_inv_max", "mse"}
RULES = (
    "- **underflows%**: elements that are not 0 and whose code is. True zeros do not count.\n"
    "- **overflows%**: elements that are clipped to the largest code.\n"
    "- **scale_inv_min**, **scale_inv_max**: the smallest and the largest scale, which multiplies a code "
    "back. In Transformer Engine “scale” is the number that multiplies x before the cast, hence the name.\n"
    "- **mse**: the mean squared error of the copy. **sqnr_db**: the signal's energy over the error's in dB; "
    "6 dB is one bit.\n"
    "- They are taken beside the run, on a batch of its own. SQNR of y, dx and dw is against the product of "
    "the bf16 operands, in fp32.\n"
    "- In Transformer Engine's debug logs a name is `layer_tensor_recipe_statistic`, such as "
    "`…_gradient_mxfp8_underflows%`, with `_columnwise` for the copy that is read along its columns."
)


def show(controls: Controls, group: Group | None) -> None:
    """Draw a statistic in every layer."""
    know = here().know
    name, metric, when = (controls.draw(control) for control in (INSIDE, METRIC, WHEN))
    if group is None:
        stage().info(words.NOTHING)
        return
    run = run_of(name, group)
    if run is None or not run.row.statistics:
        stage().info(f"No statistics of this run are recorded: {INSIDE.options[name]}.")
        return
    last = look_at(run.row.statistics, when)
    series = numbers(last, metric)
    title = METRIC.options[metric]
    draw_notice(f"{run.title}: {notice(series, last.layers, title)}")
    order = alike(last.layers)
    spec = layers_chart(
        [last.layers[index] for index in order],
        {name: [values[index] for index in order] for name, values in series.items()},
        title,
        room(),
        INKS[theme()],
        is_log=metric in _LOGARITHMIC,
    )
    draw_chart(
        spec,
        key="loss_layers",
        alt=notice(series, last.layers, title).replace("**", ""),
        is_rigid=True,
    )
    know.markdown(RULES)
    with know:
        draw_rows(arrow_table(table(last)))
    know.caption(
        f"{run.title}, seed {run.row.job.seed}, after step {last.step:,} of {run.row.steps:,}. "
        f"{_ZEROS if any(0 in one.amax for one in last.copies) else ''}{words.where(group)}"
    )


def alike(layers: Sequence[str]) -> list[int]:
    """The places of layers, those of one name beside each other: all blocks' first layer, then the second."""
    names = [layer.partition(".")[2] for layer in layers]
    return sorted(range(len(layers)), key=lambda index: (names.index(names[index]), index))


def run_of(name: str, group: Group) -> Run | None:
    """The run that a choice names: one with statistics before others, a whole one before one that failed."""
    key: Key = key_of(VARIANTS[name].job) if name in VARIANTS else (name, False, False)
    runs = sorted(group.of(key), key=lambda run: (not run.row.statistics, not run.row.finished))
    return runs[0] if runs else None


def look_at(statistics: Sequence[Statistics], when: str) -> Statistics:
    """The first or the last of the statistics."""
    return statistics[0 if when == EARLY else -1]


def numbers(last: Statistics, metric: str) -> dict[str, Sequence[float | None]]:
    """A statistic of each copy, or of each result, one number a layer.

    None where the tensor is 0, every element of it: nothing is lost there, and nothing is left.
    """
    if metric == PRODUCTS:
        return {f"{one.tensor} of {MATMULS[one.matmul].title}": one.sqnr_db for one in last.products}
    return {
        copy_title(one): [
            None if amax == 0 else value for value, amax in zip(getattr(one, metric), one.amax, strict=True)
        ]
        for one in last.copies
    }


def copy_title(one: CopyStatistics) -> str:
    """A copy in words, such as ``dy in Wgrad``."""
    return f"{one.tensor} in {MATMULS[one.matmul].title}"


def notice(series: dict[str, Sequence[float | None]], layers: Sequence[str], title: str) -> str:
    """The copy and the layer at each end of a statistic."""
    every = [
        (value, name, layer)
        for name, values in series.items()
        for value, layer in zip(values, layers, strict=True)
        if value is not None
    ]
    if not every:
        return f"{title} is not finite in any layer."
    (low, *least), (high, *most) = min(every), max(every)
    if low == high:
        return f"{title} is **{short(low, 3)}** in every layer and copy."
    return (
        f"{title} goes from {short(low, 3)} ({least[0]}, layer {least[1]}) to **{short(high, 3)}** "
        f"({most[0]}, layer {most[1]})."
    )


def table(last: Statistics) -> list[dict[str, object]]:
    """A row for each layer and copy."""
    return [
        {
            "layer": layer,
            "tensor": one.tensor,
            "matmul": one.matmul,
            **{LOG_NAMES.get(field, field): getattr(one, field)[index] for field in FIELDS},
        }
        for index, layer in enumerate(last.layers)
        for one in last.copies
    ]
