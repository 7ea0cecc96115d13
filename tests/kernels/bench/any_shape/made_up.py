"""Drawn GEMMs that nobody measured."""

from kernels.bench.any_shape import AnyShapeRow
from kernels.bench.any_shape.job import AnyShapeDraw, AnyShapeJob, LeftOut

ROW = AnyShapeRow(
    recipe="mxfp8",
    matmul="wgrad",
    m=256,
    n=128,
    k=512,
    ours_us=2.0,
    peer="bf16 torch.mm",
    peer_us=3.0,
    body="decoding",
    blocks_title="64 × 128 × 64",
    flop=2 * 256 * 128 * 512,
    least_bytes=2**20,
    seed=7,
    gpu="A GPU",
    date="2026-11-23",
    versions={"torch": "1"},
    regret=0.02,
    turns=5,
)
DRAW = AnyShapeDraw(
    job=AnyShapeJob(recipe="mxfp8", matmul="wgrad", count=3, seed=7),
    rows=(ROW,),
    left_out=(LeftOut(m=1, n=2, k=3, reason="no kernel computes it"),),
)
