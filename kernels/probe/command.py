"""python -m kernels.measure probe: does this GPU's tensor core add as its model does? Compares bits.

Exit codes: 0 no bit differs, 1 one does, 2 bad arguments or no Hopper GPU.
"""

from collections.abc import Iterator
from pathlib import Path

from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.measure.commands import parser_of
from kernels.probe.operations import (
    RECORDED_SHAPE,
    STEP,
    Captured,
    Operation,
    Span,
    Start,
    cases,
    difference,
    draw_case,
    operations,
    predict,
    write_vectors,
)
from kernels.probe.sweep import require_hopper
from kernels.typed import check_whole


def compare(operation: Operation, outputs: int, seed: int) -> tuple[int, str]:
    """Run an operation until it gave `outputs` results: how many differ from the model, and that in words."""
    total = mismatches = 0
    first = ""
    for case in cases(operation, outputs, seed):
        try:
            result = operation.run(case)
        except (RuntimeError, ValueError, NotImplementedError, *triton_errors()) as error:
            return mismatches, f"{first_line(error)}  {first}"
        count, words = difference(case.title, result, predict(operation, case))
        total, mismatches, first = total + result.size, mismatches + count, first or words
    return mismatches, f"{mismatches} differ of {total}  {first}"


def recorded_cases(operation: Operation) -> Iterator[tuple[tuple[str, str], Span, Start, int]]:
    """(formats, span, start, K): all cases at one step of wgmma, samples elsewhere."""
    first = operation.lengths[0]
    if operation.name == "wgmma":
        for pair in operation.pairs:
            yield from ((pair, span, start, first) for span in Span for start in Start)
            yield pair, Span.NORMAL, Start.LARGE, 4 * first
    elif first == STEP:
        for pair in operation.pairs[:2]:
            yield from ((pair, span, Start.SIMILAR, 2 * first) for span in (Span.NORMAL, Span.EVERY_CODE))
    else:
        yield operation.pairs[0], Span.NORMAL, Start.ZERO, first


def record(path: Path, seed: int) -> None:
    from kernels.measure.machine import current_device, machine_here, today

    results = []
    for operation in operations():
        for pair, span, start, k in recorded_cases(operation):
            seed += 1
            case = draw_case(*pair, span, start, (*RECORDED_SHAPE, k), seed)
            results.append(Captured(operation=operation.name, case=case, d=operation.run(case)))
    machine = machine_here(current_device())
    write_vectors(path, results, {"gpu": machine.name, "date": today(), **machine.versions})


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of("probe", __doc__)
    add = parser.add_argument
    add("--outputs", type=int, default=2_100_000, help="of an operation (default %(default)s)")
    add("--seed", type=int, default=0)
    add("--record", type=Path, metavar="FILE.npz", help="keep cases and the GPU's results")
    options = parser.parse_args(arguments)
    check_whole(1, 2**63 - 1, outputs=options.outputs)
    check_whole(0, 2**63 - 1, seed=options.seed)
    if options.record:
        check_folder(options.record.parent)
    require_hopper()
    wrong = 0
    for operation in operations():
        mismatches, verdict = compare(operation, options.outputs, options.seed)
        wrong += mismatches
        print(f"{operation.title:45} {verdict}", flush=True)
    if options.record:
        record(options.record, options.seed)
    return int(wrong > 0)
