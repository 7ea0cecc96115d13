"""Contract: a piece's loss is its time beyond the fastest matmul's rate, or beyond a copy's of its bytes."""

from dataclasses import replace

from kernels.layer.timeline.row import KernelRun, Phase, Role, Way
from pages.fused.timeline import Rates, losses, rates, sentence
from tests.kernels.layer.timeline.made_up import timing
from tests.kernels.layer.timeline.steps import layer_row

PEAK = Rates(tflop_s=1000.0, copy_gb_s=4000.0)


def kernel(what: str, us: float, role: Role = Role.QUANTIZE, **numbers: int) -> KernelRun:
    return KernelRun(name="k", what=what, role=role, phase=Phase.FORWARD, start_us=0.0, time_us=us, **numbers)


def row_of(*kernels: KernelRun):
    """The fused way with these kernels, one after the other."""
    ends = [sum(one.time_us for one in kernels[: place + 1]) for place in range(len(kernels))]
    run = tuple(replace(one, start_us=end - one.time_us) for one, end in zip(kernels, ends, strict=True))
    return replace(layer_row(Way.OURS), kernels=run, graph=timing(ends[-1]), bf16=timing(2 * ends[-1]))


STEP = row_of(
    kernel("quantize x: amax", 10.0, bytes=4_000_000),
    kernel("quantize x: cast", 20.0, bytes=4_000_000, piece_bytes=40_000_000),
    kernel("Fprop: decode", 5.0, Role.PASS),
    kernel("Fprop", 95.0, Role.MATMUL, flop=50_000_000_000, piece_bytes=1),
    kernel("Wgrad", 70.0, Role.MATMUL, flop=70_000_000_000, piece_bytes=1),
)


def test_kernels_of_one_piece_are_held_to_one_bound():
    pieces = losses(STEP, PEAK)
    assert [(one.what, one.role) for one in pieces] == [
        ("quantize x", Role.QUANTIZE),
        ("Fprop", Role.MATMUL),
        ("Wgrad", Role.MATMUL),
    ]
    assert [(one.time_us, one.least_us) for one in pieces] == [(30.0, 10.0), (100.0, 50.0), (70.0, 70.0)]


def test_kernels_of_a_row_without_pieces_have_bounds_of_their_own():
    older = replace(STEP, kernels=tuple(replace(one, piece_bytes=None) for one in STEP.kernels))
    assert [one.least_us for one in losses(older, PEAK)] == [1.0, 1.0, None, 50.0, 70.0]


def test_the_fastest_matmul_of_the_step_is_the_bound_of_all():
    assert rates([STEP]).tflop_s == 1000.0
    assert rates([replace(STEP, way=Way.BF16)]) is None


def test_the_sentence_adds_up_what_is_lost_and_says_where_most():
    words = sentence(STEP, losses(STEP, PEAK), PEAK)
    assert (
        "Matmuls lose **50 µs** against the fastest one, 1,000 TFLOP/s, and Fprop loses most, 50 µs" in words
    )
    assert "all other kernels lose **20 µs** against a copy, 4,000 GB/s" in words
    assert f"would have {400 / (200 - 70):.2f} times bf16's speed" in words
    unknown = [*losses(STEP, PEAK), losses(row_of(kernel("a", 5.0)), PEAK)[0]]
    assert "lose at least **20 µs**" in sentence(STEP, unknown, PEAK)
