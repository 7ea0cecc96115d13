"""Contract: every kernel, in every plan of the recipes, compiles for Hopper with no GPU at hand: on the
tensor core it is meant for, without spilling, within shared memory; MXFP8 for Blackwell's own instruction.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
INSTRUCTION = {"FP8": "wgmma.mma_async", "DEQUANTIZED": "wgmma.mma_async", "NATIVE_MX": "tcgen05.mma"}
OPERANDS = {"FP8": r".f32.e", "DEQUANTIZED": ".f32.bf16.bf16", "NATIVE_MX": "mxf8f6f4.block_scale"}


@pytest.fixture(scope="module")
def reports() -> list[dict]:
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compile_plans"],
        cwd=TOP,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_kernel_is_compiled(reports):
    kinds = [report["kind"] for report in reports]
    assert {kind: kinds.count(kind) for kind in INSTRUCTION} == {"FP8": 12, "DEQUANTIZED": 4, "NATIVE_MX": 2}
    bodies = {report["name"].split("-")[0] for report in reports if not report["kind"]}
    assert bodies == {"quantize_kernel", "amax_kernel", "dequantize_kernel", "encode_kernel"}


def test_plans_use_the_tensor_core_they_name(reports):
    for report in reports:
        for kind in (report["kind"],) if report["kind"] else ():
            assert report["matmuls"], report
            assert all(name.startswith(INSTRUCTION[kind]) for name in report["matmuls"]), report
            assert all(OPERANDS[kind] in name for name in report["matmuls"]), report


def test_nothing_spills_and_all_fits_shared_memory(reports):
    for report in reports:
        assert report["stack"] == 0, report
        assert report["shared"] <= report["limit"], report
