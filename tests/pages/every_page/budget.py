"""Cost of a change: the interpreter's seconds of a rerun, on values nobody had before.

    python -m tests.pages.every_page.budget --changes 20 --seed 3 accumulation formats

A page is one session. Each change sets one control that is on the screen to a value drawn at random from all
that it accepts, and the page runs again. Counted are the seconds of the processor in the thread that runs the
page: a thread that waits for a process counts nothing. Other users of the machine slow the processor down, so
they only ever add: the least of several measurements of one change is the closest to its cost.
"""

import argparse
import gc
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from streamlit.runtime import context
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.element_tree import Element

from pages.kit.widgets import Choice, Control, Several, Text, Toggle, Whole

TOP = Path(__file__).resolve().parents[3]
PATIENCE_S = 120
WARM_UP = 2
"""Changes that are not counted: each kind of chart is built once a process."""
CALIBRATION_MS = 13.0
"""Milliseconds of the fixed piece on the machine for which the contract was written."""

CONTROLS = {
    "why_fp8": "pages.why_fp8.facts",
    "start": "pages.start.window",
    "tile_layouts": "pages.tile_layouts.facts",
    "compare_recipes": "pages.compare_recipes.facts",
    "formats": "pages.formats.facts",
    "scaling": "pages.scaling.facts",
    "stochastic_rounding": "pages.stochastic_rounding.controls",
    "rotations": "pages.rotations.controls",
    "accumulation": "pages.accumulation.facts",
    "outliers": "pages.outliers.controls",
    "design": "pages.design.draft",
    "live_gemm": "pages.live_gemm.facts",
    "benchmarks": "pages.benchmarks.controls",
    "fused": "pages.fused.facts",
    "loss": "pages.loss.controls",
    "sanity_check": "pages.sanity_check.facts",
    "glossary": "pages.glossary.words",
}


@dataclass(frozen=True)
class Section:
    """A page, and the value of the control that chooses its part; None for a page of one part."""

    page: str
    chooser: str | None = None
    part: str | None = None

    def __str__(self) -> str:
        return f"{self.page} {self.part or ''}".strip()


def controls_of(page: str) -> dict[str, Control]:
    """The controls of a page by key."""
    module = import_module(CONTROLS[page])
    held = [getattr(module, name) for name in ("ALL_CONTROLS", "CONTROLS") if hasattr(module, name)]
    found = held[0] if held else [one for one in vars(module).values() if isinstance(one, Control)]
    return {control.key: control for control in found}


def sections(page: str) -> list[Section]:
    """The parts of a page."""
    module = import_module(CONTROLS[page])
    chooser = getattr(module, "SHOW", None)
    if chooser is None:
        return [Section(page)]
    return [Section(page, chooser.key, part) for part in chooser.options]


def unseen(control: Control, element: Element, chance: random.Random) -> object:
    """A value that the control accepts, drawn at random from all that the page offers at the moment."""
    if isinstance(control, Choice):
        labels = set(element.options)
        return chance.choice([value for value, label in control.options.items() if label in labels])
    if isinstance(control, Toggle):
        return chance.random() < 0.5
    if isinstance(control, Text):
        return f"{chance.uniform(-1e3, 1e3) * 2.0 ** chance.randint(-20, 20):.9g}"[: control.longest]
    if isinstance(control, Several):
        return chance.sample(list(control.options), chance.randint(1, control.most or len(control.options)))
    if isinstance(control, Whole):
        return control.fit(chance.randint(int(element.min), int(element.max)))
    return control.fit(chance.uniform(element.min, element.max))


@contextmanager
def counted_runs() -> Iterator[list[float]]:
    """The processor's seconds of each run of a script, in its own thread.

    The compiled scripts are kept from run to run, as the server keeps them. A server also has a browser's
    cookies ready, where AppTest makes up a client each time that it is asked: here is none.
    """
    found: list[float] = []
    run, scripts, client = ScriptRunner._run_script, ScriptCache(), context._get_client_context

    def timed(self: ScriptRunner, data: object) -> None:
        start = time.thread_time()
        try:
            run(self, data)
        finally:
            found.append(time.thread_time() - start)

    ScriptRunner._run_script = timed
    local_script_runner.ScriptCache = lambda: scripts
    context._get_client_context = lambda: None
    try:
        yield found
    finally:
        ScriptRunner._run_script = run
        local_script_runner.ScriptCache = ScriptCache
        context._get_client_context = client


def changes(section: Section, number: int, seed: int, only: Any = Control) -> list[tuple[float, str]]:
    """The cost in seconds of a number of changes in one section, each with what was set.

    `only` is the class of the controls that are changed.
    """
    chance = random.Random(f"{section} {seed}")
    controls = controls_of(section.page)
    at = AppTest.from_file(str(TOP / "app.py"), default_timeout=PATIENCE_S)
    at.switch_page(f"pages/{section.page}.py")
    if section.chooser is not None:
        at.query_params[section.chooser] = section.part
    costs = []
    with counted_runs() as runs:
        at.run()
        for _ in range(number):
            shown = {key: element for element in at if (key := getattr(element, "key", None)) in controls}
            movable = sorted(
                key for key in shown if key != section.chooser and isinstance(controls[key], only)
            )
            if not movable:
                break
            key = chance.choice(movable)
            value = unseen(controls[key], shown[key], chance)
            at.session_state[key] = value
            del runs[:]
            at.run()
            assert not at.exception, f"{section}, {key}={value}: {at.exception[0].message}"
            costs.append((sum(runs), f"{key}={value}"))
    return costs


def calibration() -> float:
    """The processor's seconds of a fixed piece of Python, which a slow machine takes longer for, too."""

    def work() -> float:
        start = time.thread_time()
        found: dict[int, str] = {}
        for number in range(60_000):
            found[number % 997] = f"{number}:{found.get((number * 7) % 997, '')[:8]}"
        return time.thread_time() - start

    return min(work() for _ in range(5))


def costs_ms(section: Section, number: int, seed: int) -> list[float]:
    """Milliseconds of each change on the contract's machine; none where a section has no control of its own.

    The modules are kept out of garbage collections, as the server does it, and stay so: see `gc.unfreeze`.
    """
    if not changes(section, WARM_UP, seed=seed + 1):
        return []
    gc.collect()
    gc.freeze()
    before_s = calibration()
    costs_s = [cost_s for cost_s, _ in changes(section, number, seed)]
    slowness = 1e3 * max(before_s, calibration()) / CALIBRATION_MS
    return [1e3 * cost_s / slowness for cost_s in costs_s]


def costs_ms_afresh(section: Section, number: int, seed: int) -> list[float]:
    """Run `costs_ms` in a new process, to which no value is known: the same changes, made again.

    A page waits for what it computes in the pool: its first run is its last.
    """
    program = (
        "import json, sys; from pages.kit.computing import compute; "
        "from tests.pages.every_page.budget import Section, costs_ms; "
        f"compute.PATIENCE_S = {PATIENCE_S}; json.dump(costs_ms({section!r}, {number}, {seed}), sys.stdout)"
    )
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return json.loads(answer.stdout)


def main() -> None:
    """Print a line for each section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pages", nargs="*", default=list(CONTROLS))
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    sys.stdout.write(f"calibration {1e3 * calibration():.1f} ms\n")
    for page in asked.pages:
        for section in sections(page):
            costs = changes(section, asked.changes, asked.seed)
            if costs:
                (most, what), middle = max(costs), statistics.median(cost for cost, _ in costs)
                told = f"{1e3 * middle:7.1f} ms median {1e3 * most:7.1f} ms most ({what})"
                sys.stdout.write(f"{section!s:36} {told}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
