"""The parts of a section find their places, in whichever order they are drawn."""

from streamlit.testing.v1 import AppTest


def drawing() -> None:
    """A page whose section draws everything the wrong way round."""
    import streamlit as st

    from pages.kit.controls import Controls
    from pages.kit.view import draw_chart, draw_notice, here, open_view
    from pages.kit.widgets import Choice

    show = Choice(key="show", label="Show", options={"a": "A", "b": "B"}, default="a")
    main = Choice(key="main", label="Main", options={"c": "C", "d": "D"}, default="c")
    field = Choice(key="field", label="Field", options={"e": "E", "f": "F"}, default="e")
    view = open_view("Why?")
    controls = Controls(show, main, field)
    with view.below:
        here().know.markdown("a source")
        controls.draw(field)
        chart = {"mark": "bar", "data": {"values": []}}
        draw_chart(chart, alt="the picture", key="one")
        st.markdown("a table")
        draw_chart(chart, alt="another picture", key="two")
        draw_notice("it is **0**.")
        draw_notice("and so on")
        controls.draw(main, here().control)
    controls.draw(show, view.sections)


def places(node: object) -> list[str]:
    """Words of all leaves under a node, in the order of the page."""
    children = getattr(node, "children", None)
    if children:
        return [word for _, child in sorted(children.items()) for word in places(child)]
    label = getattr(node, "label", "")
    proto = getattr(node, "proto", None)
    return [label or getattr(node, "value", None) or getattr(proto, "alt", "") or node.type]


def test_each_part_of_a_page_has_its_place():
    at = AppTest.from_function(drawing).run()
    assert not at.exception
    order = [word for word in places(at.main) if isinstance(word, str)]
    texts = ["Why?", "it is **0**.", "Show", "Main", "a table", "and so on", "Field", "a source"]
    assert [word for word in order if word in texts] == texts
    assert [one.label for one in at.expander] == ["More controls", "How we know"]
