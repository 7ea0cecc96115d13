"""Compile kernels for GPUs that need not be here, and print what the compiler says, one JSON object a line.

Run as a program, without TRITON_INTERPRET: compiled and interpreted kernels do not live in one process. Every
kernel is compiled anew, in as many processes as there are cores: the compiler's remarks are not in the cache.
They leave the cores to whatever is timed beside them. The cases are one of each kernel, a GEMM's for each
GPU and arithmetic; with --rest, all others.
"""

import io
import json
import os
import re
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from importlib import import_module
from multiprocessing import get_context

from kernels.cores import cores
from kernels.gemm.block_scaled import NativeKind
from tests.kernels.compile.cases import DEVICES, every_case, one_of_each_kernel
from tests.kernels.compile.heard import Case

NICE = 10
MATMUL = re.compile(r"(?:wgmma\.mma_async|tcgen05\.mma|mma\.sync)\S*")
MACHINE = re.compile(r"\b(?:UTC|[A-Z])[A-Z]?MMA[.\w]*")
"""An MMA in machine code: HMMA, QMMA.SF…, OMMA.SF…, UTCHMMA, UTCQMMA, UTCOMMA…"""
NATIVE_KINDS = {kind.value for kind in NativeKind}
FROM_REGISTERS = re.compile(r"wgmma\.mma_async\S* \{[^}]*\},\s*\{")
"""A wgmma whose left factor lies in registers: after those of the sum comes another list of them."""
ADDRESS = re.compile(r"add\.s32\s+(%r\d+), %r\d+, (\d+);")
BARRIER = re.compile(r"mbarrier\.init\S* \[(%r\d+)\]")
SCRATCH = re.compile(r"(?:ld|st)\.shared\S*\s+(?:\S+, )?\[\s*(?:global_smem\+(\d+)|(%r\d+) \+ 0)\s*\]")
"""A number of shared memory through which the compiler passes a result to all threads."""
LEFT_RUNNING = re.compile(r"wgmma\.wait_group\S* [1-9]")
"""A wait that leaves some running: the next step may overwrite the registers that they still read."""


def compiled(case: Case):
    """A case's CompiledKernel."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction

    kernel = vars(import_module(case.module))[case.kernel]
    constants = dict(case.constants)
    signature = dict.fromkeys(constants, "constexpr") | dict(case.types)
    places = {name: (place,) for place, name in enumerate(kernel.arg_names)}
    aligned = [
        name
        for name, type_ in case.types
        if not type_.startswith("tensordesc") and not kernel.params[places[name][0]].do_not_specialize
    ]
    major, minor = case.device.capability
    return triton.compile(
        (GluonASTSource if isinstance(kernel, GluonJITFunction) else ASTSource)(
            kernel,
            {name: signature[name] for name in kernel.arg_names},
            {places[name]: value for name, value in constants.items()},
            {places[name]: [["tt.divisibility", 16]] for name in aligned},
        ),
        target=GPUTarget("cuda", 10 * major + minor, 32),
        options={"num_warps": case.warps, "num_stages": case.stages, **dict(case.options)},
    )


def overwritten(ptx: str) -> list[int]:
    """Where a barrier lies in memory that the compiler uses, too. It is one until it is invalidated."""
    places = {name: int(offset) for name, offset in ADDRESS.findall(ptx)}
    barriers = {places.get(name, 0) for name in BARRIER.findall(ptx)}
    own = {int(offset) if offset else places.get(name, -1) for offset, name in SCRATCH.findall(ptx)}
    return sorted(barriers & own)


def report(case: Case) -> dict:
    """What the compiler says of a case: a thread's registers and spills, shared memory, matmuls, remarks."""
    remarks = io.StringIO()
    with redirect_stdout(remarks):
        done = compiled(case)
    text, ptx = remarks.getvalue(), done.asm["ptx"]
    registers = re.findall(r"Used (\d+) registers", text)
    assert registers, f"the compiler said nothing of {case.name}"
    return {
        "name": f"{case.kernel} {case.name}",
        "kernel": case.kernel,
        "kind": case.kind,
        "device": case.device.name,
        "limit": case.device.shared_memory_bytes,
        "shared": done.metadata.shared,
        "matmuls": sorted(set(MATMUL.findall(ptx))),
        "machine": sorted(set(MACHINE.findall(done.asm["sass"]))) if case.kind in NATIVE_KINDS else [],
        "registers_left_in_use": bool(FROM_REGISTERS.search(ptx) and LEFT_RUNNING.search(ptx)),
        "registers": max(map(int, registers)),
        "spilled": sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", text))),
        "stack": sum(map(int, re.findall(r"(\d+) bytes stack frame", text))),
        "waits": "griddepcontrol.wait" in ptx,
        "overwritten": overwritten(ptx),
        "serialized": sorted(set(re.findall(r"C75\d\d", text))),
    }


def main() -> None:
    os.nice(NICE)
    cases = one_of_each_kernel(case for device in DEVICES for case in every_case(device, "few"))
    if "--rest" in sys.argv:
        every = dict.fromkeys(case for device in DEVICES for case in every_case(device))
        daily = set(cases)
        cases = [case for case in every if case not in daily]
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"TRITON_CACHE_DIR": cache, "TRITON_DUMP_PTXAS_LOG": "1"}
        with ProcessPoolExecutor(cores(), mp_context=get_context("fork")) as pool:
            for made in pool.map(report, cases, chunksize=2):
                sys.stdout.write(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
