"""Facts of the page "Does the loss notice?" for the lesson."""

from collections.abc import Callable, Sequence

from fp8core.experiments.run_spread import runs_needed, spread_percent
from kernels.train.job import SIZES
from kernels.train.variants import VARIANTS
from pages.kit.origins import span
from pages.kit.widgets import Settings
from pages.loss.controls import ALL_CONTROLS, COMPARED, DELTA, HELD_OUT, SIZE
from pages.loss.gaps import FEWEST, Final, apart, ends_of_band, finals, line
from pages.loss.runs import Group, group_of, key_of

CONTROLS = ALL_CONTROLS
FAR = 10.0  # percent above bf16
_UNSCALED = key_of(VARIANTS["unscaled_gradients"].job)


def group(settings: Settings) -> Group:
    """The runs of the chosen model. Raises ValueError for too few of bf16."""
    runs = group_of(settings[SIZE.key])
    if runs is None or len(runs.bf16) < FEWEST:
        raise ValueError("no runs of this model are recorded that could be compared")
    return runs


def ends(settings: Settings) -> Sequence[Final]:
    return [one for one in all_ends(settings) if one.key[0] in settings[COMPARED.key]]


def all_ends(settings: Settings) -> Sequence[Final]:
    runs = group(settings)
    return finals(runs, [(name, False, False) for name in runs.recipes])


def beyond(settings: Settings) -> str:
    """The recipes that leave the band: "none", "four bits", "eight bits" or "both"."""
    bits = {one.bits for one in ends(settings) if one.beyond}
    if not bits:
        return "none"
    if len(bits) > 1:
        return "both"
    return "four bits" if bits == {4} else "eight bits"


def band_width(settings: Settings) -> float:
    low, high = ends_of_band(group(settings))
    return high - low


def spread(settings: Settings) -> float:
    return spread_percent([run.row.final for run in group(settings).bf16])


def _gap(name: str) -> Callable[[Settings], float]:
    return lambda settings: finals(group(settings), [(name, False, False)])[0].gap.percent


def in_bf16(settings: Settings) -> float:
    """Percent that NVFP4's last loss falls with the same weights in bf16."""
    (one,) = finals(group(settings), [("nvfp4", False, False)])
    if one.in_bf16 is None:
        raise ValueError("the runs of NVFP4 were not looked at in bf16")
    return -one.in_bf16


def _number(bits: int, *, beyond_band: bool) -> Callable[[Settings], int]:
    return lambda settings: sum(
        one.bits == bits and (one.beyond or not beyond_band) for one in all_ends(settings)
    )


def unscaled_gap(settings: Settings) -> float:
    runs = group(settings)
    return line(runs.of(_UNSCALED)[0], runs, HELD_OUT).percent[-1]


def unscaled(settings: Settings) -> str:
    """The end of the run without gradient scales: "fails", "far above" or "near"."""
    if any(run.row.failure for run in group(settings).of(_UNSCALED)):
        return "fails"
    return "far above" if unscaled_gap(settings) > FAR else "near"


FACTS = {
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
    "recipes": lambda settings: len(all_ends(settings)),
    "compared": lambda settings: len(ends(settings)),
    "eight_runs": _number(8, beyond_band=False),
    "eight_beyond": _number(8, beyond_band=True),
    "four_runs": _number(4, beyond_band=False),
    "four_beyond": _number(4, beyond_band=True),
    "rotation_apart": lambda settings: apart(VARIANTS["no_rotation"], group(settings))[0],
    "rotation_error": lambda settings: apart(VARIANTS["no_rotation"], group(settings))[1],
    "unscaled": unscaled,
    "unscaled_gap": unscaled_gap,
    "tokens": lambda settings: SIZES[settings[SIZE.key]].bytes_per_step,
}
