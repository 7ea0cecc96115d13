"""The places and answers of a class, in one SQLite file that survives a restart of the server.

It holds random ids, steps, answers and times, and nothing about a person. A server whose file cannot be used
goes on in memory, and `trouble` says why.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernels.paths import TOP

CLASS_FILE = "FP8_EXPLORER_CLASS_FILE"  # the environment's name for the file
USUAL_FILE = TOP / ".class.sqlite"
# Visitors that the file knows at most. A program that invents visitors cannot fill the disk.
STUDENTS_MOST = 5000
ANSWER_LONGEST = 200  # characters of an answer that are kept

_WAIT_S = 2.0  # seconds that a statement waits for another process with the same file
_MEMORY = ":memory:"
_OPEN = "open"
_TABLES = """
CREATE TABLE IF NOT EXISTS students (number INTEGER PRIMARY KEY, visitor TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS places (
    visitor TEXT PRIMARY KEY, step TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    step TEXT NOT NULL, visitor TEXT NOT NULL, answer TEXT NOT NULL, is_right INTEGER NOT NULL,
    time REAL NOT NULL, PRIMARY KEY (step, visitor)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS flags (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_EVERY_TABLE = ("students", "places", "answers", "flags")
_MAKING = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer: who gave it, as a student's number; `time` counts seconds as time.time() does."""

    step: str
    student: int
    answer: str
    is_right: bool
    time: float


class Store:
    def __init__(self, path: Path | str) -> None:
        # A sentence on why nothing is kept beyond this server's end; None where the file is in use
        self.trouble: str | None = None
        self._name = Path(path).name
        self._lock = threading.RLock()
        try:
            self._connection = _opened(path)
        except sqlite3.Error as error:
            self._connection = _opened(_MEMORY)
            self._complain(error)

    def save_place(self, visitor: str, step: str) -> None:
        if self.place_of(visitor) == step or not self._enroll(visitor):
            return
        self._run("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", visitor, step, time.time())

    def place_of(self, visitor: str) -> str | None:
        return self._one("SELECT step FROM places WHERE visitor = ?", visitor)

    def save_answer(self, visitor: str, step: str, answer: str, is_right: bool) -> None:
        """Keep a visitor's answer to a step. The first one stays."""
        if self._enroll(visitor):
            values = (step, visitor, answer[:ANSWER_LONGEST], bool(is_right), time.time())
            self._run("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", *values)

    def answer_of(self, visitor: str, step: str) -> str | None:
        return self._one("SELECT answer FROM answers WHERE step = ? AND visitor = ?", step, visitor)

    def answers_to(self, step: str) -> tuple[str, ...]:
        rows = self._run("SELECT answer FROM answers WHERE step = ? ORDER BY time", step)
        return tuple(answer for (answer,) in rows)

    def places(self) -> dict[str, str]:
        return dict(self._run("SELECT visitor, step FROM places"))

    def students(self) -> dict[str, int]:
        """The number of each visitor, from 1, in the order in which they came."""
        return dict(self._run("SELECT visitor, number FROM students ORDER BY number"))

    def answers(self) -> tuple[Answer, ...]:
        rows = self._run(
            "SELECT step, number, answer, is_right, time FROM answers JOIN students USING (visitor) "
            "ORDER BY step, time, number"
        )
        return tuple(
            Answer(step=step, student=number, answer=answer, is_right=bool(is_right), time=when)
            for step, number, answer, is_right, when in rows
        )

    def show(self, step: str, is_shown: bool) -> None:
        self._flag(f"shown {step}", is_shown)

    def is_shown(self, step: str) -> bool:
        return self._has_flag(f"shown {step}")

    def open(self, is_open: bool) -> None:
        """Begin a class, or end it. While it is open, students' pages ask what the teacher does."""
        self._flag(_OPEN, is_open)

    @property
    def is_open(self) -> bool:
        return self._has_flag(_OPEN)

    def reset(self) -> None:
        """Forget every student, place and answer, and what is shown. An open class stays open."""
        with self._lock:
            was_open = self.is_open
            for table in _EVERY_TABLE:
                self._run(f"DELETE FROM {table}")
            self.open(was_open)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _flag(self, name: str, is_set: bool) -> None:
        wish = "INSERT OR IGNORE INTO flags VALUES (?)" if is_set else "DELETE FROM flags WHERE name = ?"
        self._run(wish, name)

    def _has_flag(self, name: str) -> bool:
        return self._one("SELECT 1 FROM flags WHERE name = ?", name) is not None

    def _enroll(self, visitor: str) -> bool:
        """Give a new visitor a number. Returns False where there are too many."""
        known = "SELECT 1 FROM students WHERE visitor = ?"
        if self._one(known, visitor) is None:
            self._run(
                "INSERT OR IGNORE INTO students (visitor) SELECT ? WHERE (SELECT count(*) FROM students) < ?",
                visitor,
                STUDENTS_MOST,
            )
        return self._one(known, visitor) is not None

    def _one(self, statement: str, *values: object) -> str | None:
        rows = self._run(statement, *values)
        return rows[0][0] if rows else None

    def _run(self, statement: str, *values: object) -> list[tuple]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                self._leave_the_file(error)
                return self._connection.execute(statement, values).fetchall()

    def _leave_the_file(self, error: sqlite3.Error) -> None:
        failed, self._connection = self._connection, _opened(_MEMORY)
        for table in _EVERY_TABLE:
            try:
                rows = failed.execute(f"SELECT * FROM {table}").fetchall()
            except sqlite3.Error:
                continue
            if rows:
                places = ", ".join("?" * len(rows[0]))
                self._connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)
        failed.close()
        self._complain(error)

    def _complain(self, error: sqlite3.Error) -> None:
        self.trouble = (
            f"The class's file {self._name} cannot be used ({error}). Answers and progress are kept in "
            f"memory, until the server ends. Move the file away, or name another one in {CLASS_FILE}, and "
            "start the server again."
        )


def store() -> Store:
    """The one store of this server. It is no cache of Streamlit's, which any visitor can empty."""
    with _MAKING:
        return _store_at(class_file())


def class_file(environment: Mapping[str, str] = os.environ) -> Path:
    return Path(environment.get(CLASS_FILE) or USUAL_FILE)


@lru_cache(maxsize=64)
def _store_at(path: Path) -> Store:
    return Store(path)


def _opened(path: Path | str) -> sqlite3.Connection:
    """A connection whose statements are each a transaction of its own.

    With a log beside the file, a change needs no wait for the disk, and a killed server loses nothing.
    """
    connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
        # An unwritable file is opened without a word: a change to no row tells.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM flags WHERE name IS NULL")
        connection.execute("COMMIT")
        (health,) = connection.execute("PRAGMA quick_check").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError("it is damaged")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
