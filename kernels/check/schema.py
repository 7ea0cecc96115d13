"""The JSON of --json, as a JSON Schema (draft 2020-12): {"format": 1, "reports": [one a GPU]}."""

from typing import Any

from kernels.check.report import Group, Verdict

FORMAT = 1
"""Counted up where an old reader could no longer read the document."""


def _object(properties: dict[str, Any], *, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _or_null(kind: str, description: str) -> dict[str, Any]:
    return {"type": [kind, "null"], "description": description}


_VERSIONS = {"type": "object", "additionalProperties": {"type": "string"}}
_COUNT = {"type": "integer", "minimum": 0}
_JOB = _object({"quick": {"type": "boolean"}, "device": _COUNT})
_FACTS = _object(
    {
        "system": _text("operating system and processor"),
        "python": _text("version of Python"),
        "torch": _or_null("string", "version, null where not installed"),
        "torch_error": _text("why it could not be imported, else empty"),
        "triton": _or_null("string", "version, null where not installed"),
        "triton_error": _text("why it could not be imported, else empty"),
        "cuda": _or_null("string", "the CUDA that torch was built for"),
        "hip": _or_null("string", "the ROCm that torch was built for"),
        "driver": _or_null("string", "version of the NVIDIA driver"),
        "seen_gpus": _or_null("integer", "how many GPUs nvidia-smi lists"),
        "gpus": _COUNT | {"description": "how many GPUs torch can use"},
        "gpu": _or_null("string", "the GPU's name"),
        "gpu_error": _text("why a GPU that torch counts could not be opened, else empty"),
        "architecture": _text("AMD's name of the architecture, else empty"),
        "interpreted": {"type": "boolean", "description": "Triton's interpreter on the CPU, no GPU"},
        "capability": {
            "type": ["array", "null"],
            "items": _COUNT,
            "minItems": 2,
            "maxItems": 2,
            "description": "compute capability [major, minor]",
        },
        "sms": _COUNT,
        "memory_bytes": _COUNT,
        "free_bytes": _COUNT | {"description": "when the check started"},
        "clock_mhz": _or_null("number", "SM clock at rest"),
        "max_clock_mhz": _or_null("number", "highest SM clock"),
        "power_w": _or_null("number", "power drawn at rest"),
        "power_limit_w": _or_null("number", "power limit in force"),
        "default_power_limit_w": _or_null("number", "power limit as delivered"),
    }
)
_ABILITY = _object(
    {
        "name": _text("fp8, block_scaled or stochastic_cast"),
        "title": _text("the field's term"),
        "available": {"type": "boolean"},
        "reason": _text("what says so, in a sentence"),
    }
)
_FIGURE = _object({"name": _text("what is counted"), "value": {"type": "number"}, "unit": _text("or empty")})
_REFERENCE = _object(
    {
        "value": {"type": "number", "description": "in the unit of the line's first figure"},
        "gpu": _text("the GPU model"),
        "date": _text("when it was recorded, ISO 8601"),
        "versions": _VERSIONS,
    }
)
_LINE = _object(
    {
        "name": _text("unique in its group"),
        "group": {"enum": [group.value for group in Group]},
        "verdict": {"enum": [verdict.value for verdict in Verdict]},
        "detail": _text("a sentence for the reader"),
        "figures": _list(_FIGURE),
        "reference": {"anyOf": [_REFERENCE, {"type": "null"}]},
    }
)
REPORT = _object(
    {
        "job": _JOB,
        "facts": _FACTS,
        "abilities": _list(_ABILITY),
        "lines": _list(_LINE),
        "started": _text("UTC, ISO 8601"),
        "seconds": {"type": "number", "minimum": 0},
        "finished": {"type": "boolean", "description": "false where it was stopped before the end"},
        "exit_code": {"enum": [0, 1, 2, 130]},
    }
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "python -m kernels.check --json",
    **_object({"format": {"const": FORMAT}, "reports": _list(REPORT)}),
}
"""NaN and infinity do not occur: a figure that has no value is left out."""
