"""Contract: "Sanity check" shows what a check came to, live and afterwards, to the session that asked and to
all others, and says in a sentence what is wrong.
"""

from dataclasses import replace

import pytest

from kernels.check.render import markdown
from kernels.check.report import CheckJob, Verdict
from kernels.worker.jobs import Done
from pages.kit.charts.bars import PARTS
from pages.kit.gemm import queue_panel as gpu_queue
from pages.sanity_check import history as sanity_history
from pages.sanity_check.history import History
from tests.kernels.check.reports import ADA, INTERPRETED, NO_TORCH, REPORT
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act
from tests.pages.gemm_rows import run_until, wait_for_ends
from tests.pages.sanity_check.reports import report
from tests.pages.specs import sent_dataset
from tests.pages.texts import is_quiet, press, texts

PAGE = "pages/sanity_check.py"


@pytest.fixture(autouse=True)
def workers(on_gpu, stand_in_workers):
    return stand_in_workers


@pytest.fixture(autouse=True)
def history(monkeypatch) -> History:
    """A server on which nothing has been checked."""
    history = History()
    monkeypatch.setattr(sanity_history, "history", lambda: history)
    return history


@pytest.fixture
def without_gpu(workers, monkeypatch):
    monkeypatch.setattr(gpu_queue, "workers", lambda: workers)


FINE = "FP8 works on this GPU: "


def notice(at) -> str:
    """The verdict, or what stands in its place."""
    return next((one.value for one in at.markdown if "**" in one.value), "")


def squares(at) -> str:
    """The picture as HTML."""
    return next(one.value for one in at.get("html") if 'class="checks"' in one.value)


def run_check(at):
    press(at, "Run")
    run_until(at, is_quiet)


def test_before_any_check_the_page_says_what_one_asks(open_app):
    at = open_app(PAGE)
    assert not at.exception
    assert "Does every cast give the right code?" in squares(at)
    assert "e4m3: to come" in squares(at)
    assert f"**{squares(at).count('to come') // 2} comparisons**" in notice(at)
    assert "| verdict |" not in texts(at)
    assert not at.get("vega_lite_chart")
    assert not at.radio


def test_the_checklist_grows_while_the_check_runs_and_ends_in_a_verdict_and_a_word_for_each_line(
    open_app, gates
):
    gates.close(Gate.CHECK)
    at = open_app(PAGE)
    press(at, "Run")
    run_until(at, lambda at: "pass" in "".join(one.value for one in at.get("html")))
    assert not is_quiet(at)
    assert "Sanity check · " in at.get("progress")[0].proto.text
    assert at.button(key="run_check").disabled
    gates.open(Gate.CHECK)
    run_until(at, is_quiet)
    assert notice(at) == f"{FINE}**2 pass**, 1 slow, 1 not supported."
    assert "copy: slow" in squares(at)
    words = texts(at)
    assert "| :orange-badge[↓ slow] | copy |" in words
    assert "| :violet-badge[∅ not supported] | fp8 |" in words
    assert "| :green-badge[✓ pass] | rowwise fprop | 6,724 outputs. |" in words
    assert "- :violet-badge[∅ no] **Block-scaled MMA**: Not here." in words
    assert markdown(replace(REPORT, job=CheckJob())).rstrip() in [block.value for block in at.code]
    assert [button.proto.label for button in at.get("download_button")] == ["JSON"]


def test_a_check_that_is_stopped_keeps_what_it_has(open_app, history, gates):
    gates.close(Gate.CHECK)
    at = open_app(PAGE)
    press(at, "Run")
    run_until(at, lambda at: "rowwise fprop" in "".join(one.value for one in at.get("html")))
    press(at, "Stop")
    run_until(at, is_quiet)
    assert notice(at).startswith("Not finished: ")
    assert texts(at).count("Stopped on request.") == 1
    assert "rowwise fprop" in texts(at)
    assert not history.past()[0].report.finished


def test_another_session_sees_the_check_and_can_link_to_it(open_app, history):
    run_check(open_app(PAGE))
    run_check(open_app(PAGE, check="quick"))
    assert [past.report.job.quick for past in history.past()] == [True, False]
    history.keep(Done(report(failed=["mxfp8 wgrad"])))
    at = open_app(PAGE)
    assert notice(at).startswith("Something is wrong here: ")
    options = at.radio(key="run").options
    assert options[0] == "The newest"
    assert [option.split()[1] for option in options[1:]] == ["3.", "2.", "1."]
    at.radio(key="run").set_value(1).run()
    assert at.query_params == {"run": "1"}
    assert notice(at).startswith(FINE)
    assert notice(open_app(PAGE, run="3")).startswith("Something is wrong here: ")


def test_a_new_check_is_shown_though_an_old_one_was_picked(open_app, history):
    history.keep(Done(report(failed=["mxfp8 wgrad"])))
    at = open_app(PAGE, run="1")
    assert notice(at).startswith("Something is wrong here: ")
    run_check(at)
    assert notice(at).startswith(FINE)
    assert at.query_params == {}


def test_a_check_whose_session_is_gone_is_kept(open_app, workers, history, gates):
    gates.close(Gate.CHECK)
    at = open_app(PAGE)
    press(at, "Run")
    del at
    other = open_app(PAGE)
    assert "A check of another session waits or runs" in texts(other)
    gates.open(Gate.CHECK)
    run_until(other, lambda at: notice(at).startswith(FINE))
    assert "another session" not in texts(other)


def test_a_gemm_in_the_queue_does_not_hide_the_report(open_app, workers, history):
    history.keep(Done(report()))
    at = open_app("pages/live_gemm.py", m="64", n="64", k="64", seed=str(int(Act.HANG)))
    press(at, "Run on the GPU")
    at.switch_page(PAGE).run()
    assert notice(at).startswith(FINE)
    assert not is_quiet(at)
    press(at, "Stop")


def test_a_check_that_ends_while_the_page_is_drawn_is_shown(open_app, workers, monkeypatch):
    at = open_app(PAGE)
    draw_queue = gpu_queue.draw_queue

    def draw_late(draw_partial):
        wait_for_ends(workers.queue, gpu_queue.st.session_state[gpu_queue._STATE_KEY].tickets)
        draw_queue(draw_partial)

    monkeypatch.setattr(gpu_queue, "draw_queue", draw_late)
    press(at, "Run")
    assert is_quiet(at)
    assert notice(at).startswith(FINE)
    assert not next(button for button in at.button if button.label == "Run").disabled


def test_a_check_that_ends_just_after_the_page_looked_is_shown(open_app, workers, monkeypatch):
    at = open_app(PAGE)
    past = History.past

    def past_and_wait(self):
        checks = past(self)
        wait_for_ends(workers.queue, self._open)
        return checks

    monkeypatch.setattr(History, "past", past_and_wait)
    press(at, "Run")
    assert is_quiet(at)
    assert notice(at).startswith(FINE)


@pytest.mark.usefixtures("without_gpu")
def test_without_a_gpu_the_reason_stands_there_and_the_rest_can_be_run(open_app, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    at = open_app(PAGE)
    assert "nvidia-smi lists no GPU on this server, so" in texts(at)
    assert "No GPU here: the interpreter checks them on the CPU, without speed." in notice(at)
    assert "How fast is it?" not in squares(at)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "CUDA_VISIBLE_DEVICES leaves this server no GPU, so" in texts(open_app(PAGE))
    press(at, "Run in Triton's interpreter")
    run_until(at, is_quiet)
    assert not at.exception
    assert notice(at).startswith(FINE)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (INTERPRETED, "There is no NVIDIA GPU here: nvidia-smi lists none and torch finds none."),
        (NO_TORCH, "torch is not installed: pip install -r requirements.txt"),
    ],
    ids=["no GPU", "no torch"],
)
def test_a_report_without_a_gpu_says_why(open_app, history, facts, words):
    history.keep(Done(report(facts)))
    at = open_app(PAGE)
    assert not at.exception
    assert words in texts(at).replace("\\", "")
    assert not at.get("vega_lite_chart")
    assert "What this GPU can do:" not in texts(at)


def test_slow_lines_are_drawn_against_the_record(open_app, history):
    history.keep(Done(report(share=0.61)))
    at = open_app(PAGE)
    assert any("power-capped at 450 W" in one.value for one in at.markdown)
    bars = sent_dataset(at.get("vega_lite_chart")[0], PARTS)
    assert {round(share, 3) for share in bars["share"]} == {0.61}
    assert len(bars["group"]) == sum(line.verdict is Verdict.SLOW for line in report(share=0.61).lines)


def test_a_gpu_without_a_record_gets_a_sentence_instead_of_bars(open_app, history):
    history.keep(Done(report(ADA)))
    at = open_app(PAGE)
    assert "Nothing is recorded for the NVIDIA L4" in texts(at)
    assert not at.get("vega_lite_chart")
