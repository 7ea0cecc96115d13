"""The tuner's results so far: a file beside the table, which grows by one finished GEMM at a time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.files import replace_file
from kernels.gemm.tuned import Measurement, Tuned, read_table
from kernels.typed import from_data, to_data

Found = Mapping[str, tuple[Tuned, ...]]


@dataclass(frozen=True)
class TuneState:
    """A file of finished GEMMs, one JSON object a line: {key, measurement, plans}."""

    path: Path

    @classmethod
    def beside(cls, table: Path) -> "TuneState":
        return cls(table.with_suffix(".unfinished.jsonl"))

    def read(self) -> dict[str, tuple[Tuned, ...]]:
        """The plans of every finished GEMM by its key; a last line that was cut off is dropped.

        Raises ValueError naming a line that is something else.
        """
        if not self.path.exists():
            return {}
        found = {}
        *lines, _ = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                data = json.loads(line)
                measurement = from_data(Measurement, data["measurement"])
                found[data["key"]] = tuple(Tuned.read(row, measurement) for row in data["plans"])
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ValueError(
                    f"{self.path.name}, line {number} is not a finished GEMM: {error}; delete the file to "
                    "start over"
                ) from error
        return found

    def append(self, key: str, measurement: Measurement, plans: Sequence[Tuned]) -> None:
        """Keep one finished GEMM, whole or not at all. A line that was cut off earlier is ended first."""
        data = {"key": key, "measurement": to_data(measurement), "plans": [plan.written() for plan in plans]}
        kept = self.path.read_bytes() if self.path.exists() else b""
        whole = kept[: kept.rfind(b"\n") + 1]
        replace_file(self.path, whole + (json.dumps(data, ensure_ascii=False) + "\n").encode())

    def clear(self) -> None:
        self.path.unlink(missing_ok=True)


def merge_into(path: Path, found: Found) -> int:
    """Put the plans of finished GEMMs into a table and return how many it then has.

    They replace plans of the same family and class. Raises ValueError where the file is no table.
    """
    new = [plan for plans in found.values() for plan in plans]
    renewed = {(plan.family, plan.shape) for plan in new}
    kept = [plan for plan in read_table(path) if (plan.family, plan.shape) not in renewed]
    plans = sorted(kept + new, key=lambda plan: (plan.family, plan.shape, plan.median_us))
    measurements: list[Measurement] = []
    for plan in plans:
        if plan.measurement not in measurements:
            measurements.append(plan.measurement)
    rows = [plan.written() | {"measurement": measurements.index(plan.measurement)} for plan in plans]
    header = json.dumps([to_data(measurement) for measurement in measurements], ensure_ascii=False)
    body = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    replace_file(path, f'{{"measurements": {header},\n"plans": [\n{body}\n]}}\n'.encode())
    return len(plans)
