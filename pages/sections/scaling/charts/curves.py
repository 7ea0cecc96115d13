"""The lower two parts of the picture of one scale: SQNR over the scale, and the parts of the error."""

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import number, several, text
from pages.sections.scaling.charts.scene import AMAX, CURVE, HERE, NOW, PICK, STEP
from pages.sections.scaling.charts.stack import Spec, panel

TALL, PARTS, EDGE = 150, 80, 7
ERROR_PARTS = {"deadzone": "becoming 0", "grid": "rounding", "saturation": "saturating"}


def _along(field: str = "s:Q", **options: object) -> alt.X:
    scale = alt.Scale(domain=several("scales", [0.0, 1.0]), nice=False, padding=EDGE)
    return alt.X(field, scale=scale, **options)


def _cursor(ink: Ink) -> alt.Chart:
    return (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(s=NOW)
        .mark_rule(color=ink.text, strokeWidth=2, aria=False)
        .encode(x=_along())
    )


def sqnr_curve(ink: Ink) -> Spec:
    """The panel of SQNR; its holes are `scales`, the ends of log2 scale, and `sqnr`, those of SQNR."""
    data = alt.NamedData(CURVE)
    scale = alt.Scale(domain=several("sqnr", [0.0, 1.0]), nice=False)
    y = alt.Y("sqnr:Q", scale=scale, axis=alt.Axis(tickCount=4))
    x = _along(axis=alt.Axis(labels=False, ticks=False, title=None))
    line = alt.Chart(data).mark_line(color=ink.scale, strokeWidth=2.5, aria=False).encode(x=x, y=y)
    dot = (
        alt.Chart(data)
        .transform_filter(HERE)
        .mark_point(filled=True, size=110, color=ink.text, opacity=1)
        .encode(x=x, y=y)
    )
    marked = alt.Chart(alt.NamedData(AMAX))
    diamond = marked.mark_point(
        filled=True, shape="diamond", size=130, color=ink.lost, opacity=1, stroke=ink.page
    ).encode(x=x, y=y)
    name = marked.mark_text(
        dy=-14, dx=8, align="left", color=ink.lost, fontWeight="bold", fontSize=12, text="amax scale"
    ).encode(x=x, y=y)
    none = alt.Chart(alt.Data(values=[{"s": 0}]))
    one = none.mark_rule(color=ink.soft, strokeDash=[3, 3], aria=False).encode(x=x)
    one_name = none.mark_text(
        color=ink.soft, fontSize=12, align="left", dx=4, baseline="top", text="no scale"
    ).encode(x=x, y=alt.YValue(2))
    return panel(
        line,
        one,
        one_name,
        _cursor(ink),
        diamond,
        name,
        dot,
        _handles(first=True),
        height=TALL,
        title="SQNR (dB) at every scale: higher is better",
    )


def _handles(*, first: bool) -> alt.Chart:
    """Invisible columns, one a scale, to point at and drag over. The first chart's hold the selection."""
    columns = (
        alt.Chart(alt.NamedData(CURVE))
        .transform_calculate(
            s0=f"datum.s - {STEP / 2}",
            s1=f"datum.s + {STEP / 2}",
            scale="'2^' + format(datum.s, '~f')",
        )
        .mark_rect(opacity=0, cursor="ew-resize", aria=False)
        .encode(
            x=_along("s0:Q"),
            x2=alt.X2("s1:Q"),
            tooltip=[
                alt.Tooltip("scale:N", title="scale"),
                alt.Tooltip("sqnr:Q", title="SQNR (dB)", format=".2f"),
                alt.Tooltip("saturated:Q", title="saturate", format=".3%"),
                alt.Tooltip("dead:Q", title="become 0", format=".3%"),
                *(alt.Tooltip(f"{part}:Q", title=f"error from {name}, of ‖x‖²", format=".3e")
                  for part, name in ERROR_PARTS.items()),
            ],
        )
    )  # fmt: skip
    if not first:
        return columns
    ends = number("low", 0.0), number("high", 1.0)
    slider = alt.binding_range(min=ends[0], max=ends[1], step=STEP, name="log2 of the scale ")
    return columns.add_params(
        alt.selection_point(
            name=PICK,
            fields=["s"],
            bind=slider,
            on="pointerdown, pointermove[event.buttons]",
            clear=False,
            toggle=False,
            value=[{"s": number("start", 0.0)}],
        )
    )


def error_parts(ink: Ink) -> Spec:
    """The shares of the error at every scale, stacked to the whole. The hole `scale_labels` is its labels'
    expression.
    """
    parts, names = list(ERROR_PARTS), list(ERROR_PARTS.values())
    axis = alt.Axis(labelExpr=text("scale_labels", "datum.value"), tickMinStep=1, tickCount=8)
    color = alt.Color(
        "part:N",
        scale=alt.Scale(domain=names, range=[ink.soft, ink.scale, ink.lost]),
        legend=alt.Legend(orient="top", direction="horizontal", offset=0, symbolType="square"),
    )
    areas = (
        alt.Chart(alt.NamedData(CURVE))
        .transform_fold(parts, as_=["field", "share"])
        .transform_calculate(rank=f"indexof({parts}, datum.field)", part=f"{names}[datum.rank]")
        .mark_area(opacity=0.85, aria=False)
        .encode(
            x=_along(axis=axis, title="scale"),
            y=alt.Y("share:Q", stack="normalize", axis=None),
            color=color,
            order=alt.Order("rank:Q"),
        )
    )
    return panel(
        areas,
        _cursor(ink),
        _handles(first=False),
        height=PARTS,
        title="The error at every scale comes from",
    )
