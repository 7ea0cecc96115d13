"""All chapters in order, and the places in them, such as "scaling.2"."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pages.kit.lesson.chapter import (
    LESSONS,
    PLANS,
    Chapter,
    Plan,
    Step,
    chapter_files,
    read_chapter,
    read_plans,
)
from pages.kit.lesson.facts import facts_of, filled, misfits, truth_of


@dataclass(frozen=True)
class Place:
    chapter: Chapter
    number: int

    @property
    def step(self) -> Step:
        return self.chapter.steps[self.number - 1]

    @property
    def key(self) -> str:
        """Write it for an address and the class's store, such as "scaling.2"."""
        return f"{self.chapter.name}.{self.number}"

    @property
    def words(self) -> str:
        """Write it for the reader, such as "Scales · step 2 of 5"."""
        return f"{self.chapter.title} · step {self.number} of {len(self.chapter.steps)}"

    def parameters(self, is_locked: bool = False) -> dict[str, str]:
        page = facts_of(self.step.page)
        return {**page.query(self.step.settings(is_locked)), "lesson": self.key}


def places_of(chapter: Chapter) -> list[Place]:
    return [Place(chapter, number) for number in range(1, len(chapter.steps) + 1)]


@dataclass(frozen=True)
class Library:
    """Readable chapters, and a sentence for each fault of the others."""

    chapters: tuple[Chapter, ...]
    complaints: tuple[str, ...] = ()
    plans: tuple[Plan, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(place for chapter in self.chapters for place in places_of(chapter))

    @property
    def minutes(self) -> int:
        return sum(chapter.minutes for chapter in self.chapters)

    def chapter(self, name: str) -> Chapter | None:
        return next((chapter for chapter in self.chapters if chapter.name == name), None)

    def place(self, key: str) -> Place | None:
        return next((place for place in self.places if place.key == key), None)

    def plan(self, name: str) -> Plan | None:
        return next((plan for plan in self.plans if plan.name == name), None)

    def moved(self, place: Place, steps: int, plan: Plan | None = None) -> Place | None:
        """The place `steps` further, or back; with a plan, among the plan's."""
        places = [one for one in self.places if plan is None or one == place or one.key in plan.steps]
        index = places.index(place) + steps
        return places[index] if 0 <= index < len(places) else None

    def compute_facts(self) -> None:
        """Compute each step's facts before a class comes. A step shows its own faults."""
        for place in self.places:
            step = place.step
            with suppress(ValueError):
                filled(step.text + step.do, step.settings(is_locked=False))
                if step.predict is not None:
                    filled(step.predict.reveal, step.settings(is_locked=True), truth_of(step))


def library(folder: Path | None = None) -> Library:
    """Chapters of a folder, read anew after a change."""
    folder = folder or LESSONS
    plans = [path for path in (folder / PLANS,) if path.is_file()]
    return _read(tuple((path, path.stat().st_mtime_ns) for path in [*chapter_files(folder), *plans]))


@lru_cache(maxsize=4)
def _read(files: tuple[tuple[Path, int], ...]) -> Library:
    chapters, complaints, plans = [], [], ()
    for path, _ in files:
        if path.name == PLANS:
            plans, faults = read_plans(path)
            complaints += faults
            continue
        chapter, faults = read_chapter(path)
        steps = enumerate(chapter.steps if chapter else (), 1)
        wrong = [
            f"{path.name}, step {number}, `{field}`: {reason}."
            for number, step in steps
            for field, reason in misfits(step)
        ]
        complaints += [*faults, *wrong]
        if chapter is not None and not wrong:
            chapters.append(chapter)
    keys = [place.key for place in Library(tuple(chapters)).places]
    for plan in plans:
        if [*plan.steps] != [key for key in keys if key in plan.steps]:
            complaints.append(f"{PLANS}, plan {plan.name}: a step is not there, or out of order.")
    return Library(tuple(chapters), tuple(complaints), plans)
