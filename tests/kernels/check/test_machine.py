"""Contract: each machine that cannot do FP8, or not everything, gets the sentence that says so; nothing here
needs the machine.
"""

import re
from dataclasses import replace

import pytest

from kernels.check.report import Group, Verdict
from kernels.check.setup import abilities, setup_lines
from tests.kernels.check import reports as machines

ABLE = {
    "H200": (machines.H200, {"fp8"}),
    "ADA": (machines.ADA, {"fp8"}),
    "B200": (machines.B200, {"fp8", "block_scaled", "stochastic_cast"}),
    "RTX_5090": (machines.RTX_5090, {"fp8", "block_scaled"}),
    "A100": (machines.A100, set()),
    "ROCM": (machines.ROCM, set()),
    "NO_GPU": (machines.NO_GPU, set()),
    "NO_TORCH": (machines.NO_TORCH, set()),
}


@pytest.mark.parametrize(("facts", "able"), ABLE.values(), ids=ABLE)
def test_a_gpu_can_do_what_its_generation_can(facts, able):
    found = abilities(facts)
    assert {ability.name for ability in found if ability.available} == able
    assert len(found) == 3
    assert all(ability.reason.endswith(".") and ability.title for ability in found)


@pytest.mark.parametrize("facts", [machines.H200, machines.ADA, machines.B200, machines.RTX_5090])
def test_a_sound_machine_passes(facts):
    lines = setup_lines(facts)
    assert [line.name for line in lines] == ["torch", "GPU", "memory", "Triton"]
    assert {line.verdict for line in lines} == {Verdict.PASS}
    assert {line.group for line in lines} == {Group.SETUP}


BROKEN = [
    ("NO_GPU", "GPU", Verdict.NOT_SUPPORTED, "There is no NVIDIA GPU here"),
    ("A100", "GPU", Verdict.NOT_SUPPORTED, "A100-SXM4-80GB has no FP8: compute capability 8.0; .* at 8.9"),
    ("NO_CUDA", "GPU", Verdict.NOT_SUPPORTED, r"lists 2 GPUs, but this torch, 2.11.0\+cpu, is built without"),
    ("DRIVER_TOO_OLD", "GPU", Verdict.FAIL, r"lists 1 GPU, .* driver \(470.0\) is too old for CUDA 13.0"),
    ("ROCM", "GPU", Verdict.NOT_SUPPORTED, r"FNUZ .*e4m3fnuz: largest value 240, bias 8.*e4m3 .*448, bias 7"),
    (
        "BUSY",
        "GPU",
        Verdict.FAIL,
        "counts 1, but this GPU cannot be opened: CUDA error: all devices",
    ),
    ("FULL", "memory", Verdict.NOT_RUN, "0.1 of 140.0 GiB are free, a check takes 1 GiB: end what else"),
    ("NO_TORCH", "torch", Verdict.FAIL, "torch is not installed: pip install"),
    ("BROKEN_TORCH", "torch", Verdict.FAIL, "torch cannot be imported: ImportError: libcudart.so.13"),
    ("BROKEN_TRITON", "Triton", Verdict.FAIL, "Triton cannot be imported: ImportError: libtriton.so"),
    ("NO_TRITON", "Triton", Verdict.FAIL, "Triton is not installed: pip install"),
]


@pytest.mark.parametrize(("name", "line", "verdict", "sentence"), BROKEN, ids=[case[0] for case in BROKEN])
def test_what_stands_in_the_way_is_said(name, line, verdict, sentence):
    lines = {found.name: found for found in setup_lines(getattr(machines, name))}
    assert lines[line].verdict is verdict
    assert re.search(sentence, lines[line].detail), lines[line].detail


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("3.3.1", "Triton 3.3.1: the kernels need Triton 3.4 or a later one, and this is 3.3"),
        ("main", "'main'"),
    ],
)
def test_a_triton_that_compiles_no_kernel_is_said_before_any_step(version, said):
    line = setup_lines(replace(machines.H200, triton=version))[-1]
    assert line.verdict is Verdict.FAIL
    assert said in line.detail
