"""All views: each section of each page, as the program itself lists them."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from urllib.parse import urlencode

from pages.kit.lesson.library import Place, library
from pages.kit.widgets import Choice
from tests.serving import TOP

SHOW = "SHOW"
"""The name by which a page's script imports the control of its sections."""
_PAGE = re.compile(r'Page\("pages/(\w+)\.py"')
_DEFAULT = "start"


@dataclass(frozen=True)
class View:
    """One section of a page; a page without sections is one view."""

    page: str
    section: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.page, self.section)))

    @property
    def path(self) -> str:
        """The address of its page."""
        return "" if self.page == _DEFAULT else self.page

    @property
    def address(self) -> str:
        """The address that opens it, whatever the session showed before."""
        choice = sections(self.page)
        return f"{self.path}?{choice.key}={choice.text(self.section)}" if choice else self.path


PAGES = tuple(_PAGE.findall((TOP / "app.py").read_text(encoding="utf-8")))
"""The names of all pages, in the order of the story."""


@cache
def sections(page: str) -> Choice | None:
    """The control of a page's sections; None where it has none."""
    script = ast.parse((TOP / "pages" / f"{page}.py").read_text(encoding="utf-8"))
    imports = [node for node in script.body if isinstance(node, ast.ImportFrom)]
    modules = [node.module for node in imports if SHOW in [one.name for one in node.names]]
    return getattr(import_module(modules[0]), SHOW) if modules else None


@dataclass(frozen=True)
class Step:
    """A step of the lesson beside its page."""

    place: Place

    def __str__(self) -> str:
        return self.place.key

    @property
    def address(self) -> str:
        """The address that opens it on its page, with the page as the step wants it."""
        return f"{self.place.step.page}?{urlencode(self.place.parameters())}"

    @property
    def view(self) -> View:
        """The section of its page that it stands beside."""
        step = self.place.step
        choice = sections(step.page)
        return View(step.page, step.set.get(choice.key, choice.default) if choice else "")


def views(page: str) -> list[View]:
    """The views of a page, its first section first."""
    choice = sections(page)
    return [View(page, section) for section in choice.options] if choice else [View(page)]


VIEWS = [view for page in PAGES for view in views(page)]
STEPS = [Step(place) for place in library().places]
