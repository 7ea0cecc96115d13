"""Facts of the page "Does the loss notice?" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping, Sequence

from fp8core.experiments.run_spread import runs_needed, spread_percent
from kernels.train.job import SIZES
from kernels.train.variants import VARIANTS
from pages.kit.origins import span
from pages.kit.widgets import Value
from pages.loss.controls import ALL_CONTROLS, COMPARED, DELTA, HELD_OUT, SIZE
from pages.loss.gaps import FEWEST, Final, apart, ends_of_band, finals, line
from pages.loss.runs import Group, group_of, key_of

Settings = Mapping[str, Value]

CONTROLS = ALL_CONTROLS
# Percent above bf16 from which a run is far above it.
FAR = 10.0


def group(settings: Settings) -> Group:
    """The recorded group of the chosen model. Raises ValueError where it has too few runs of bf16."""
    mine = group_of(settings[SIZE.key])
    if mine is None or len(mine.bf16) < FEWEST:
        raise ValueError("no runs of this model are recorded that could be compared")
    return mine


def ends(settings: Settings) -> Sequence[Final]:
    mine = group(settings)
    return finals(mine, [(name, False, False) for name in settings[COMPARED.key] if name in mine.recipes])


def trained(mine: Group) -> Sequence[Final]:
    """The ends of all published recipes that were trained to their end."""
    return finals(mine, [(name, False, False) for name in mine.recipes])


def beyond(settings: Settings) -> str:
    """The chosen recipes that leave the band: "none", "four bits", "eight bits" or "both"."""
    bits = {one.bits for one in ends(settings) if one.beyond}
    if not bits:
        return "none"
    if len(bits) > 1:
        return "both"
    return "four bits" if bits == {4} else "eight bits"


def band_width(settings: Settings) -> float:
    """The distance of the lowest and the highest of bf16's last losses, in percent."""
    low, high = ends_of_band(group(settings))
    return high - low


def spread(settings: Settings) -> float:
    return spread_percent([run.row.final for run in group(settings).bf16])


def _gap(name: str) -> Callable[[Settings], float]:
    return lambda settings: finals(group(settings), [(name, False, False)])[0].gap.percent


def in_bf16(settings: Settings) -> float:
    """Percent by which NVFP4's last loss is lower where the same weights are computed in bf16."""
    (one,) = finals(group(settings), [("nvfp4", False, False)])
    if one.in_bf16 is None:
        raise ValueError("the runs of NVFP4 were not looked at in bf16")
    return -one.in_bf16


def _counted(bits: int, *, beyond_band: bool) -> Callable[[Settings], int]:
    return lambda settings: sum(
        one.bits == bits and (one.beyond or not beyond_band) for one in trained(group(settings))
    )


def unscaled_gap(settings: Settings) -> float:
    """Percent above bf16 at the last look at the run whose gradients have no scale."""
    mine = group(settings)
    run = mine.of(key_of(VARIANTS["unscaled_gradients"].job))[0]
    return line(run, mine, HELD_OUT).percent[-1]


def unscaled(settings: Settings) -> str:
    """The end of the run whose gradients have no scale: "fails", "far above" or "near"."""
    mine = group(settings)
    if any(run.row.failure for run in mine.of(key_of(VARIANTS["unscaled_gradients"].job))):
        return "fails"
    return "far above" if unscaled_gap(settings) > FAR else "near"


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "beyond": beyond,
    "band_width": band_width,
    "spread": spread,
    "needed": lambda settings: runs_needed(spread(settings), settings[DELTA.key]),
    "delta": lambda settings: settings[DELTA.key],
    "seeds": lambda settings: len(group(settings).bf16),
    "gpu": lambda settings: group(settings).first.machine.name,
    "date": lambda settings: span(run.row.date for run in group(settings).bf16),
    "nvfp4_gap": _gap("nvfp4"),
    "nvfp4_in_bf16": in_bf16,
    "mxfp4_gap": _gap("mxfp4"),
    "mxfp8_gap": _gap("mxfp8"),
    "deepseek_gap": _gap("deepseek_v3"),
    "recipes": lambda settings: len(trained(group(settings))),
    "compared": lambda settings: len(ends(settings)),
    "eight_runs": _counted(8, beyond_band=False),
    "eight_beyond": _counted(8, beyond_band=True),
    "four_runs": _counted(4, beyond_band=False),
    "four_beyond": _counted(4, beyond_band=True),
    "rotation_apart": lambda settings: apart(VARIANTS["no_rotation"], group(settings))[0],
    "rotation_error": lambda settings: apart(VARIANTS["no_rotation"], group(settings))[1],
    "unscaled": unscaled,
    "unscaled_gap": unscaled_gap,
    "tokens": lambda settings: SIZES[settings[SIZE.key]].bytes_per_step,
}
