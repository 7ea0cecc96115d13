"""Does this GPU's tensor core add as its model does? The command line."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from kernels.device import DeviceKind, current_device
from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.probe.cases import Span, Start, draw_case
from kernels.probe.operations import _STEP, RECORDED_SHAPE, Operation, cases, mismatches, operations, predict
from kernels.probe.vectors import Captured, write_vectors


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of comparing an operation with the model: outputs seen and bits that differed."""

    operation: str
    outputs: int
    mismatches: int
    first: str
    refused: str = ""


def compare(operation: Operation, outputs: int, seed: int) -> Finding:
    """Run an operation until it gave `outputs` results, and count those that differ from the model."""
    seen, wrong, first = 0, 0, ""
    for case in cases(operation, outputs, seed):
        try:
            result = operation.run(case)
        except (RuntimeError, ValueError, NotImplementedError, *triton_errors()) as error:
            return Finding(
                operation=operation.name,
                outputs=seen,
                mismatches=wrong,
                first=first,
                refused=first_line(error),
            )
        predicted = predict(operation, case)
        bad = mismatches(result, predicted)
        if bad.any() and not first:
            m, n = np.argwhere(bad)[0]
            first = f"{case.title}, [{m}, {n}]: model {predicted[m, n]!r}, device {result[m, n]!r}"
        seen, wrong = seen + bad.size, wrong + int(bad.sum())
    return Finding(operation=operation.name, outputs=seen, mismatches=wrong, first=first)


def recorded_cases(operation: Operation) -> Iterator[tuple[tuple[str, str], Span, Start, int]]:
    """(formats, span, start, K) of the cases to keep: all of them at one step of wgmma, samples elsewhere."""
    first = operation.lengths[0]
    if operation.name == "wgmma":
        for pair in operation.pairs:
            yield from ((pair, span, start, first) for span in Span for start in Start)
            yield pair, Span.NORMAL, Start.LARGE, 4 * first
    elif first == _STEP:
        for pair in operation.pairs[:2]:
            yield from ((pair, span, Start.SIMILAR, 2 * first) for span in (Span.NORMAL, Span.EVERY_CODE))
    else:
        yield operation.pairs[0], Span.NORMAL, Start.ZERO, first


def record(path: Path, seed: int) -> None:
    """Capture the cases to keep, of every operation, into a file of vectors."""
    captured = []
    for operation in operations():
        for pair, span, start, k in recorded_cases(operation):
            seed += 1
            case = draw_case(*pair, span, start, (*RECORDED_SHAPE, k), seed)
            captured.append(Captured(operation=operation.name, case=case, d=operation.run(case)))
    write_vectors(path, captured, _machine())


def _machine() -> dict[str, str]:
    import torch
    import triton

    return {
        "gpu": torch.cuda.get_device_name(),
        "date": date.today().isoformat(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kernels.probe", description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, default=2_100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    try:
        for name, least in (("outputs", 1), ("seed", 0)):
            if getattr(options, name) < least:
                raise ValueError(f"--{name} is a whole number from {least}, got {getattr(options, name)}")
        if options.record:
            check_folder(options.record.parent)
        device = current_device()
    except ValueError as error:
        print(f"kernels.probe: {error}", file=sys.stderr)
        return 2
    if device.kind is not DeviceKind.GPU or device.capability != (9, 0):
        print(f"kernels.probe: the models predict Hopper (9.0), and this is {device.name}", file=sys.stderr)
        return 2
    findings = []
    for operation in operations():
        finding = compare(operation, options.outputs, options.seed)
        findings.append(finding)
        if not options.json:
            verdict = finding.refused or f"{finding.mismatches} differ of {finding.outputs}"
            print(f"{operation.title:45} {verdict}  {finding.first}", flush=True)
    if options.json:
        print(json.dumps([vars(finding) for finding in findings], indent=1))
    if options.record:
        record(options.record, options.seed)
    return int(any(finding.mismatches for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
