"""Reading the charts of pages back from their specs."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa


def dataset(spec: Mapping[str, Any], name: str) -> dict[str, list]:
    """A named dataset of a filled spec: its columns."""
    with pa.ipc.open_stream(spec["datasets"][name]) as stream:
        return stream.read_all().to_pydict()


def rows(spec: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A named dataset of a filled spec, a dict for each row."""
    return in_rows(dataset(spec, name))


def in_rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Columns of one length, a dict for each row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def sent_dataset(chart: Any, name: str) -> dict[str, list]:
    """A named dataset of a chart that a page sent, as AppTest or a browser gets it."""
    (buffer,) = [one.data.data for one in chart.proto.datasets if one.name == name]
    with pa.ipc.open_stream(buffer) as stream:
        return stream.read_all().to_pydict()
