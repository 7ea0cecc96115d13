"""Results as text: a line for each job as it comes, then geometric means; a GPU's ceilings."""

from collections.abc import Callable, Iterable, Sequence
from statistics import geometric_mean

from kernels.gemm.numerics import Summation
from kernels.gemm.simple.dot_scaled import NOTE
from kernels.measure.jobs import GemmJob, Into, QuantizerJob
from kernels.measure.random_shapes import percentile, spread
from kernels.measure.rows import Ceilings, ContestRow, Peer, QuantizerRow, Row
from kernels.text_table import columns, text

_GEMM = (
    *(
        ("recipe", 16),
        ("matmul", 7),
        ("M × N × K", 20),
        ("how", 12),
        ("µs", 10),
        ("TFLOP/s", 9),
        ("× bf16", 7),
    ),
    *(("+quant", 7), ("× torch", 8), ("× simple", 9), ("× dot_scaled", 13), ("rel_err", 9), ("kernel", 9)),
    *(("MHz", 6), ("W", 5), ("runs on", 0)),
)
_QUANTIZER = (
    *(("GB/s", 7), ("of copy", 8), ("× compile", 10), ("× apart", 8), ("µs", 9), ("launches", 9)),
    ("quantizer", 0),
)
_MEANS = ("recipe", "matmul", "how", "shapes", "× torch", "lowest", "× bf16", "× simple", "× dot_scaled")
_SPREAD = ("recipe", "matmul", "shapes", "× torch", "10%", "lowest", "regret 50%", "regret 95%")
_HALF, _MOST = 0.5, 0.95

Columns = tuple[tuple[str, int], ...]


def header(job: object) -> str:
    layout = _columns(job)
    # Set widths, not rich's: it lays a table out when it has all rows, and each of these takes up to minutes.
    return "".join(name.ljust(width) for name, width in layout).rstrip()


def _columns(job: object) -> Columns:
    return _GEMM if isinstance(job, GemmJob) else _QUANTIZER if isinstance(job, QuantizerJob) else ()


def _line(cells: Sequence[str], layout: Columns) -> str:
    both = zip(cells, layout, strict=False)
    return "".join(f"{cell:<{max(width, len(cell) + 1)}}" for cell, (_, width) in both).rstrip()


def refused_line(job: object, reason: str) -> str:
    return _line([*_about(job), reason], _GEMM) if isinstance(job, GemmJob) else f"{job.title}: {reason}"


def line(row: ContestRow) -> str:
    if isinstance(row, Ceilings):
        return ceilings_table(row)
    if isinstance(row, QuantizerRow):
        return _line(
            [
                *(f"{row.gb_s:,.0f}", f"{row.ratio:.2f}", _number(row.over(Peer.COMPILED), ".2f")),
                *(_number(row.over(Peer.APART), ".2f"), _number(row.us(Peer.OURS), ".1f")),
                *(str(row.launches), row.job.title),
            ],
            _QUANTIZER,
        )
    own, errors = row.ours, row.errors
    return _line(
        [
            *(*_about(row.job), _number(row.us(Peer.OURS), ".1f"), _number(row.tflop_s, ".0f")),
            *(_number(row.over(Peer.BF16), ".2f"), _number(row.over_bf16_with_quantize, ".2f")),
            *(_number(row.over(peer), ".2f") for peer in (Peer.TORCH, Peer.SIMPLE, Peer.DOT_SCALED)),
            *(_number(errors and errors.rel_err, ".2e"), _number(errors and errors.kernel_rel_err, ".2e")),
            *(_number(own and own.clock_mhz, ".0f"), _number(own and own.power_w, ".0f"), row.machine.name),
        ],
        _GEMM,
    )


def _about(job: GemmJob) -> list[str]:
    return [job.recipe, job.matmul, f"{job.m} × {job.n} × {job.k}", how(job)]


def how(job: GemmJob) -> str:
    """Timing of a job, and differences from the recipe's GEMM, such as ``cold, fast, added``."""
    summed = "" if job.accumulation is Summation.RECIPE else f", {job.accumulation.words}"
    added = ", added" if job.into is Into.ACCUMULATE else ""
    return f"{job.cache.value}{summed}{added}"


def means_table(rows: Iterable[ContestRow]) -> str:
    """Geometric means of the speeds of each recipe and matmul, and the lowest over torch's scaled op."""
    gemms = [row for row in rows if isinstance(row, Row) and row.ours]
    lines = []
    for names, alike in _groups(gemms, lambda job: (job.recipe, job.matmul, how(job))).items():
        to_torch, *others = (
            [ratio for row in alike if (ratio := row.over(peer)) is not None]
            for peer in (Peer.TORCH, Peer.BF16, Peer.SIMPLE, Peer.DOT_SCALED)
        )
        figures = [_mean(to_torch), min(to_torch, default=None), *map(_mean, others)]
        shapes = str(len({row.job.mnk for row in alike}))
        lines.append((*names, shapes, *(_number(figure, ".3f") for figure in figures)))
    if not lines:
        return ""
    notes = [NOTE] if any(Peer.DOT_SCALED in row.times for row in gemms) else []
    table = text(columns(lines, header=_MEANS))
    return "\n".join(["", "geometric means over the shapes", table, *notes])


def spread_table(rows: Iterable[Row]) -> str:
    lines = []
    for names, alike in _groups(rows, lambda job: (job.recipe, job.matmul)).items():
        ratios = spread(row.ratio for row in alike if row.ratio is not None)
        shown = (ratios.geometric_mean, ratios.p10, ratios.worst) if ratios else (None, None, None)
        regrets = [row.regret for row in alike if row.regret is not None]
        lost = [f"{percentile(regrets, part):.1%}" if regrets else "–" for part in (_HALF, _MOST)]
        lines.append((*names, str(len(alike)), *(_number(figure, ".3f") for figure in shown), *lost))
    return text(columns(lines, header=_SPREAD)) if lines else ""


def _groups(
    rows: Iterable[Row], key: Callable[[GemmJob], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row.job), []).append(row)
    return groups


def ceilings_table(row: Ceilings) -> str:
    rates = {
        Peer.COPY: ("copy, read + written", "GB/s"),
        Peer.BF16: ("bf16 torch.mm", "TFLOP/s"),
        Peer.FP8: ("fp8 torch._scaled_mm", "TFLOP/s"),
    }
    lines = [
        (name, _reached(row, peer, unit) if peer in row.times else row.note)
        for peer, (name, unit) in rates.items()
    ]
    return f"{row.machine.name}, {row.date}\n{text(columns(lines))}"


def _reached(row: Ceilings, peer: Peer, unit: str) -> str:
    # The 20th percentile of a rate is the 80th percentile of its time.
    median, low, high = (row.rate(peer, which) for which in ("median_us", "p80_us", "p20_us"))
    timing = row.times[peer]
    load = f"{_number(timing.clock_mhz, '.0f')} MHz, {_number(timing.power_w, '.0f')} W"
    return f"{median:.0f} {unit} (p20 {low:.0f}, p80 {high:.0f}) at {load}"


def _mean(values: Sequence[float]) -> float | None:
    return geometric_mean(values) if values else None


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"
