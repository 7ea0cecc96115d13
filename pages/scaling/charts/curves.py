"""The lower part of the picture of one scale: SQNR over the scale."""

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import number, several, text
from pages.scaling.charts.scene import AMAX, CURVE, HERE, NOW, PICK, STEP
from pages.scaling.charts.stack import Spec, panel

TALL, EDGE = 170, 7
ERROR_PARTS = {"deadzone": "becoming 0", "grid": "rounding", "saturation": "saturating"}


def sqnr_curve(ink: Ink) -> Spec:
    """The panel of SQNR; its holes are `scales`, the ends of log2 scale, and `sqnr`, those of SQNR."""
    data = alt.NamedData(CURVE)
    scale = alt.Scale(domain=several("sqnr", [0.0, 1.0]), nice=False)
    y = alt.Y("sqnr:Q", scale=scale, axis=alt.Axis(tickCount=4))
    x = _along(axis=alt.Axis(labelExpr=text("scale_labels", "datum.value"), tickMinStep=1, tickCount=8))
    line = alt.Chart(data).mark_line(color=ink.text, strokeWidth=2.5, aria=False).encode(x=x, y=y)
    here = alt.Chart(data).transform_filter(HERE)
    dot = here.mark_point(filled=True, size=110, color=ink.text, opacity=1).encode(x=x, y=y)
    said = here.transform_calculate(right=text("right", "false"), words="format(datum.sqnr, '.1f') + ' dB'")
    told = [
        said.transform_filter(f"{'' if right else '!'}datum.right")
        .mark_text(
            align="right" if right else "left", dx=-10 if right else 10, baseline="top", fontSize=20,
            fontWeight="bold", color=ink.text, aria=False,
        )
        .encode(x=x, y=alt.YValue(2), text=alt.Text("words:N"))
        for right in (True, False)
    ]  # fmt: skip
    marked = alt.Chart(alt.NamedData(AMAX))
    diamond = marked.mark_point(
        filled=True, shape="diamond", size=130, color=ink.scale, opacity=1, stroke=ink.page
    ).encode(x=x, y=y)
    name = marked.mark_text(
        dy=-14, align="left", color=ink.scale, fontWeight="bold", fontSize=13, text="amax scale"
    ).encode(x=x, y=y)
    none = alt.Chart(alt.Data(values=[{"s": 0}]))
    one = none.mark_rule(color=ink.line, aria=False).encode(x=x)
    one_name = none.mark_text(
        color=ink.soft, fontSize=13, align="left", dx=4, dy=-4, baseline="bottom", text="no scale"
    ).encode(x=x, y=alt.YDatum(0, scale=scale))
    cursor = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(s=NOW)
        .mark_rule(color=ink.text, strokeWidth=1.5, strokeDash=[2, 3], aria=False)
        .encode(x=x)
    )
    return panel(
        one,
        line,
        one_name,
        cursor,
        diamond,
        name,
        dot,
        *told,
        _handles(),
        height=TALL,
        title="SQNR (dB) at every scale",
    )


def _along(field: str = "s:Q", **options: object) -> alt.X:
    scale = alt.Scale(domain=several("scales", [0.0, 1.0]), nice=False, padding=EDGE)
    return alt.X(field, scale=scale, title="scale", **options)


def _handles() -> alt.Chart:
    """Invisible columns, one a scale, to point at and drag over; they hold the selection."""
    slider = alt.binding_range(
        min=number("low", 0.0), max=number("high", 1.0), step=STEP, name="log2 of the scale "
    )
    return (
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
        .add_params(
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
    )  # fmt: skip
