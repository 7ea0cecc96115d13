"""Rows as a table of Arrow, which Streamlit sends as it is. By way of pandas it takes ten times as long."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

Table = pa.Table


def arrow_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows, which all have the columns of the first. NaN is left empty, as None is."""
    names = rows[0] if rows else ()
    return pa.table({name: pa.array([row[name] for row in rows], from_pandas=True) for name in names})
