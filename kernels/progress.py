"""One line of progress on stderr, if that is a terminal."""

import sys

_WIDTH = 24


class Bar:
    """A bar, redrawn in place while its `with` block runs, then gone."""

    def __init__(self, title: str = "") -> None:
        self._title = f"{title}: " if title else ""
        self._shown = None
        if sys.stderr.isatty():
            # The import takes a tenth of the command's start, and a pipe does not need it.
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self._shown = Progress(
                BarColumn(_WIDTH),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                transient=True,
                auto_refresh=False,  # No thread redraws it: the command may be timing a GPU.
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def __enter__(self) -> "Bar":
        if self._shown is not None:
            self._task = self._shown.add_task(self._title, total=1.0)
            self._shown.start()
        return self

    def draw(self, fraction: float, note: str, partial: object = None) -> None:
        """Show progress, from 0 to 1, and a note; a job's partial result is not shown."""
        if self._shown is not None:
            self._shown.update(
                self._task, completed=fraction, description=f"{self._title}{note}", refresh=True
            )

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            self._shown.stop()
