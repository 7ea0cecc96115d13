"""The axis of operations per byte, which Roofline and Any shape share."""

import altair as alt

from pages.kit.charts.template import several

_POWERS = [2.0**power for power in range(20)]


def intensity_axis(example: tuple[float, float]) -> alt.X:
    """The x axis in powers of two. A rerun puts its "intensities" in the place of the example's ends."""
    return alt.X(
        "intensity:Q",
        title=["operations per byte:", "2 · M · N · K / bytes of codes, scales and D"],
        scale=alt.Scale(type="log", base=2, domain=several("intensities", [*example]), nice=False),
        axis=alt.Axis(values=_POWERS, format=",~f", grid=True, labelOverlap=True),
    )
