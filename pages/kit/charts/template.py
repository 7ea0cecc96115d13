"""Charts that Altair builds and checks once; a rerun fills in its numbers.

Building one takes tens of milliseconds of the interpreter that all sessions share, and filling one.

    @template
    def bars(ink: Ink) -> alt.Chart:                 # built once for each ink
        rows = alt.Chart(alt.NamedData("rows"), height=number("height", 120)).mark_bar()
        return rows.encode(x=alt.X("us:Q", title=text("title", "time")), y="name:N")

    spec = bars(ink).filled({"rows": {"us": times, "name": names}}, height=24 * len(times), title="µs")
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import altair as alt
import pyarrow as pa

from pages.kit.charts.legible import Spec, legible

Columns = Mapping[str, Any]  # the columns of a dataset: lists, tuples or arrays of one length

# Templates of one function: it takes what changes a chart's structure, such as the ink, and no numbers
KINDS_KEPT = 64

# Held while a chart is built: the sessions that open a page at once wait for the first one's charts
_ONE_AT_A_TIME = threading.RLock()

P = ParamSpec("P")


class Filled(dict[str, Any]):
    """A spec ready to draw. It shares parts with its template: do not change it."""


class _Text(str):
    hole: str
    whole_list: bool = False


class _Number(float):
    hole: str
    whole_list: bool = False


def text(name: str, sample: str) -> str:
    """A string to fill in. Titles break where the sample would: choose a typical length.

    If `axis_title` or `view_title` breaks the title itself, the sample is one short word.
    """
    return _marked(_Text(sample), name)


def number(name: str, sample: float) -> float:
    return _marked(_Number(sample), name)


def several(name: str, sample: Sequence[float] | Sequence[str]) -> list[Any]:
    """A list to fill in as a whole, such as an axis' domain. The sample needs an item."""
    first = sample[0]
    mark = _marked(_Text(first) if isinstance(first, str) else _Number(first), name)
    mark.whole_list = True
    return [mark, *sample[1:]]


def _marked(mark: Any, name: str) -> Any:
    mark.hole = name
    return mark


class Template:
    """Checked spec with holes for values and datasets."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec: Spec = legible(spec)
        self._spine = _spine(self.spec)
        self._names = frozenset(_holes(self._spine))

    def filled(self, datasets: Mapping[str, Columns | bytes] | None = None, /, **values: Any) -> Filled:
        """Fill in values and datasets: columns by name, or bytes from `arrow`."""
        if values.keys() != self._names:
            raise ValueError(f"the chart has the holes {sorted(self._names)}, got {sorted(values)}")
        spec = Filled(_filled(self.spec, self._spine, values))
        if datasets:
            spec["datasets"] = {
                name: columns if isinstance(columns, bytes) else arrow(columns)
                for name, columns in datasets.items()
            }
        return spec


def template(build: Callable[P, alt.TopLevelMixin | Spec]) -> Callable[P, Template]:
    """Cache a template for each call. The arguments change the chart's structure."""

    @lru_cache(maxsize=KINDS_KEPT)
    def build_once(*args: P.args, **kwargs: P.kwargs) -> Template:
        chart = build(*args, **kwargs)
        return Template(chart if isinstance(chart, dict) else chart.to_dict())

    @lru_cache(maxsize=KINDS_KEPT)
    @wraps(build)
    def build_in_turn(*args: P.args, **kwargs: P.kwargs) -> Template:
        with _ONE_AT_A_TIME:
            return build_once(*args, **kwargs)

    return build_in_turn


def by_column(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def arrow(columns: Columns) -> bytes:
    """Encode a dataset as the browser reads it."""
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


# The branches of a spec that hold a hole: by key, the name of a hole or a further spine
_Spine = dict[Any, Any]


def _spine(node: Any) -> _Spine:
    spine: _Spine = {}
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in children:
        if isinstance(child, _Text | _Number):
            spine[key] = child.hole
        elif isinstance(child, list) and child and getattr(child[0], "whole_list", False):
            spine[key] = child[0].hole
        elif isinstance(child, dict | list) and (below := _spine(child)):
            spine[key] = below
    return spine


def _holes(spine: _Spine) -> set[str]:
    return {
        name for child in spine.values() for name in ({child} if isinstance(child, str) else _holes(child))
    }


def _filled(node: Any, spine: _Spine, values: Mapping[str, Any]) -> Any:
    copy = node.copy()
    for key, child in spine.items():
        copy[key] = values[child] if isinstance(child, str) else _filled(node[key], child, values)
    return copy
