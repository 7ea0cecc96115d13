"""A server's classes: places, rounds and answers, in one SQLite file, without anything personal.

If the file cannot be used, the server continues in memory, and `trouble` says why.

Each change is one statement that names what its reader saw: of two concurrent changes (two teachers, or a
student and a reveal) the first counts.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from kernels.paths import TOP

CLASS_FILE = "FP8_EXPLORER_CLASS_FILE"  # the environment's name for the file
USUAL_FILE = TOP / ".class.sqlite"
# Visitors that a class knows at most. A program that invents visitors cannot fill the disk.
STUDENTS_MOST = 5000
ANSWER_LONGEST = 200  # characters of an answer that are kept
ROUNDS = 2  # votes on a step: before and after talking
FORGOTTEN_S = 12 * 3600.0  # a class that nobody ended is over by then

_WAIT_S = 2.0  # seconds that a statement waits for another process with the same file
_MEMORY = ":memory:"
_ALONE = 0  # the number of the class of those who are in none
_NOW = f"(SELECT coalesce(max(number), {_ALONE}) FROM classes WHERE is_open)"
_TABLES = """
CREATE TABLE IF NOT EXISTS classes (
    number INTEGER PRIMARY KEY, is_open INTEGER NOT NULL, begun REAL NOT NULL, plan TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS members (
    class INTEGER NOT NULL, visitor TEXT NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (class, visitor), UNIQUE (class, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (
    visitor TEXT PRIMARY KEY, step TEXT NOT NULL, time REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rounds (
    class INTEGER NOT NULL, step TEXT NOT NULL, number INTEGER NOT NULL, is_revealed INTEGER NOT NULL,
    PRIMARY KEY (class, step)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS votes (
    class INTEGER NOT NULL, step TEXT NOT NULL, round INTEGER NOT NULL, visitor TEXT NOT NULL,
    answer TEXT NOT NULL, is_right INTEGER NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (class, step, round, visitor)) WITHOUT ROWID;
"""
_VOTE = f"""
INSERT OR IGNORE INTO votes SELECT {_NOW}, ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (
    SELECT 1 FROM rounds WHERE class = {_NOW} AND step = ?1 AND (is_revealed OR number <> ?2))
"""
_EVERY_TABLE = ("classes", "members", "places", "rounds", "votes")
_MAKING = threading.Lock()


class Answer(NamedTuple):
    """`time` as of time.time()."""

    class_number: int
    step: str
    round: int
    student: int
    answer: str
    is_right: bool
    time: float


@dataclass(frozen=True)
class Round:
    """A class's vote on a step: its number, from 1, and whether the truth is out."""

    number: int = 1
    is_revealed: bool = False


class Store:
    def __init__(self, path: Path | str, clock: Callable[[], float] = time.time) -> None:
        # A sentence on why nothing is kept beyond this server's end; None where the file is in use
        self.trouble: str | None = None
        self._name = Path(path).name
        self._clock = clock
        self._lock = threading.RLock()
        try:
            self._connection = _opened(path)
        except sqlite3.Error as error:
            self._connection = _opened(_MEMORY)
            self._complain(error)

    def save_place(self, visitor: str, step: str) -> None:
        if self._enroll(visitor) and self.place_of(visitor) != step:
            self._run("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", visitor, step, self._clock())

    def place_of(self, visitor: str) -> str | None:
        return self._one("SELECT step FROM places WHERE visitor = ?", visitor)

    def save_answer(self, visitor: str, step: str, answer: str, is_right: bool, number: int = 1) -> None:
        """Keep a visitor's first answer in round `number`; drop it if the class has gone on."""
        if self._enroll(visitor):
            self._run(_VOTE, step, number, visitor, answer[:ANSWER_LONGEST], bool(is_right), self._clock())

    def answer_of(self, visitor: str, step: str, number: int | None = None) -> str | None:
        """A visitor's answer in round `number`, or the last one; outside a class, from any class."""
        return self._one(
            "SELECT answer FROM votes WHERE visitor = ?1 AND step = ?2 AND (round = ?3 OR ?3 IS NULL) "
            f"AND (class = {_NOW} OR {_NOW} = {_ALONE}) ORDER BY time DESC, round DESC",
            *(visitor, step, number),
        )

    def answers_to(self, step: str, number: int = 1) -> tuple[str, ...]:
        rows = self._run(
            f"SELECT answer FROM votes WHERE class = {_NOW} AND step = ? AND round = ? ORDER BY time",
            *(step, number),
        )
        return tuple(answer for (answer,) in rows)

    def places(self) -> dict[str, str]:
        return dict(self._run("SELECT visitor, step FROM places"))

    def students(self) -> dict[str, int]:
        """Number of each visitor of the present class, from 1."""
        return dict(self._run(f"SELECT visitor, number FROM members WHERE class = {_NOW} ORDER BY number"))

    def answers(self) -> tuple[Answer, ...]:
        """All answers, also of earlier classes and of readers outside a class (0)."""
        rows = self._run(
            "SELECT class, step, round, number, answer, is_right, time FROM votes "
            "JOIN members USING (class, visitor) ORDER BY class, step, round, time, number"
        )
        return tuple(Answer(*rest, bool(is_right), when) for *rest, is_right, when in rows)

    def round_of(self, step: str) -> Round | None:
        """Return a step's vote; None without an open class."""
        rows = self._run(
            "SELECT rounds.number, is_revealed FROM classes LEFT JOIN rounds "
            f"ON class = classes.number AND step = ? WHERE classes.number = {_NOW}",
            step,
        )
        if not rows:
            return None
        ((number, is_revealed),) = rows
        return Round() if number is None else Round(number, bool(is_revealed))

    def reveal(self, step: str, round_number: int) -> None:
        """Let the truth out if this round is still the current one."""
        self._run(
            f"INSERT INTO rounds SELECT {_NOW}, ?1, ?2, 1 WHERE {_NOW} <> {_ALONE} "
            "ON CONFLICT DO UPDATE SET is_revealed = 1 WHERE number = ?2",
            *(step, round_number),
        )

    def vote_again(self, step: str, round_number: int) -> None:
        """Begin the round after this one, unless the truth is out."""
        if round_number < ROUNDS:
            self._run(
                f"INSERT INTO rounds SELECT {_NOW}, ?1, 2, 0 WHERE {_NOW} <> {_ALONE} "
                "ON CONFLICT DO UPDATE SET number = number + 1 WHERE number = ?2 AND NOT is_revealed",
                *(step, round_number),
            )

    def open(self, is_open: bool) -> None:
        """Begin a class with nobody in it, or end it. An open class of the same day continues."""
        if not is_open:
            self._run("UPDATE classes SET is_open = 0")
            return
        now = self._clock()
        self._run("UPDATE classes SET is_open = 0 WHERE begun < ?", now - FORGOTTEN_S)
        self._run(
            "INSERT INTO classes (is_open, begun, plan) SELECT 1, ?, '' "
            "WHERE NOT EXISTS (SELECT 1 FROM classes WHERE is_open)",
            now,
        )

    @property
    def number(self) -> int:
        """Number of the present class; 0 if none is open."""
        return self._run(f"SELECT {_NOW}")[0][0]

    @property
    def is_open(self) -> bool:
        return self.number != _ALONE

    def follow_plan(self, plan: str) -> None:
        self._run(f"UPDATE classes SET plan = ? WHERE number = {_NOW}", plan)

    @property
    def plan(self) -> str:
        return self._one(f"SELECT plan FROM classes WHERE number = {_NOW}") or ""

    def reset(self) -> None:
        """Forget students, places and answers of every class. An open class stays open."""
        with self._lock:
            was_open = self.is_open
            for table in _EVERY_TABLE:
                self._run(f"DELETE FROM {table}")
            self.open(was_open)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _enroll(self, visitor: str) -> bool:
        """Number a new visitor of the class. Returns False at the limit."""
        membership = f"SELECT 1 FROM members WHERE class = {_NOW} AND visitor = ?"
        if self._one(membership, visitor) is None:
            count = f"(SELECT count(*) FROM members WHERE class = {_NOW})"
            self._run(
                f"INSERT OR IGNORE INTO members SELECT {_NOW}, ?, 1 + {count} WHERE {count} < ?",
                *(visitor, STUDENTS_MOST),
            )
        return self._one(membership, visitor) is not None

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
        file, self._connection = self._connection, _opened(_MEMORY)
        for table in _EVERY_TABLE:
            try:
                rows = file.execute(f"SELECT * FROM {table}").fetchall()
            except sqlite3.Error:
                continue
            if rows:
                places = ", ".join("?" * len(rows[0]))
                self._connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)
        file.close()
        self._complain(error)

    def _complain(self, error: sqlite3.Error) -> None:
        self.trouble = (
            f"The class's file {self._name} cannot be used ({error}). Answers and progress are kept in "
            f"memory, until the server ends. Move the file away, or name another one in {CLASS_FILE}, and "
            "start the server again."
        )


def store() -> Store:
    """This server's store. It is no Streamlit cache, which any visitor can empty."""
    with _MAKING:
        return _store_at(Path(os.environ.get(CLASS_FILE) or USUAL_FILE))


@lru_cache(maxsize=64)
def _store_at(path: Path) -> Store:
    return Store(path)


def _opened(path: Path | str) -> sqlite3.Connection:
    """Open a connection with one transaction a statement.

    With a log beside the file, a change waits for no disk, and a killed server loses nothing.
    """
    connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
        # An unwritable file is opened without a word: a change to no row tells.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM classes WHERE number IS NULL")
        connection.execute("COMMIT")
        (health,) = connection.execute("PRAGMA quick_check").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError("it is damaged")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
