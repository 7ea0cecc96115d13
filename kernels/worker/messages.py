"""Messages between parent and worker: one JSON object a line, over the worker's stdin and stdout."""

import json
from typing import Annotated, Any

import msgspec

from kernels.device import Device
from kernels.typed import to_data
from kernels.worker.jobs import Job, Result, packed, unpacked

_SAY = "say"


class _Base(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field=_SAY, tag=str.lower):
    pass


class Do(_Base):
    """Parent: run this job, or go on from `so_far`, its partial result.

    `coming`: jobs that will probably come next; their operands are drawn meanwhile. `simple_first`: give a
    first answer by the simple kernel and stop: the planned one's code is still being compiled.
    """

    run: int
    job: Job
    so_far: Result | None = None
    coming: tuple[Job, ...] = ()
    simple_first: bool = False


class Stop(_Base):
    """Parent: end this run as soon as possible."""

    run: int


class WarmUp(_Base):
    """Parent: prepare for later jobs, while there are none."""


class Ready(_Base):
    """Worker: it has loaded. `gpu`: its GPU; None where kernels are interpreted."""

    gpu: Device | None = None


class Began(_Base):
    run: int


class Progress(_Base):
    """Worker: `fraction` of a run is done. `partial`: the result so far, if its kind of job has one."""

    run: int
    fraction: Annotated[float, msgspec.Meta(ge=0, le=1)]
    note: str
    partial: Result | None = None


class Finished(_Base):
    run: int
    row: Result


class Refused(_Base):
    """Worker: the run is impossible, for a reason in one sentence. The worker goes on."""

    run: int
    reason: str


class Halted(_Base):
    run: int


Message = Do | Stop | WarmUp | Ready | Began | Progress | Finished | Refused | Halted


def encode(message: Message) -> str:
    fields: dict[str, Any] = {_SAY: message.__struct_config__.tag, **msgspec.structs.asdict(message)}
    # Not msgspec's own JSON: it writes NaN, which an error can be, as null.
    return json.dumps(fields, default=_data) + "\n"


def _data(thing: Device | Job | Result) -> dict[str, Any]:
    return to_data(thing) if isinstance(thing, Device) else packed(thing)


def decode(line: str) -> Message:
    """The inverse of encode. Raises ValueError for a line that is no message."""
    try:
        fields = json.loads(line)
    except RecursionError as error:
        raise ValueError("a message is no such nest of lists and objects") from error
    return msgspec.convert(fields, Message, dec_hook=unpacked)
