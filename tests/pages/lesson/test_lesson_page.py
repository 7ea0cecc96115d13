"""The page "Lesson": every chapter with what it takes, where this visitor is, and a view for paper."""

from pages.kit.lesson.library import library
from pages.lesson import paper


def texts(at) -> str:
    assert not at.exception, at.exception[0].value
    return "\n".join(one.value for kind in ("markdown", "caption") for one in at.get(kind))


def rows(at) -> list:
    """The links of the page's own: each opens a step."""
    return [link for link in at.main.get("page_link") if link.proto.query_string]


def resume(at) -> str:
    return at.button(key="lesson_resume").label


def test_every_chapter_is_there_and_the_lesson_goes_on_where_it_was_left(open_app):
    at = open_app("pages/lesson.py")
    lessons = library()
    assert [link.proto.label for link in rows(at)] == [chapter.title for chapter in lessons.chapters]
    assert f"about **{lessons.minutes} minutes**" in texts(at)
    assert resume(at) == f"Begin with {lessons.chapters[0].title}"
    starts = [link.proto.query_string.rpartition("lesson=")[2] for link in rows(at)]
    assert starts == [f"{chapter.name}.1" for chapter in lessons.chapters]
    at.switch_page("pages/scaling.py")
    at.query_params["lesson"] = "scaling.3"
    at.run()
    at.switch_page("pages/lesson.py")
    at.query_params.clear()
    at.run()
    assert resume(at) == "Go on with Scales, step 3"
    [mine] = [one.proto.body for one in at.get("html") if "you are at step 3" in one.proto.body]
    assert 'aria-label="0 of 5 predictions made"' in mine
    at.button(key="lesson_resume").click().run()
    assert at.query_params["lesson"] == "scaling.3"


def test_a_chosen_chapter_shows_its_steps_and_begins_with_its_first(open_app):
    at = open_app("pages/lesson.py", chapter="scaling")
    steps = library().chapter("scaling").steps
    assert [link.proto.label for link in rows(at)] == [f"{n}. {s.title}" for n, s in enumerate(steps, 1)]
    assert resume(at) == "Begin with Scales"


def test_paper_has_every_step_with_room_for_an_answer_and_no_truth(open_app, monkeypatch):
    monkeypatch.setattr(paper, "short_link", lambda place: f"class/?lesson={place.key}")
    at = open_app("pages/lesson.py", chapter="scaling", print="true")
    chapter = library().chapter("scaling")
    told = texts(at)
    assert [one.value for one in at.header] == [
        f"{n}. {step.title}" for n, step in enumerate(chapter.steps, 1)
    ]
    assert "- ☐ Hardly any: floats adapt\n" in told
    assert "My answer, 1 times to 1,000,000 times:" in told
    assert "class/?lesson=scaling.5" in told
    assert "became zero" not in told
    rooms = [
        one for one in at.get("html") if "answer_line" in one.proto.body and "style" not in one.proto.body
    ]
    assert len(rooms) == sum(step.predict is not None for step in chapter.steps)
