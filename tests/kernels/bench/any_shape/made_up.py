"""Drawn GEMMs that nobody measured."""

from kernels.bench.any_shape import AnyShapeRow

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
