"""Training runs as text: a line a run, and the table of gaps to bf16."""

import statistics
from collections import defaultdict
from collections.abc import Iterable

from kernels.text_table import columns, text
from kernels.train.job import BF16
from kernels.train.row import TrainRow

_WHOLE = 10
"""Thousands of bytes a second from which on no tenth is told."""
_HEADER = ("run", "seeds", "bits a byte", "against bf16", "spread", "ms a step", "kB/s", "quantized GEMMs")


def line(row: TrainRow) -> str:
    """A run in one line."""
    name = f"{_name(row)}, {row.job.model}, seed {row.job.seed}"
    if row.failure:
        return f"{name}: {row.failure}"
    if not row.finished:
        return f"{name}: stopped after {row.done} of {row.steps} steps"
    time = f", {row.step_ms:.2f} ms a step" if row.step_ms else ""
    return (
        f"{name}: {row.final_bits:.4f} bits a byte after {row.steps} steps{time}, "
        f"{row.quantized_gemms} of {row.gemms} GEMMs quantized"
    )


def table(rows: Iterable[TrainRow]) -> str:
    """Gaps by run and the spread of seeds, both in %.

    A gap is the mean over seeds that bf16 has, too, each against bf16's run of that seed; else it is that of
    the means.
    """
    by_name: dict[str, list[TrainRow]] = defaultdict(list)
    for row in rows:
        by_name[_name(row)].append(row)
    bf16 = {row.job.seed: row.final for row in by_name.get(BF16, []) if row.final is not None}
    return text(columns((_cells(name, mine, bf16) for name, mine in by_name.items()), header=_HEADER))


def _gap(rows: list[TrainRow], bf16: dict[int, float]) -> str:
    """The gap to bf16, of equal seeds where there are some."""
    finals = {row.job.seed: row.final for row in rows if row.final is not None}
    if not bf16:
        return "–"
    pairs = [final / bf16[seed] for seed, final in finals.items() if seed in bf16]
    ratio = statistics.fmean(pairs or [statistics.fmean(finals.values()) / statistics.fmean(bf16.values())])
    return f"{100 * (ratio - 1):+.2f}%"


def _cells(name: str, rows: list[TrainRow], bf16: dict[int, float]) -> tuple[str, ...]:
    finals = [row.final for row in rows if row.final is not None]
    failed = len(rows) - len(finals)
    seeds = f"{len(finals)}" + (f", {failed} unfinished" if failed else "")
    if not finals:
        return (name, seeds, "–", "–", "–", "–", "–", str(rows[0].quantized_gemms))
    mean = statistics.fmean(finals)
    bits = statistics.fmean(row.final_bits for row in rows if row.final_bits is not None)
    gap = _gap(rows, bf16)
    spread = f"{100 * statistics.stdev(finals) / mean:.2f}%" if len(finals) > 1 else "–"
    times = [row.step_ms for row in rows if row.step_ms]
    ms = f"{statistics.median(times):.2f}" if times else "–"
    rate = rows[0].job.size_data.bytes_per_step / statistics.median(times) if times else None
    told = "–" if rate is None else f"{rate:.0f}" if rate >= _WHOLE else f"{rate:.1f}"
    return (name, seeds, f"{bits:.4f}", gap, spread, ms, told, str(rows[0].quantized_gemms))


def _name(row: TrainRow) -> str:
    """The recipe and the switches of a run."""
    switches = [("last block bf16", row.job.last_bf16), ("head too", row.job.head)]
    return ", ".join([row.job.recipe_title, *(word for word, on in switches if on)])
