"""Section "One scale": a distribution against a format's window, and a scale to drag in the browser."""

import numpy as np

from fp8core.experiments.scale_sweep import ScaleSweep
from pages.kit.chart_slider import chart_with_slider
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.scaling.charts.scene import PICK
from pages.scaling.controls import COUNT, FORMAT, KIND, LOG2_SCALE, MAGNITUDE
from pages.scaling.data import Window, on_slider, presets, sweep, window_spec
from pages.scaling.role import draw_role
from pages.scaling.words import window_alt, window_notice, window_of, window_rules

SOURCE = "Source: Micikevicius et al., FP8 Formats for Deep Learning, arXiv 2209.05433."


def show(controls: Controls) -> None:
    """Draw the section for the format and numbers that the controls hold."""
    view = here()
    name, kind = controls.draw(FORMAT), controls.draw(KIND)
    tensor = draw_role(controls, kind)
    for control in (MAGNITUDE, COUNT, SEED):
        controls.draw(control)
    window = (name, kind, tensor, *(controls.value(control) for control in (SEED, MAGNITUDE, COUNT)))
    every, amax = sweep(window)
    draw_notice(window_notice(name, every, _index(every, controls.value(LOG2_SCALE)), float(amax.sqnr_db[0])))
    for label, log2_scale in presets(window).items():
        view.control.button(label, on_click=controls.preset, kwargs={LOG2_SCALE.key: log2_scale})
    _picture(controls, window)
    draw_text(window_of(name), view.know)
    view.know.markdown(window_rules(name, kind))
    view.know.caption(SOURCE)


def _index(every: ScaleSweep, log2_scale: float) -> int:
    return int(np.argmin(np.abs(np.log2(every.scale) - log2_scale)))


def _picture(controls: Controls, window: Window) -> None:
    every, _ = sweep(window)
    at = on_slider(window, controls.value(LOG2_SCALE))
    chart_with_slider(
        controls,
        LOG2_SCALE,
        name="scaling_window",
        drawn=(window, theme()),
        at=at,
        spec_at=lambda start: window_spec(window, start, theme()),
        param=PICK,
        field="s",
        alt_at=lambda start: window_alt(window[0], every, _index(every, start)),
    )
