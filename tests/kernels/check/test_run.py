"""Contract: a check goes on past whatever a step does, gives every line a verdict with its sentence, shows
the report so far, and can be stopped. A machine that cannot do FP8 gets the sentence that says so.
"""

import re
import threading
from concurrent.futures import wait
from dataclasses import replace
from types import SimpleNamespace

import pytest
from triton import knobs

from kernels.check import run as runs
from kernels.check.machine import abilities, setup_lines
from kernels.check.render import parts
from kernels.check.report import CheckJob, Facts, Group, Report, Verdict
from kernels.check.run import STOPPED, run
from kernels.device import HOPPER, Unsupported
from kernels.precompile import Compilation
from kernels.typed import from_data, to_data
from tests.kernels.check import reports as machines
from tests.kernels.check.stand_in import StandIn, passed, plan_of, step

JOB = CheckJob()


def check(*steps, facts: Facts = machines.H200, fault: str = "", **rest) -> Report:
    return run(JOB, StandIn((facts,), fault), plan=plan_of(*steps), **rest)


def lines(report: Report) -> dict[str, tuple[Verdict, str]]:
    return {line.name: (line.verdict, line.detail) for line in report.lines if line.group is not Group.SETUP}


def raising(error: BaseException):
    def run_it():
        raise error

    return run_it


class OutOfMemoryError(RuntimeError):
    """As torch.OutOfMemoryError is one."""


def triton_error() -> Exception:
    from triton.compiler.errors import CompilationError

    return CompilationError("x = y", None, "y is not defined")


RAISED = [
    (
        RuntimeError("CUDA error: misaligned address\nmore"),
        Verdict.FAIL,
        "RuntimeError: CUDA error: misaligned",
    ),
    (AssertionError(), Verdict.FAIL, "AssertionError: AssertionError."),
    (OSError("gcc: not found"), Verdict.FAIL, "OSError: gcc: not found."),
    (Unsupported("the kernels round to nearest even"), Verdict.NOT_SUPPORTED, "The kernels round to nearest"),
    (MemoryError("no room"), Verdict.NOT_RUN, "Out of memory: no room."),
    (OutOfMemoryError("CUDA out of memory. Tried"), Verdict.NOT_RUN, "Out of GPU memory: CUDA out of memory"),
    (triton_error(), Verdict.FAIL, "CompilationError: "),
]


@pytest.mark.parametrize(
    ("error", "verdict", "sentence"), RAISED, ids=[type(case[0]).__name__ for case in RAISED]
)
def test_a_step_that_raises_gets_its_verdict_and_the_rest_goes_on(error, verdict, sentence):
    found = lines(check(step("a", raising(error)), step("b")))
    assert found["a"][0] is verdict
    assert found["a"][1].startswith(sentence)
    assert found["b"][0] is Verdict.PASS


def test_after_a_fault_nothing_more_is_asked_of_the_gpu():
    report = check(
        step("a", raising(RuntimeError("boom"))), step("b", raising(ZeroDivisionError())), fault="x"
    )
    assert lines(report) == {
        "a": (Verdict.FAIL, "RuntimeError: boom."),
        "b": (Verdict.NOT_RUN, "The GPU no longer answers: x"),
    }
    assert report.exit_code == 1


BLOCKED = [
    ("A100", {"a": Verdict.NOT_SUPPORTED, "copy": Verdict.PASS}, "No FP8: compute capability 8.0", 2),
    ("FULL", {"a": Verdict.NOT_RUN, "copy": Verdict.NOT_RUN}, "0.1 of 140.0 GiB are free", 1),
    ("BROKEN_TRITON", {"a": Verdict.NOT_RUN, "copy": Verdict.PASS}, "It needs Triton, see above.", 1),
    ("NO_TRITON", {"a": Verdict.NOT_RUN, "copy": Verdict.PASS}, "It needs Triton, see above.", 1),
]


@pytest.mark.parametrize(("name", "verdicts", "sentence", "code"), BLOCKED, ids=[c[0] for c in BLOCKED])
def test_what_a_machine_cannot_do_is_not_run(name, verdicts, sentence, code):
    report = check(step("a"), step("copy", torch_only=True), facts=getattr(machines, name))
    found = lines(report)
    assert {line: verdict for line, (verdict, _) in found.items()} == verdicts
    assert found["a"][1].startswith(sentence)
    assert report.exit_code == code


def test_the_report_so_far_shows_what_is_to_come():
    told = []
    check(step("a"), step("b"), progress=lambda *news: told.append(news))
    assert [(fraction, note) for fraction, note, _ in told] == [
        (0, "gemms: a"),
        (0.5, "gemms: b"),
        (1, "done"),
    ]
    for done, (_, _, partial) in enumerate(told):
        assert not partial.finished
        assert from_data(Report, to_data(partial)) == partial
        waiting = [line.name for line in partial.lines if line.detail == "Not reached yet."]
        assert waiting == ["a", "b"][done:]


@pytest.mark.parametrize("how", ["stopped", "interrupted", "interrupted in facts"])
def test_a_check_that_is_stopped_gives_what_it_has(how):
    polled = iter([False, True])
    machine = StandIn()
    if how == "stopped":
        steps, rest = (step("a"), step("b"), step("c")), {"stopped": lambda: next(polled)}
    else:
        steps, rest = (step("a"), step("b", raising(KeyboardInterrupt())), step("c")), {}
    if how == "interrupted in facts":
        machine.facts = lambda device: raising(KeyboardInterrupt())()
    report = run(JOB, machine, plan=plan_of(*steps), **rest)
    assert (report.exit_code, report.finished) == (130, False)
    if how == "interrupted in facts":
        assert report.lines == ()
        assert report.facts.python
    else:
        assert lines(report) == {
            "a": (Verdict.PASS, "As it should be."),
            "b": (Verdict.NOT_RUN, STOPPED),
            "c": (Verdict.NOT_RUN, STOPPED),
        }


def test_a_check_that_gave_way_goes_on_where_its_report_ends():
    told: list[Report] = []
    stops = iter([False, True])
    check(step("a"), step("b"), progress=lambda *news: told.append(news[2]), stopped=lambda: next(stops))
    so_far = replace(told[-1], started="2026-11-20T00:00:00+00:00", seconds=30.0)
    ran: list[str] = []

    def noted(name):
        return step(name, lambda: ran.append(name) or [passed(Group.GEMMS, name)])

    report = check(noted("a"), noted("b"), so_far=so_far)
    assert ran == ["b"]
    assert lines(report) == dict.fromkeys("ab", (Verdict.PASS, "As it should be."))
    assert (report.finished, report.started) == (True, so_far.started)
    assert 30.0 <= report.seconds < 60.0


class Pool:
    """Processes that need a moment for each code."""

    def __init__(self, processes, device):
        self.codes: dict[tuple, Compilation] = {}
        self.compile_for = lambda device: None

    def submit(self, *code):
        if code not in self.codes:
            self.codes[code] = Compilation()
            threading.Timer(0.05, self.codes[code].set_result, [""]).start()
        return self.codes[code]

    def wait(self, tell):
        wait(self.codes.values())

    def stop(self):
        pass


def test_a_step_waits_for_what_processes_that_started_early_compile(monkeypatch):
    monkeypatch.setattr(runs, "current_device", lambda: HOPPER)
    early, before = Pool(4, None), []
    one = step(
        "a",
        lambda: before.append([code.done() for code in early.codes.values()]) or [passed(Group.GEMMS, "a")],
    )
    check(replace(one, codes=lambda device: [(Pool,)]), helped=lambda steps: runs.Ahead(steps, 4, early))
    assert before == [[True]]


def test_a_check_goes_on_alone_where_no_process_can_start(monkeypatch):
    monkeypatch.setattr(runs, "current_device", lambda: HOPPER)
    early = Pool(4, None)
    monkeypatch.setattr(early, "submit", lambda *code: raising(OSError("no more processes"))())
    steps = (step(name, codes=lambda device, name=name: [(Pool, name)]) for name in "ab")
    report = check(*steps, helped=lambda steps: runs.Ahead(steps, 4, early))
    assert lines(report) == dict.fromkeys("ab", (Verdict.PASS, "As it should be."))


@pytest.mark.parametrize("compiles", [False, True])
def test_a_report_says_where_the_time_went(monkeypatch, compiles):
    monkeypatch.setattr(runs, "Precompile", Pool)
    monkeypatch.setattr(runs, "current_device", lambda: HOPPER)
    monkeypatch.setattr(runs, "_LEAST_S", 0.0)

    def launch():
        times = SimpleNamespace(total=1_500_000)
        knobs.compilation.listener(src=None, metadata={}, cache_hit=not compiles, times=times)
        return [passed(Group.GEMMS, "a")]

    one = replace(step("a", launch), codes=lambda device: [(launch,), (launch,)])
    speed = replace(step("b", lambda: [passed(Group.SPEED, "b")]), group=Group.SPEED)
    report = check(one, speed, helped=lambda steps: runs.Ahead(steps, 4))
    names = [phase.partition(":")[0] for phase in report.phases]
    assert names[:4] == ["setup", "waiting for what is compiled ahead", "gemms", "speed"]
    assert (names[4:] == ["compiled ahead", "compiled by the check itself"]) is compiles
    if compiles:
        assert re.match(r"compiled ahead: 1 parts in 0.1 s, the first after 0.1 s \(4 proc", report.phases[4])
        assert report.phases[5].endswith(": 1 kernels in 1.5 s")
    assert from_data(Report, to_data(report)) == report
    shown = "".join(map(str, parts(report)))
    assert all(phase in shown for phase in report.phases)


ABLE = {
    "H200": (machines.H200, {"fp8"}),
    "ADA": (machines.ADA, {"fp8"}),
    "B200": (machines.B200, {"fp8", "block_scaled", "stochastic_cast"}),
    "RTX_5090": (machines.RTX_5090, {"fp8", "block_scaled"}),
    "A100": (machines.A100, set()),
    "ROCM": (machines.ROCM, set()),
    "NO_GPU": (machines.NO_GPU, set()),
    "NO_TORCH": (machines.NO_TORCH, set()),
}


@pytest.mark.parametrize(("facts", "able"), ABLE.values(), ids=ABLE)
def test_a_gpu_can_do_what_its_generation_can(facts, able):
    found = abilities(facts)
    assert {ability.name for ability in found if ability.available} == able
    assert len(found) == 3
    assert all(ability.reason.endswith(".") and ability.title for ability in found)


@pytest.mark.parametrize("facts", [machines.H200, machines.ADA, machines.B200, machines.RTX_5090])
def test_a_sound_machine_passes(facts):
    lines = setup_lines(facts)
    assert [line.name for line in lines] == ["torch", "GPU", "memory", "Triton"]
    assert {line.verdict for line in lines} == {Verdict.PASS}
    assert {line.group for line in lines} == {Group.SETUP}


BROKEN = [
    ("NO_GPU", "GPU", Verdict.NOT_SUPPORTED, "There is no NVIDIA GPU here"),
    ("A100", "GPU", Verdict.NOT_SUPPORTED, "A100-SXM4-80GB has no FP8: compute capability 8.0; .* at 8.9"),
    ("NO_CUDA", "GPU", Verdict.NOT_SUPPORTED, r"lists 2 GPUs, but this torch, 2.11.0\+cpu, is built without"),
    ("DRIVER_TOO_OLD", "GPU", Verdict.FAIL, r"lists 1 GPU, .* driver \(470.0\) is too old for CUDA 13.0"),
    ("ROCM", "GPU", Verdict.NOT_SUPPORTED, r"FNUZ .*e4m3fnuz: largest value 240, bias 8.*e4m3 .*448, bias 7"),
    (
        "BUSY",
        "GPU",
        Verdict.FAIL,
        "counts 1, but this GPU cannot be opened: CUDA error: all devices",
    ),
    ("FULL", "memory", Verdict.NOT_RUN, "0.1 of 140.0 GiB are free, a check takes 1 GiB: end what else"),
    ("NO_TORCH", "torch", Verdict.FAIL, "torch is not installed: pip install"),
    ("BROKEN_TORCH", "torch", Verdict.FAIL, "torch cannot be imported: ImportError: libcudart.so.13"),
    ("BROKEN_TRITON", "Triton", Verdict.FAIL, "Triton cannot be imported: ImportError: libtriton.so"),
    ("NO_TRITON", "Triton", Verdict.FAIL, "Triton is not installed: pip install"),
]


@pytest.mark.parametrize(("name", "line", "verdict", "sentence"), BROKEN, ids=[case[0] for case in BROKEN])
def test_what_stands_in_the_way_is_said(name, line, verdict, sentence):
    lines = {found.name: found for found in setup_lines(getattr(machines, name))}
    assert lines[line].verdict is verdict
    assert re.search(sentence, lines[line].detail), lines[line].detail


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("3.3.1", "Triton 3.3.1: the kernels need Triton 3.4 or a later one, and this is 3.3"),
        ("main", "'main'"),
    ],
)
def test_a_triton_that_compiles_no_kernel_is_said_before_any_step(version, said):
    line = setup_lines(replace(machines.H200, triton=version))[-1]
    assert line.verdict is Verdict.FAIL
    assert said in line.detail
