"""Contract: a widget whose old value comes in a late message undoes nothing that the reader did since."""

import pytest

from pages.kit.address import RUN_KEY

SHAPE = "Layer: 4096 tokens, 4096 → 14336"
# A widget that sets others, its value, and one of the others with a value that takes it away
PAGES = {
    "rotations": ("segmented_control _rotations_case", "8 bits", "selectbox rotations_format", "e3m2"),
    "live_gemm": ("selectbox gemm_shape", SHAPE, "number_input m", 256),
    "glossary": ("selectbox term", "tile", "text_input find", "ue8m0"),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_widget_that_sets_others_sets_none_when_it_is_late(open_app, page) -> None:
    first, old, second, new = PAGES[page]

    def widget(name: str):
        kind, key = name.split()
        return getattr(at, kind)(key=key)

    at = open_app(f"pages/{page}.py")
    widget(first).set_value(old).run()
    before = at.text_input(key=RUN_KEY).value
    widget(second).set_value(new).run()
    assert widget(first).value != old
    at.text_input(key=RUN_KEY).set_value(before)
    widget(first).set_value(old).run()
    assert widget(second).value == new
    widget(first).set_value(old).run()
    assert widget(second).value != new, "the reader's choice"
