"""The choice of a GPU by its datasheet: peak rates and bandwidth, no measurement."""

from kernels.bench.ceilings.peak_rates import PEAK_RATES, PeakRates, peak_rates_of
from kernels.bench.lines import slug
from kernels.device import HOPPER
from pages.kit.widgets import Choice, ChoiceStyle

_CARDS = {slug(rates.name): rates for rates in PEAK_RATES.values()}

GPU = Choice(
    key="why_gpu",
    label="GPU",
    options={key: rates.name for key, rates in _CARDS.items()},
    default=slug(peak_rates_of(HOPPER.name).name),
    style=ChoiceStyle.SELECT,
    help="Rates and bandwidth of its datasheet, dense.",
)


def card(key: str) -> PeakRates:
    return _CARDS[key]
