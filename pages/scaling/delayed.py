"""Section "Now or delayed": a scale from earlier steps against the step's own."""

import streamlit as st

from fp8core.experiments.amax_series import RECORDED_SERIES, SERIES_NOTES, SeriesKind
from fp8core.experiments.delayed_scaling import AmaxChoice
from pages.kit.chart import draw_chart
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.scaling import delayed_words as words
from pages.scaling.controls import AMAX_CHOICE, HISTORY, MARGIN, OWN, PASTED, SERIES, STEPS
from pages.scaling.delayed_data import Series, delayed_spec, generated, strategies
from pages.scaling.series import parse_series


def show(controls: Controls) -> None:
    """Draw the section for the series and the strategy that the controls hold."""
    view = here()
    choice = AmaxChoice[controls.draw(AMAX_CHOICE, view.control).upper()]
    kind, history, margin = (controls.draw(control) for control in (SERIES, HISTORY, MARGIN))
    series = _series(controls, kind)
    if series is None:
        return
    found = strategies(series, history, margin)
    draw_notice(words.notice(found, choice))
    draw_chart(
        delayed_spec(series, history, margin, choice.name, theme()),
        key="scaling_delayed",
        alt=words.picture_alt(found, choice),
    )
    draw_text(words.INTRO, view.know)
    view.know.markdown(words.table(found, choice))
    view.know.markdown(f"**Why people stopped.** {words.WHY_THEY_STOPPED}")
    view.know.markdown(words.RULES)
    notes = [note for law, note in SERIES_NOTES.items() if law not in RECORDED_SERIES]
    view.know.markdown("\n".join(f"- **{note.title}**: {note.rule}." for note in notes))
    view.know.caption(f"{words.SOURCES}{_of_run(kind)}")


def _of_run(kind: str) -> str:
    """A sentence on the run that a recorded series is from; nothing for others."""
    if kind == PASTED or SeriesKind(kind) not in RECORDED_SERIES:
        return ""
    return f" Recorded: {plain(SERIES_NOTES[SeriesKind(kind)].rule)}."


def _series(controls: Controls, kind: str) -> Series | None:
    """The chosen series; None, and a sentence to the reader, where the pasted text is none."""
    if kind != PASTED:
        steps = controls.draw(STEPS)
        is_drawn = SeriesKind(kind) not in RECORDED_SERIES
        return generated(kind, steps, controls.draw(SEED) if is_drawn else 0)
    try:
        return parse_series(controls.draw(OWN))
    except ValueError as wrong:
        st.error(plain(str(wrong)))
        return None
