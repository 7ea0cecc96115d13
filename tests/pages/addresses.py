"""Refusals of a page's controls for values that a file names."""

from collections.abc import Mapping

from tests.pages.every_page.budget import CONTROLS, controls_of


def refused(page: str, values: Mapping[str, object]) -> list[str]:
    """A sentence for each value that the page does not accept."""
    if page not in CONTROLS:
        return [f"{page} is no page"]
    controls = controls_of(page)
    unknown = [f"{key} is no control of {page}" for key in values if key not in controls]
    return unknown + [
        f"{key} got {value!r} and needs {controls[key].needs}"
        for key, value in values.items()
        if key in controls and not controls[key].accepts(value)
    ]
