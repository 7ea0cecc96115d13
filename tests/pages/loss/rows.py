"""Training runs that nobody made: every loss follows a law, so that each figure on a page is known."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fp8core.linear import MATMULS, Side
from kernels.measure.rows import Machine, Provenance
from kernels.train.job import BF16, TrainJob
from kernels.train.row import CopyStatistics, ProductStatistics, Statistics, TextUsed, TrainRow
from kernels.train.variants import VARIANTS
from kernels.typed import to_data
from tests.pages.texts import texts as every_text

PAGE = "pages/loss.py"
STEPS, LAST = 400, 1.5
"""Steps of a run, and the last loss of bf16's mean."""
SEEDS = {0: -0.15, 1: -0.05, 2: 0.05, 3: 0.15}
"""Percent that a seed adds to every loss; their standard deviation is known."""
ABOVE = {"per_tensor": 0.05, "deepseek_v3": -0.02, "mxfp8": 0.04, "nvfp4": 1.2, "mxfp4": 1.9}
"""Percent that a recipe adds."""
LAYERS = tuple(f"{block}.{name}" for block in range(6) for name in ("qkv", "proj", "gate_up", "down"))


def loss(step: int, percent: float) -> float:
    """Nats a byte after `step` steps of a run that ends `percent` above LAST."""
    return (LAST + 3.5 * math.exp(-6 * step / STEPS)) * (1 + percent / 100)


def row(job: TrainJob, percent: float, *, done: int = STEPS, failure: str = "") -> TrainRow:
    """A run; a whole one unless it is `done` early."""
    job = replace(job, steps=STEPS)
    at = [step for step in range(STEPS // 10, STEPS + 1, STEPS // 10) if step <= done]
    return TrainRow(
        job=job,
        provenance=Provenance.GPU,
        machine=Machine(name="A GPU", capability=(9, 0), versions={"torch": "2.11", "triton": "3.6"}),
        date="2026-11-23",
        text=TextUsed(
            name="sympy", version="1.14", sha256="0" * 64, bytes=16_000_000, files=900,
            held_out_bytes=800_000, held_out_files=45,
        ),
        steps=STEPS,
        done=done,
        loss_every=4,
        losses=tuple(round(loss(step, percent), 5) for step in range(4, done + 1, 4)),
        held_out_at=tuple(at),
        held_out=tuple(loss(step, percent) for step in at),
        held_out_bf16=loss(STEPS, percent) if done == STEPS else None,
        step_ms=8.5,
        quantized_gemms=0 if job.recipe == BF16 else 72,
        gemms=75,
        statistics=() if job.recipe == BF16 else (statistics(job, done // 2), statistics(job, done)),
        failure=failure,
        commit="abc",
    )  # fmt: skip


def statistics(job: TrainJob, step: int) -> Statistics:
    """Statistics whose numbers grow with the layer."""
    recipe = job.recipe_data
    assert recipe is not None
    grows = tuple(0.1 * (place + 1) for place in range(len(LAYERS)))
    copies = tuple(
        CopyStatistics(
            tensor=matmul.operand(side).value,
            matmul=name,
            sqnr_db=tuple(30 - each for each in grows),
            underflows_percent=grows,
            overflows_percent=tuple(0.0 for _ in grows),
            scale_inv_min=tuple(each / 1000 for each in grows),
            scale_inv_max=tuple(each / 10 for each in grows),
            mse=tuple(each * 1e-6 for each in grows),
            amax=grows,
        )
        for name, matmul in MATMULS.items()
        for side in Side
        if recipe.spec(matmul).operand(side) is not None
    )
    products = tuple(
        ProductStatistics(tensor=matmul.d.value, matmul=name, sqnr_db=tuple(25 - each for each in grows))
        for name, matmul in MATMULS.items()
    )
    return Statistics(step=step, layers=LAYERS, copies=copies, products=products)


def all_rows() -> list[TrainRow]:
    """Four seeds of bf16, two of each recipe of ABOVE, and one of each change that one tries."""
    rows = [row(TrainJob(recipe=BF16, seed=seed), percent) for seed, percent in SEEDS.items()]
    rows += [
        row(TrainJob(recipe=name, seed=seed), percent + SEEDS[seed])
        for name, percent in ABOVE.items()
        for seed in (0, 1)
    ]
    for place, variant in enumerate(VARIANTS.values()):
        fails = place == 0
        failure = "Step 121: dy of layer 5.down has numbers that are not finite. The run ended there."
        rows.append(
            row(variant.job, 4.0 + place, done=120 if fails else STEPS, failure=failure if fails else "")
        )
    return rows


def write(folder: Path, rows: Sequence[TrainRow]) -> Path:
    """A folder of records with these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(to_data(each), ensure_ascii=False) for each in rows]
    (folder / "a-gpu.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def texts(at) -> str:
    """All words of the page, which has no error."""
    assert not at.exception, at.exception[0].value
    assert not at.error
    return every_text(at)
