"""The output of the bench command: a line for each job, the geometric means, a GPU's ceilings."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from kernels.bench.ceilings import Ceiling, Ceilings
from kernels.bench.job import GemmJob, Into
from kernels.bench.row import Row
from kernels.gemm.meaning import Summation
from kernels.gemm.simple.dot_scaled import NOTE
from kernels.text_table import columns, text

_COLUMNS = (
    ("recipe", 16),
    ("matmul", 7),
    ("M × N × K", 20),
    ("how", 12),
    ("µs", 10),
    ("TFLOP/s", 9),
    ("× bf16", 7),
    ("+quant", 7),
    ("× torch", 8),
    ("× simple", 9),
    ("× dot_scaled", 13),
    ("rel_err", 9),
    ("kernel", 9),
    ("MHz", 6),
    ("W", 5),
    ("runs on", 0),
)
_SUMMARY_HEADER = (
    "recipe",
    "matmul",
    "how",
    "shapes",
    "× torch",
    "lowest",
    "× bf16",
    "× simple",
    "× dot_scaled",
)

# Set widths, not rich's: it lays a table out when it has all rows, and each of these takes up to minutes.
HEADER = "".join(name.ljust(width) for name, width in _COLUMNS).rstrip()


@dataclass(frozen=True)
class Refused:
    """A job that was not measured, with the reason in one sentence."""

    job: GemmJob
    reason: str


def line(result: Row | Refused) -> str:
    """One line of the table."""
    job = result.job
    cells = [job.recipe, job.matmul, f"{job.m} × {job.n} × {job.k}", how(job)]
    if isinstance(result, Refused):
        cells.append(result.reason)
    else:
        cells += [
            _number(result.gemm and result.gemm.median_us, ".1f"),
            _number(result.tflop_s, ".0f"),
            _number(result.times_bf16, ".2f"),
            _number(result.times_bf16_with_quantize, ".2f"),
            _number(result.times_torch_scaled, ".2f"),
            _number(result.times_simple, ".2f"),
            _number(result.times_dot_scaled, ".2f"),
            f"{result.rel_err:.2e}",
            f"{result.kernel_rel_err:.2e}",
            _number(result.machine.clock_mhz, ".0f"),
            _number(result.machine.power_w, ".0f"),
            result.machine.name,
        ]
    return "".join(
        f"{cell:<{max(width, len(cell) + 1)}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=False)
    ).rstrip()


def how(job: GemmJob) -> str:
    """The way a job is timed, and where it differs from the recipe's own GEMM, such as ``cold,
    fast, added``.
    """
    asked = "" if job.accumulation is Summation.RECIPE else f", {job.accumulation.words}"
    added = ", added" if job.into is Into.ACCUMULATE else ""
    return f"{job.cache.value}{asked}{added}"


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The rows of one recipe and matmul, timed alike, as geometric means of their speed.

    The speeds are relative to torch's scaled op, bf16 torch.mm, the simple kernel and tl.dot_scaled. The
    lowest speed relative to torch's scaled op is kept too. A mean is None where no row has the figure.
    """

    recipe: str
    matmul: str
    how: str
    shapes: int
    times_torch: float | None
    lowest: float | None
    times_bf16: float | None
    times_simple: float | None
    times_dot_scaled: float | None


def summaries(rows: Iterable[Row]) -> list[Summary]:
    """One summary for each recipe, matmul and way of timing among the timed rows, in order of appearance."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.gemm is not None:
            groups.setdefault((row.job.recipe, row.job.matmul, how(row.job)), []).append(row)
    return [_summary(*key, group) for key, group in groups.items()]


def _summary(recipe: str, matmul: str, how: str, rows: Sequence[Row]) -> Summary:
    def ratios(of: Callable[[Row], float | None]) -> list[float]:
        return [value for row in rows if (value := of(row)) is not None]

    torch_ratios = ratios(lambda row: row.times_torch_scaled)
    return Summary(
        recipe=recipe,
        matmul=matmul,
        how=how,
        shapes=len({(row.job.m, row.job.n, row.job.k) for row in rows}),
        times_torch=_mean(torch_ratios),
        lowest=min(torch_ratios, default=None),
        times_bf16=_mean(ratios(lambda row: row.times_bf16)),
        times_simple=_mean(ratios(lambda row: row.times_simple)),
        times_dot_scaled=_mean(ratios(lambda row: row.times_dot_scaled)),
    )


def summary_table(rows: Iterable[Row]) -> str:
    """The summaries as a table with its title; empty where nothing was timed.

    Where tl.dot_scaled was timed, a line explains it.
    """
    found = summaries(rows)
    if not found:
        return ""
    rows = [
        (
            summary.recipe,
            summary.matmul,
            summary.how,
            str(summary.shapes),
            _number(summary.times_torch, ".3f"),
            _number(summary.lowest, ".3f"),
            _number(summary.times_bf16, ".3f"),
            _number(summary.times_simple, ".3f"),
            _number(summary.times_dot_scaled, ".3f"),
        )
        for summary in found
    ]
    notes = [NOTE] if any(summary.times_dot_scaled for summary in found) else []
    table = text(columns(rows, header=_SUMMARY_HEADER))
    return "\n".join(["", "geometric means over the shapes", table, *notes])


def ceilings_table(found: Ceilings) -> str:
    """The ceilings of a GPU, a line each, with the 20th and 80th percentile, the clock and the power."""
    rates: dict[str, tuple[Ceiling | None, str]] = {
        "copy, read + written": (found.copy_gb_s, "GB/s"),
        "bf16 torch.mm": (found.bf16_tflop_s, "TFLOP/s"),
        "fp8 torch._scaled_mm": (found.fp8_tflop_s, "TFLOP/s"),
    }
    rows = [
        (name, found.fp8_note if rate is None else _reached(rate, unit))
        for name, (rate, unit) in rates.items()
    ]
    return f"{found.machine.name}, {found.date}\n{text(columns(rows))}"


def _reached(rate: Ceiling, unit: str) -> str:
    load = f"{_number(rate.clock_mhz, '.0f')} MHz, {_number(rate.power_w, '.0f')} W"
    return f"{rate.median:.0f} {unit} (p20 {rate.p20:.0f}, p80 {rate.p80:.0f}) at {load}"


def _mean(values: Sequence[float]) -> float | None:
    return geometric_mean(values) if values else None


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"
