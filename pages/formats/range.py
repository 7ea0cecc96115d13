"""Section "Range and precision": every format as a point."""

from collections.abc import Mapping

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import dynamic_range, finest_bits
from pages.formats.charts.range import has_range, range_points
from pages.formats.compare import own_row, possible
from pages.formats.controls import TITLES, own_fields
from pages.formats.data import formats_by_title
from pages.formats.splits import draw_splits
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here


def show(controls: Controls) -> None:
    """Draw every format as a point; below, the splits of eight bits."""
    own_row(controls)
    own, know = own_fields(controls), here().know
    draw_notice(_notice())
    names = possible(tuple(TITLES), own)
    formats, ink = formats_by_title(names, own), INKS[theme()]
    draw_chart(
        range_points(formats, room(), ink),
        key="formats_points",
        is_rigid=True,
        alt="Each format as a point: its dynamic range in binades against its relative step",
    )
    know.markdown(
        "A label with + has more formats on or beside it; point at them for names. "
        f"{_trade('e5m2', 'e4m3')}; {_trade('bf16', 'fp16')}.{_left_out(formats)}"
    )
    draw_splits()


def _left_out(formats: Mapping[str, Format]) -> str:
    """A sentence on the formats that have no place on the axis, and why; empty where all have one."""
    without = [title for title, format_ in formats.items() if not has_range(format_)]
    return f" Not drawn: {', '.join(without)}, with one positive value and so no range." if without else ""


def _notice() -> str:
    wide, fine = (FORMATS[name] for name in ("e5m2", "e4m3"))
    times = 2 ** (dynamic_range(wide) - dynamic_range(fine))
    return (
        "A bit is spent once, on range or on precision. E5M2 takes one from the mantissa and has "
        f"**{times:,.0f} times the range** of E4M3."
    )


def _trade(wide: str, fine: str) -> str:
    """The price that a format pays for a wider range than another of its size."""
    one, other = FORMATS[wide], FORMATS[fine]
    coarser = 2 ** (finest_bits(other) - finest_bits(one))
    return (
        f"{TITLES[wide]} spans {dynamic_range(one):.0f} binades where {TITLES[fine]} spans "
        f"{dynamic_range(other):.0f}, for a step {coarser} times coarser"
    )
