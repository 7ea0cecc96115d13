"""Section "One vector": its stems before and after; the slider in the picture is the magnitude's control."""

from pages.kit.chart_slider import chart_with_slider
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.rotations.charts.vectors import MAGNITUDE as SLIDER
from pages.rotations.charts.vectors import OUTLIER, PANELS, Stems, vector_picture
from pages.rotations.controls import MAGNITUDE, draw_cases, draw_rotation
from pages.rotations.data import Setting, change, errors_at, look, of_format, setting


def picture(setting: Setting, start: int, theme: str) -> Filled:
    """The first vector before and after the rotation, the slider at `start`."""
    panels = {}
    for name, frame in zip(PANELS, setting.one(), strict=True):
        rest, slope = frame.linear[:, 0]
        # After a rotation, no entry is an outlier by itself.
        outlier = frame.vectors.is_outlier[0] & (frame.rotation is None)
        panels[name] = Stems(rest=rest, slope=slope, is_outlier=outlier)
    limits = MAGNITUDE.low, MAGNITUDE.high
    return vector_picture(panels, setting.spec(), start, limits, INKS[theme])


def show(controls: Controls) -> None:
    """Draw the picture with its notice above it."""
    draw_cases(controls)
    draw_rotation(controls)
    chosen, magnitude = setting(controls.value), controls.value(MAGNITUDE)
    before, after = look(chosen, magnitude)
    draw_notice(notice(chosen, before.zeros, after.zeros))
    chart_with_slider(
        controls,
        MAGNITUDE,
        name="rotations_vector",
        drawn=(chosen, theme()),
        at=magnitude,
        spec_at=lambda start: picture(chosen, start, theme()),
        param=OUTLIER,
        field=SLIDER,
        # Whatever changes here makes the browser build the picture anew: nothing that dragging changes.
        alt_at=lambda _: (
            f"{chosen.size} entries as stems, before and after the rotation, under a slider for the "
            "outlier's magnitude. Above each panel: its largest entry, and how many become zero."
        ),
    )
    here().know.markdown(
        f"{error_in_words(chosen, magnitude)} Both panels have one axis. Blue: the largest |x|. The "
        f"orange band is what rounds to zero in {chosen.format}: at most half its smallest value, "
        f"{chosen.spec().format.min_subnormal:g}, times the tile's scale."
    )


def notice(chosen: Setting, zeros_before: int, zeros_after: int) -> str:
    """The effect of the rotation on this vector."""
    return (
        f"The outlier sets the scale, and **{zeros_before:,} of {chosen.size:,} numbers become 0** in "
        f"{chosen.format}. Rotated, {f'{zeros_after:,}' if zeros_after else 'none'} "
        f"{'does' if zeros_after in (0, 1) else 'do'}."
    )


def error_in_words(chosen: Setting, magnitude: int) -> str:
    """The effect of the rotation on the quantization error of vectors like this one."""
    without, rotated = (of_format(error.nmse) for error in errors_at(chosen, magnitude))
    return (
        f"Over {chosen.many:,} such vectors, quantization to {chosen.format} loses {without:.3g} of the "
        f"energy without the rotation and {rotated:.3g} with it. The error is {change(without, rotated)}."
    )
