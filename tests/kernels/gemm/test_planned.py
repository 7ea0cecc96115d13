"""Contract: the plan of many GEMMs, its candidates and its predicted time are those of planned.jsonl.

A change of the planner changes that file: `python -m tests.kernels.gemm.test_planned` writes it anew, and
what differs is read before it is committed.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from zlib import crc32

import pytest

from kernels.device import ADA, BLACKWELL, HOPPER, Device, Unsupported
from kernels.gemm.choose import ranked, tries
from kernels.gemm.cost import rates_path
from kernels.gemm.numerics import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.variants import VARIANTS
from tests.kernels.cases import GEMMS

FILE = Path(__file__).with_name("planned.jsonl")
SHAPES = ((1, 4096, 4096), (64, 14336, 4096), (300, 1040, 7168), (905, 6144, 1088), (4096, 90, 14336))
GIVEN = {
    HOPPER: (
        *product(GEMMS, [Summation.RECIPE], SHAPES),
        *product(GEMMS, [Summation.FAST, Summation.PROMOTED, Summation.REFOLDED], SHAPES[2:3]),
    ),
    ADA: tuple(product(GEMMS, [Summation.RECIPE], SHAPES[1:3])),
    BLACKWELL: tuple(product(GEMMS, [Summation.RECIPE], SHAPES[2:4])),
}


def line(name: str, how: Summation, mnk: tuple[int, int, int], device: Device) -> str:
    """JSON of a GEMM's plan, its candidates and its microseconds."""
    recipe, matmul = GEMMS[name]
    facts: dict[str, object] = {"gpu": device.name, "gemm": f"{name} {how.value}", "mnk": list(mnk)}
    plan = plan_gemm(recipe.spec(matmul), mnk, device, how)
    if isinstance(plan, Unsupported):
        facts |= {"refusal": plan.reason}
    else:
        facts |= {"plan": plan.title, "programs": plan.programs(*mnk[:2])}
        facts |= {"candidates": dict(candidates(plan, mnk, device))}
        if rates_path(device.capability).exists():
            of = {blocks: us for us, blocks in ranked(plan.numerics, mnk, device, [plan.variant])}
            if plan.blocks in of:  # a measured plan may have blocks that nobody offers
                facts |= {"us": float(f"{of[plan.blocks]:.4g}")}
    return json.dumps(facts, ensure_ascii=False)


def candidates(plan: GemmPlan, mnk: tuple[int, int, int], device: Device) -> Iterator[tuple[str, list[int]]]:
    """(kernel, its number of candidates and a digest of their blocks and their storage)."""
    for variant in VARIANTS:
        plans = [replace(plan, blocks=blocks) for blocks in tries(variant, plan.numerics, mnk, device)]
        if plans:
            yield (
                variant.value,
                [len(plans), crc32(repr([(one.blocks, one.storage) for one in plans]).encode())],
            )


def recorded(device: Device) -> list[str]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [text for text in lines if json.loads(text)["gpu"] == device.name]


@pytest.mark.parametrize("device", GIVEN, ids=lambda device: device.name)
def test_plans_are_those_that_were_recorded(device):
    assert [line(*gemm, device) for gemm in GIVEN[device]] == recorded(device)


if __name__ == "__main__":
    FILE.write_text(
        "".join(f"{line(*g, device)}\n" for device in GIVEN for g in GIVEN[device]), encoding="utf-8"
    )
