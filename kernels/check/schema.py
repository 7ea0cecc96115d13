"""The JSON of --json (Document) and its JSON Schema (draft 2020-12), made from a report's dataclasses."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from kernels.check.report import HEADLINES, Report
from kernels.typed import to_data

FORMAT = 1
"""Counted up where an old reader could no longer read the document."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """One report a GPU."""

    format: Literal[1]
    reports: tuple[Report, ...]


def document(reports: Sequence[Report]) -> str:
    """The JSON of reports, each with its exit code.

    NaN and infinity do not occur: a figure that has no value is left out.
    """
    told = [to_data(report) | {"exit_code": report.exit_code} for report in reports]
    data = {"format": FORMAT, "reports": told}
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def schema() -> dict[str, Any]:
    """msgspec's schema of a document, of which every field is written and no other."""
    made = msgspec.json.schema(Document)
    made["$defs"]["Report"]["properties"]["exit_code"] = {"enum": list(HEADLINES)}
    for kind in made["$defs"].values():
        if "properties" in kind:
            kind |= {"required": list(kind["properties"]), "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "python -m kernels.check --json",
        **made,
    }
