"""python -m kernels.measure probe: does this GPU's tensor core add as its model does? Compares bits.

Exit codes: 0 no bit differs, 1 one does, 2 bad arguments or no Hopper GPU.
"""

from pathlib import Path

from kernels.faults import first_line, triton_errors
from kernels.files import check_folder
from kernels.measure.commands import parser_of
from kernels.probe.operations import (
    Operation,
    captured,
    cases,
    difference,
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
    device = require_hopper()
    wrong = 0
    for operation in operations():
        mismatches, verdict = compare(operation, options.outputs, options.seed)
        wrong += mismatches
        print(f"{operation.title:45} {verdict}", flush=True)
    if options.record:
        from kernels.measure.machine import machine_here, today

        machine = machine_here(device)
        about = {"gpu": machine.name, "date": today(), **machine.versions}
        write_vectors(options.record, captured(options.seed), about)
    return int(wrong > 0)
