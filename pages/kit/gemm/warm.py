"""python -m pages.kit.gemm.warm: compile what the pages open with into .compiled, for a GPU that need not be
here. The app and kernels.check use that folder, also where it was copied to.

Exit codes: 0 done, 1 a kernel cannot be compiled, 2 no such GPU.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kernels import device as devices
from kernels.check.machine import host
from kernels.check.report import CheckJob
from kernels.check.steps import check_steps
from kernels.compiled import COMPILED, use_compiled
from kernels.cores import cores
from kernels.device import Device, DeviceKind, Unsupported
from kernels.precompile import Code, Precompile, codes_beside, codes_of
from kernels.progress import Bar
from kernels.train.variants import VARIANTS
from pages.kit.gemm.presets import offered

HERE = "here"
GPUS = {one.name: one for one in (devices.HOPPER, devices.BLACKWELL, devices.ADA, devices.BLACKWELL_RTX)}


def codes(device: Device) -> Iterator[Code]:
    """Kernels that the pages open with, the most probable first."""
    for job in (*offered(), *(variant.job for variant in VARIANTS.values())):
        yield from (*codes_of(job), *codes_beside(job))
    for step in check_steps(CheckJob(), replace(host(), interpreted=False), ""):
        yield from step.codes(device)


def device_named(gpu: str) -> Device:
    """A GPU by its name, with this machine's Triton. Raises Unsupported if there is none."""
    if gpu != HERE:
        return replace(GPUS[gpu], triton=devices.triton_version())
    with suppress(Unsupported):
        if (device := devices.current_device()).kind is DeviceKind.GPU:
            return device
    raise Unsupported(f'there is no GPU here: name one, make warm GPU="{devices.HOPPER.name}"')


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pages.kit.gemm.warm", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--gpu", choices=(HERE, *GPUS), default=HERE, help="default: the one attached")
    parser.add_argument("--into", type=Path, default=COMPILED, metavar="FOLDER", help="default: .compiled")
    options = parser.parse_args(arguments)
    try:
        device = device_named(options.gpu)
    except Unsupported as error:
        sys.stderr.write(f"{error.reason}\n")
        return 2
    options.into.mkdir(parents=True, exist_ok=True)
    os.environ.pop("TRITON_CACHE_DIR", None)
    os.environ["TRITON_STORE_BINARY_ONLY"] = "1"  # what runs is a sixth of what Triton would keep
    use_compiled(folder=options.into.resolve())
    parts = list(dict.fromkeys(codes(device)))
    with Bar("compiling") as bar, Precompile(cores(), device) as pool:
        faults = pool.faults(
            parts, lambda count: bar.draw(count / len(parts), f"{count} of {len(parts)} parts")
        )
    wrong = sorted({fault for fault in faults if fault})
    for line in (f"{len(parts)} parts for {device.name} lie in {options.into}", *wrong):
        sys.stdout.write(f"{line}\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
