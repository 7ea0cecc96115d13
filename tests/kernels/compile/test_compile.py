"""Contract: with no GPU at hand, every plan of the tables compiles for its GPU, and every portable kernel for
sm_89, sm_90, sm_100 and sm_120: on the tensor core it is meant for, without a spill, within that GPU's shared
memory, and with no wgmma that the compiler had to serialize. `make test` compiles one case of each
kernel and kind, `make test-all` all.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from itertools import product
from pathlib import Path
from pkgutil import walk_packages

import pytest

import kernels.gemm
import kernels.quantize
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, Device
from kernels.gemm.block_scaled import NATIVE, NativeKind, ScaledCore, scaled_core
from kernels.gemm.blocks import Variant
from kernels.gemm.hopper.blocks import lacking
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_built_in
from kernels.gemm.variants import VARIANTS
from tests.kernels.compile.cases import DEVICES, every_case
from tests.kernels.compile.heard import Case
from tests.kernels.compile.specialized import code_of, named_specialized
from tests.sweeps import exhaustive

TOP = Path(__file__).resolve().parents[3]
MNK = (4096, 4096, 4096)
INSTRUCTION = {
    (HOPPER.name, "FP8"): ("wgmma.mma_async", "f32.e"),
    (HOPPER.name, "DEQUANTIZED"): ("wgmma.mma_async", "f32.bf16.bf16"),
    (HOPPER.name, "NATIVE_MX"): ("wgmma.mma_async", "f32.bf16.bf16"),
    (ADA.name, "FP8"): ("mma.sync", "f32.e"),
    (ADA.name, "DEQUANTIZED"): ("mma.sync", "f32.bf16.bf16"),
    (BLACKWELL.name, "FP8"): ("tcgen05.mma", "kind::f8f6f4"),
    (BLACKWELL_RTX.name, "FP8"): ("mma.sync", "f32.e"),
    (BLACKWELL.name, "DEQUANTIZED"): ("tcgen05.mma", "kind::f16"),
    (BLACKWELL_RTX.name, "DEQUANTIZED"): ("mma.sync", "f32.bf16.bf16"),
    **{
        (device.name, kind.value): (
            scaled_core(device).value,
            NATIVE[kind].instructions[scaled_core(device)].ptx,
        )
        for device, kind in product((BLACKWELL, BLACKWELL_RTX), NATIVE)
    },
}
"""What a kind of GEMM runs on, by GPU: the instruction's name and part of its type. Hopper's NATIVE_MX is
what Triton makes of tl.dot_scaled there.
"""
OPTIONS = [pytest.param((), id="one of each"), pytest.param(("--rest",), id="rest", marks=exhaustive)]


@pytest.fixture(scope="module", params=OPTIONS)
def reports(request) -> list[dict]:
    """What the compiler says of one case of each kernel, or of all others."""
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compile.plans", *request.param],
        cwd=TOP,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def cases() -> dict[Device, list[Case]]:
    """All cases of each GPU."""
    return {device: list(dict.fromkeys(every_case(device))) for device in DEVICES}


def every_kernel() -> set[str]:
    """Names of the kernels of all rooms that launch some."""
    packages = (kernels.gemm, kernels.quantize)
    rooms = [room for each in packages for room in walk_packages(each.__path__, f"{each.__name__}.")]
    named = [own for room in rooms for own in vars(import_module(room.name)).items()]
    return {name for name, own in named if name.endswith("_kernel") and hasattr(own, "arg_names")}


@exhaustive
def test_every_kernel_is_compiled_and_each_arithmetic_of_a_gpu(cases):
    assert {case.kernel for of_device in cases.values() for case in of_device} == every_kernel()
    for device, of_device in cases.items():
        kinds = {kind for name, kind in INSTRUCTION if name == device.name}
        assert {case.kind for case in of_device if case.kind} == kinds
        native = {"NATIVE_MX", *(kind.value for kind in NATIVE)}
        split = {case.kind for case in of_device if dict(case.constants).get("SPLITS", 1) > 1}
        assert split == kinds - native


@exhaustive
def test_a_specialized_kernel_is_compiled_for_every_family_that_one_takes(cases):
    """Families whose kernel is the same code share a case."""
    families: dict[str, int] = {}
    for recipe, matmul, how in product(RECIPES.values(), MATMULS.values(), Summation):
        plan = plan_built_in(recipe.spec(matmul), MNK, HOPPER, how)
        if isinstance(plan, GemmPlan):
            numerics = plan.numerics
            variants = [VARIANTS[variant] for variant in Variant if not variant.is_simple]
            is_taken = not lacking(numerics, MNK, HOPPER) and not all(
                variant.refusal(numerics) for variant in variants
            )
            families |= {numerics.family: numerics.spec.out.bits} if is_taken else {}
    specialized = ("specialized_gemm_kernel", "decoding_gemm_kernel")
    mine = [case for of_device in cases.values() for case in of_device if case.kernel in specialized]
    assert {case.device for case in mine} == {HOPPER}
    named = [case for case in named_specialized(HOPPER) if case.kernel in specialized]
    assert {code_of(case) for case in mine} == {code_of(case) for case in named}
    names = [case.name.split(";")[0].removesuffix(", MN-major") for case in named]
    added = {f"{family}, added into D" for family, bits in families.items() if bits == 32}
    assert added
    assert set(names) == set(families) | added


def test_plans_use_the_tensor_core_they_name(reports):
    assert {(report["device"], report["kind"]) for report in reports if report["kind"]} == set(INSTRUCTION)
    for report in reports:
        if report["kind"]:
            instruction, operands = INSTRUCTION[report["device"], report["kind"]]
            assert report["matmuls"], report
            assert all(name.startswith(instruction) for name in report["matmuls"]), report
            assert all(operands in name for name in report["matmuls"]), report


def test_a_block_scaled_matmul_is_that_in_machine_code_and_nothing_else(reports):
    """The name of the instruction follows from its kind, and no bf16 MMA stands beside it."""
    cores = {device.name: scaled_core(device) for device in DEVICES}
    native = [report for report in reports if report["kind"] in {kind.value for kind in NativeKind}]
    for report in native:
        wanted = NATIVE[NativeKind(report["kind"])].instructions[cores[report["device"]]].sass
        exact = cores[report["device"]] is ScaledCore.TCGEN05
        assert report["machine"], report
        assert all(name == wanted if exact else name.startswith(wanted) for name in report["machine"]), report


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_nothing_spills_and_all_fits_shared_memory(reports, device):
    mine = [report for report in reports if report["device"] == device.name]
    assert [report for report in mine if report["spilled"] or report["stack"]] == []
    assert [report for report in mine if report["shared"] > report["limit"]] == []


def test_no_wgmma_reads_registers_that_the_next_step_may_overwrite(reports):
    """Triton 3.6 to 3.9 let it run on into the next step, and on an H200 one such kernel's D was wrong."""
    assert [report for report in reports if report["registers_left_in_use"]] == []


def test_nothing_is_written_over_a_barrier(reports):
    """On a shared H200 a number that lay over a barrier was lost about once in 4,000 launches."""
    assert [report for report in reports if report["overwritten"]] == []


def test_no_wgmma_is_serialized(reports):
    assert [report for report in reports if report["serialized"]] == []


def test_what_a_gpu_starts_early_waits_for_the_kernels_before_it(reports):
    """Without the wait it would read what they have not written yet; a GPU before sm_90 lacks the word."""
    early = {"gemm_kernel", "general_gemm_kernel", "specialized_gemm_kernel"}
    early |= {"decoding_gemm_kernel", "dequantize_kernel", "reorder_kernel"}
    for report in reports:
        able = report["kernel"] in early and report["device"] != ADA.name
        assert report["waits"] == able, report["name"]
