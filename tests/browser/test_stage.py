"""The script around a stage: which answers of Python are old, and which stage of several an answer is for."""

import pytest

from pages.kit.stage.stage import HTML, Stage

pytestmark = pytest.mark.browser

MODULE = """
export function stage(root, data, send) {
  const said = { updates: [], ended: false, send };
  window.stages.push(said);
  return { update(data, isOld) { said.updates.push([data.at, isOld]); }, end() { said.ended = true; } };
}
"""
LOAD = """async ([script, html]) => {
    window.stages = [];
    window.sent = [];
    const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const { default: draw } = await import(address);
    window.place = () => {
        const parentElement = document.body.appendChild(document.createElement("div"));
        parentElement.innerHTML = html;
        const setStateValue = (name, move) => window.sent.push(move);
        const drawn = (at, heard) => draw({ parentElement, data: { at, heard }, setStateValue });
        return { element: parentElement, draw: drawn };
    };
}"""


@pytest.fixture
def blank(themed, tmp_path):
    """An empty page with `place()`, a place of its own for a stage, all `stages`, and what they `sent`."""
    module = tmp_path / "own.js"
    module.write_text(MODULE, encoding="utf-8")
    page = themed("light").new_page()
    page.evaluate(LOAD, [Stage("own", module).script, HTML])
    yield page
    page.close()


def test_an_answer_is_old_until_python_has_heard_of_the_last_move(blank):
    seen = blank.evaluate("""() => {
        const { draw } = place(), number = () => sent.at(-1).number;
        draw("first", 0);
        const [stage] = stages;
        draw("no move yet", 0);
        stage.send({ step: 1 });
        const one = number();
        draw("asked for before", 0);
        stage.send({ step: 2 });
        draw("of the first move", one);
        draw("of a run that was cut off, and of another control", number());
        draw("a session that has forgotten the move", 0);
        return [stages.length, stage.updates, sent.map(({ step }) => step), number() > one];
    }""")
    assert seen == [
        1,
        [
            ["no move yet", False],
            ["asked for before", True],
            ["of the first move", True],
            ["of a run that was cut off, and of another control", False],
            ["a session that has forgotten the move", False],
        ],
        [1, 2],
        True,
    ]


def test_each_stage_of_a_module_waits_for_its_own_move(blank):
    seen = blank.evaluate("""() => {
        const one = place(), other = place();
        one.draw("first", 0);
        other.draw("first", 0);
        stages[0].send({});
        other.draw("other", 0);
        stages[1].send({});
        one.draw("one", sent[0].number);
        other.draw("other", 0);
        return stages.map(({ updates }) => updates);
    }""")
    assert seen == [[["one", False]], [["other", False], ["other", True]]]


def test_a_stage_that_is_made_anew_awaits_nothing(blank):
    seen = blank.evaluate("""() => {
        const { element, draw } = place(), end = draw("first", 0);
        stages[0].send({});
        const stage = element.firstElementChild;
        stage.remove();
        end();
        element.append(stage);
        draw("first", 0);
        draw("second", 0);
        return stages.map(({ updates, ended }) => [updates, ended]);
    }""")
    assert seen == [[[], True], [[["second", False]], False]]


def test_data_that_newer_data_overtake_end_no_stage(blank):
    """Streamlit cleans up after the older ones as soon as they are drawn."""
    seen = blank.evaluate("""() => {
        const { element, draw } = place(), overtaken = draw("first", 0), last = draw("second", 0);
        overtaken();
        draw("third", 0);
        const before = stages.map(({ ended }) => ended);
        element.remove();
        last();
        return [before, stages.map(({ ended }) => ended), stages[0].updates.length];
    }""")
    assert seen == [[False], [True], 2]
