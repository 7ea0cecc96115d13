"""A small class, as `make load` has a large one: every answer is its own, and none is lost.

The tests of the comparison come first: an answer that is not its own would be seen.
"""

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.kit.server.lifespan import FIRST_READER
from tests.asynchronous import complete
from tests.load.process import cpu_s
from tests.load.replay import difference
from tests.load.run import Plan, Report, at_rest, run
from tests.load.session import opened
from tests.load.view import FINISHED, View
from tests.serving import serving

SMALL = Plan(
    phases=("burst", "churn"),
    sessions=16,
    bursts=1,
    pause_s=0.1,
    visits=2,
    samples=3,
    seed=3,
    is_read_first=False,
)
GROWTH_MB = 150


def page(*texts: str, number: float = 0.0, id_: str = "$$ID-1-seed", run: str = "1") -> View:
    """A page with some texts and a number to set, as a server sends it."""
    began, field, ended = ForwardMsg(), ForwardMsg(), ForwardMsg(script_finished=FINISHED[0])
    began.new_session.name = "app"
    began.metadata.run.script_run_id = run
    field.metadata.delta_path.extend([0, len(texts)])
    element = field.delta.new_element.number_input
    element.id, element.value, element.set_value = id_, number, True
    said = []
    for place, text in enumerate(texts):
        one = ForwardMsg()
        one.metadata.delta_path.extend([0, place])
        one.delta.new_element.markdown.body = text
        said.append(one)
    view = View()
    for message in (began, *said, field, ended):
        view.hear(message.SerializeToString())
    return view


def drawn(view: View) -> dict:
    return {path: one.delta for path, one in view.tree.items()}


@pytest.mark.parametrize(
    "texts", [["the sum is 3"], ["the sum is 2", "more"], []], ids=["another", "one more", "none"]
)
def test_a_page_with_another_text_is_another_answer(texts):
    assert "under load" in difference(drawn(page("the sum is 2")), drawn(page(*texts)))


def test_names_that_a_session_gives_are_no_part_of_an_answer():
    assert difference(drawn(page("2")), drawn(page("2", number=7, id_="$$ID-2-seed"))) == ""


@pytest.fixture(scope="module")
def report() -> Report:
    return run(SMALL)


def test_every_answer_of_a_small_class_is_its_own(report):
    assert not any(report.complaints.values()), report.complaints
    assert len(report.class_.samples) == SMALL.samples
    answers = report.class_.answers
    asked = {phase: sum(map(len, pages.values())) for phase, pages in answers.items()}
    assert asked["burst"] > SMALL.sessions / 2
    assert asked["churn"] > SMALL.visits


def test_a_small_class_leaves_little_behind(report):
    opened, end = (report.usage[when] for when in ("burst opened", "churn"))
    assert end.rss_mb - opened.rss_mb < GROWTH_MB


@pytest.mark.exhaustive
@pytest.mark.parametrize("section", ["error", "vector"])
def test_the_first_of_a_class_finds_all_made_that_is_made_once(section):
    async def costs(url: str, pid: int) -> list[float]:
        await at_rest(pid)
        found = []
        for _ in range(2):
            before = cpu_s(pid)
            async with opened(url, "rotations") as session:
                await session.open(f"rotations_show={section}")
            found.append(cpu_s(pid) - before)
        return found

    with serving(environment={FIRST_READER: "yes"}) as server:
        first, second = complete(costs(server.url, server.process.pid))
    assert first < 3 * second
