"""The sentences of the page "Does the loss notice?"; their figures are computed or recorded."""

from collections.abc import Sequence

from fp8core.experiments.run_spread import Gap
from kernels.train.row import TrainRow
from pages.kit.inert import plain
from pages.kit.origins import VERSIONS
from pages.loss.controls import HELD_OUT
from pages.loss.gaps import Final
from pages.loss.runs import Group, Run

IDEA = (
    "Every page before this one measures what a recipe does to a **tensor**. This one trains a small "
    "language model under each recipe and asks the **loss**. Runs that differ only in their random seed "
    "differ, too. So a recipe has done harm only where its runs leave the **band** of bf16's own seeds."
)
NOTHING = (
    "No run of this model is recorded here yet. `python -m kernels.train --record` records runs on a GPU, "
    "and “Train one” trains here."
)
FEW = "A band needs at least two recorded runs of bf16 of this model, so nothing is compared yet."
SAME_WEIGHTS = (
    "**Same weights in bf16**: the last loss once more, with every layer in bf16. No seed is in it: the two "
    "figures differ in the rounding of Fprop alone. The rest of a gap is in what the weights became."
)
SMALL = (
    "What this size cannot show: it reads few bytes, has few outliers and short sums. A gap that grows with "
    "the tokens, or a run that diverges after a trillion of them, is not seen here. “Elsewhere” has what "
    "others found for larger models."
)


def percent(value: float) -> str:
    """A signed percentage of two decimals, such as ``+1.20%``."""
    return f"{_hundredths(value)}%"


def rough(value: float) -> str:
    """A signed percentage of one decimal, such as ``+1.2%``."""
    return f"{round(value, 1) + 0.0:+.1f}%".replace("-", "−")


def interval(gap: Gap) -> str:
    """A gap with its interval, such as ``+1.20 ± 0.15%``."""
    return f"{_hundredths(gap.percent)} ± {gap.error:.2f}%".replace(" ", "\N{NO-BREAK SPACE}")


def _hundredths(value: float) -> str:
    """A signed number of two decimals; what rounds to zero has no minus."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def band_notice(finals: Sequence[Final], band: tuple[float, float], fallen: Sequence[Run]) -> str:
    """The recipe that ends farthest above the band; those within it have no order."""
    out, within = [one for one in finals if one.beyond], [one for one in finals if not one.outside]
    said = []
    if out and within and _are(4, out) and _are(8, within):
        said.append("Eight bits change the loss no more than a new seed would. Four bits do:")
    if out:
        worst = max(out, key=lambda one: one.gap.percent)
        said.append(f"{worst.title} ends **{worst.gap.percent:.1f}% above bf16**.")
    else:
        said.append(
            f"No recipe surely leaves bf16's own seeds, **{percent(band[0])} to {percent(band[1])}**."
        )
    if fallen:
        said.append(f"{fallen[0].title} ended early.")
    return " ".join(said)


def _are(bits: int, finals: Sequence[Final]) -> bool:
    return all(one.bits == bits for one in finals)


def table(finals: Sequence[Final]) -> str:
    """A Markdown table of what is left at the end."""
    paired = any(one.paired for one in finals)
    head = ["recipe", "runs", "last bits per byte", "above bf16", "where", "same weights in bf16"]
    if paired:
        head.insert(4, "of equal seeds")
    lines = [f"| {' | '.join(head)} | quantized GEMMs per step |", f"|:--|{'--:|' * len(head)}"]
    for one in finals:
        cells = [
            plain(one.title),
            str(one.gap.runs),
            f"{one.bits_per_byte:.4f}",
            interval(one.gap),
            one.verdict,
        ]
        if paired:
            cells.insert(4, interval(one.paired) if one.paired else "–")
        cells += ["–" if one.in_bf16 is None else percent(one.in_bf16)]
        lines.append(f"| {' | '.join(cells)} | {one.row.quantized_gemms} of {one.row.gemms} |")
    return "\n".join(lines)


def where(group: Group) -> str:
    """The machine, day, text and length of a group's runs."""
    row = group.first
    versions = ", ".join(
        f"{name} {row.machine.versions[name]}" for name in VERSIONS if name in row.machine.versions
    )
    dates = sorted({run.row.date for run in group.runs})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    seconds = f", {row.steps * row.step_ms / 1e3:.0f} s of steps" if row.step_ms else ""
    return (
        f"Recorded on {plain(row.machine.name)}, {days}, {plain(versions)}: {row.steps:,} steps of "
        f"{row.job.size_data.bytes_per_step:,} bytes{seconds}; sources of {plain(row.text.name)} "
        f"{plain(row.text.version)}, {row.text.held_out_files} whole files held out."
    )


def loss_rule(loss: str) -> str:
    """What a line and the band are, for the caption."""
    if loss == HELD_OUT:
        return (
            "Each line is a run: its loss on the held-out files, computed in its own recipe, relative to the "
            "mean of bf16's seeds. The band reaches from the lowest of them to the highest."
        )
    return (
        "Each line is a run relative to bf16 with the same seed, which began with the same weights and read "
        "the same batches. The band is that of bf16's seeds, which read other batches: a log looks like this."
    )


def live_where(row: TrainRow) -> str:
    """What a run of this session is, and how far it came."""
    ended = plain(row.failure) if row.failure else f"{row.done:,} of {row.steps:,} steps"
    gemms = f"{row.quantized_gemms} of {row.gemms} GEMMs a step are quantized"
    return f"**{plain(row.job.title)}** on {plain(row.machine.name)}, {row.date}: {ended}; {gemms}."
