"""All that a reader can set is in the address: widgets are bound controls, and so are sliders in charts."""

import ast
import json
import re
from functools import cache

import pytest

from pages.kit.chart_slider import AT, SLIDER, with_slider
from pages.kit.charts.template import Filled
from tests.pages.conftest import TOP

SETTABLE = {
    "audio_input", "camera_input", "chat_input", "checkbox", "color_picker", "data_editor", "date_input",
    "datetime_input", "feedback", "multiselect", "number_input", "pills", "radio", "segmented_control",
    "select_slider", "selectbox", "slider", "text_area", "text_input", "time_input", "toggle",
}  # fmt: skip
MIRRORS = {
    ("pages/design/recipe.py", "selectbox"): "each writes its part of OWN, the recipe's line",
    ("pages/rotations/controls.py", "segmented_control"): "sets three controls at once",
    ("pages/live_gemm/facts.py", "selectbox"): "a shape sets M, N and K",
    ("pages/kit/lesson/prediction.py", "radio"): "an answer, which is locked in the class's store",
    ("pages/kit/lesson/prediction.py", "number_input"): "an answer as well",
    ("pages/kit/lesson/prediction.py", "select_slider"): "an answer as well",
    ("pages/kit/address.py", "text_input"): "hidden: the run that the browser has drawn",
    ("pages/classroom/door.py", "text_input"): "a secret, which no address may have",
    ("pages/kit/site/record.py", "slider"): "reads a control of a page that runs, and draws none",
    ("pages/classroom/roster.py", "toggle"): "a link must not show who is where",
    ("pages/classroom/plan.py", "segmented_control"): "the plan of the class, which all its pages share",
}
DRAWN_WITH_SLIDER = {
    "formats/charts/compare",
    "formats/charts/gradients",
    "accumulation/charts/steps",
    "why_fp8/charts/sliders",
}
OWN_TEST = {
    "compare_recipes/charts/table",
    "outliers/charts/map",
    "rotations/charts/vectors",
    "scaling/charts/delayed",
    "scaling/charts/rules",
    "scaling/charts/window",
}
"""Charts whose sliders `tests/browser` drags until the address follows."""
SLIDERS = [
    ("pages/formats.py", {"formats": "compare", "axis": "linear", "axis_top": "6"}, 6),
    ("pages/formats.py", {"formats": "gradients", "loss_scale": "16"}, 16),
    ("pages/accumulation.py", {"step": "6"}, 6),
    ("pages/why_fp8.py", {"why_tokens": "6"}, 6),
    ("pages/why_fp8.py", {"why_show": "history", "why_loss_scale": "13"}, 13),
]


@cache
def page_trees() -> dict[str, ast.Module]:
    """Every script of the pages that names a widget or a slider of a chart, by its path, parsed."""
    files = [TOP / "app.py", *(TOP / "pages").rglob("*.py")]
    texts = {path.relative_to(TOP).as_posix(): path.read_text(encoding="utf-8") for path in files}
    widget = re.compile(rf"\.({'|'.join(SETTABLE)})\b|binding_range")
    return {path: ast.parse(text) for path, text in texts.items() if widget.search(text)}


def calls(tree: ast.AST, names: set[str]) -> list[ast.Call]:
    """The calls of a method or function of one of these names."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in names
    ]


def widgets(tree: ast.AST) -> list[ast.Attribute]:
    """Names of Streamlit's settable widgets in the code, called at once or later."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in SETTABLE]


def drawn_by_controls(tree: ast.Module) -> set[int]:
    """The widgets, by identity, that a control's own method `widget` names."""
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "widget"]
    return {id(widget) for method in methods for widget in widgets(method)}


def test_every_widget_is_drawn_by_a_control_or_mirrors_one() -> None:
    loose, bound = [], 0
    for path, tree in page_trees().items():
        own = drawn_by_controls(tree)
        bound += len(own)
        loose += [
            f"{path}:{widget.lineno} {widget.attr}"
            for widget in widgets(tree)
            if id(widget) not in own and (path, widget.attr) not in MIRRORS
        ]
    assert loose == []
    assert bound > 5, "the search finds the widgets of the controls"


def bound(spec: dict) -> list[dict]:
    """The parameters with a slider, wherever in the chart they are; not the one that plays a motion."""
    inside = [
        one for key in ("layer", "vconcat", "hconcat") for part in spec.get(key, []) for one in bound(part)
    ]
    own = [p for p in spec.get("params", []) if isinstance(p.get("bind"), dict) and p["name"] != "fall"]
    return own + inside


def test_the_sliders_of_all_charts_are_tried_here_or_have_a_test_of_their_own() -> None:
    made = {path for path, tree in page_trees().items() if calls(tree, {"binding_range"})}
    assert made == {f"pages/{chart}.py" for chart in DRAWN_WITH_SLIDER | OWN_TEST}


@pytest.mark.parametrize(("page", "asked", "at"), SLIDERS, ids=lambda value: str(value))
def test_a_link_opens_the_slider_where_it_says(open_app, page, asked, at) -> None:
    app = open_app(page, **asked)
    assert not app.exception
    assert dict(app.query_params) == asked
    chart = next(c.proto for c in app.get("vega_lite_chart") if bound(json.loads(c.proto.spec)))
    (slider,) = bound(json.loads(chart.spec))
    assert slider["value"] == [{AT: at}]
    assert list(chart.selection_mode) == [slider["name"]], "Python hears of it"


def test_a_chart_without_that_slider_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a slider for 'k'; it has \\['x'\\]"):
        with_slider({"params": [{"name": "x", "value": 1}]}, "k", 0)


def test_what_follows_a_slider_keeps_its_name_and_the_chart_given_stays_as_it_is() -> None:
    given = {"params": [{"name": "k", "value": 0, "bind": {}}], "layer": [{"layer": [{"mark": "bar"}]}, {}]}
    made = with_slider(given, "k", 3)
    assert [p["name"] for p in made["params"]] == ["k", SLIDER]
    assert made["params"][1]["views"] == [made["layer"][0]["layer"][0]["name"]]
    assert given["params"][0]["value"] == 0
    assert "name" not in given["layer"][0]["layer"][0]
    assert isinstance(with_slider(Filled(given), "k", 3), Filled), "it is ready to be drawn"
