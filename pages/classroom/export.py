"""The answers of a class as a table for a spreadsheet."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, datetime

import streamlit as st

from pages.kit.classroom.store import Answer, store
from pages.kit.lesson.chapter import number_in

HEAD = ("step", "answer", "right", "time", "student")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def draw_export() -> None:
    """Draw the button that downloads all answers."""
    st.download_button(
        "Answers as CSV",
        data=lambda: csv_of(store().answers()),
        file_name="class.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="class_csv",
    )


def csv_of(answers: Iterable[Answer]) -> bytes:
    """The answers, a line each, times in UTC. A spreadsheet takes none of them for a formula."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(HEAD)
    for one in answers:
        when = datetime.fromtimestamp(one.time, UTC).isoformat(timespec="seconds")
        right = "yes" if one.is_right else "no"
        table.writerow([inert(one.step), inert(one.answer), right, when, one.student])
    # The mark at the start tells Excel that this is UTF-8.
    return text.getvalue().encode("utf-8-sig", errors="replace")


def inert(text: str) -> str:
    """The text, with an apostrophe before what a spreadsheet would compute. A number stays one."""
    return f"'{text}" if text.startswith(_FORMULA) and number_in(text) is None else text
