"""Contract: kernels out of torch's profile carry the words and bytes of the piece that launched them."""

from dataclasses import replace

from kernels.layer.timeline import Phase, Role
from kernels.layer.timeline.labels import Label, Piece, Told
from kernels.layer.timeline.trace import Ran, labelled, timed


def event(name, start, time, cat="kernel", **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": time, "args": args}


def told(*labels):
    return Told(pieces=[Piece(label) for label in labels])


def mark(number, start, time):
    return event(f"fp8 explorer, piece {number}", start, time, "user_annotation")


def of(role, *events, **rest):
    """What a piece's kernels become: it runs from 0 to 100, within a half of the step."""
    half = Label(what="forward", role=Role.OTHER, phase=Phase.BACKWARD)
    label = Label(what="piece", role=role, phase=Phase.BACKWARD, **rest)
    trace = {"traceEvents": [mark(0, -50, 200), mark(1, 0, 100), *events, event("x", 3, 3, "cpu_op")]}
    return labelled(trace, told(half, label))


def test_a_lone_kernel_has_the_bytes_of_its_piece():
    (run,) = of(Role.QUANTIZE, event("quantize_kernel", 10, 5), read=8, written=4)
    assert (run.what, run.role, run.phase, run.bytes) == ("piece", Role.QUANTIZE, Phase.BACKWARD, 12)


def test_a_pass_for_the_amax_reads_and_does_not_write():
    events = event("amax_kernel", 10, 5), event("Memset", 8, 1, "gpu_memset", bytes=4), event("cast", 20, 5)
    fill, amax, cast = of(Role.QUANTIZE, *events, read=8, written=4)
    assert [run.bytes for run in (fill, amax, cast)] == [4, 8, 12]
    assert [run.piece_bytes for run in (fill, amax, cast)] == [None, None, 12]
    assert amax.what == "piece: amax"
    assert {run.role for run in (fill, amax, cast)} == {Role.QUANTIZE}


def test_a_delayed_scale_reads_its_history_and_not_the_tensor():
    events = event("amax_kernel", 10, 1), event("cast", 20, 5)
    amax, cast = of(Role.QUANTIZE, *events, read=8000, written=4, amax_read=16)
    assert (amax.bytes, cast.bytes) == (16, 8004)


def test_what_a_matmul_does_before_it_multiplies_is_a_pass():
    events = event("decode_kernel", 10, 5), event("gemm", 20, 30)
    decoded, product = of(Role.MATMUL, *events, read=8, written=4, flop=64)
    assert (decoded.role, product.role) == (Role.PASS, Role.MATMUL)
    assert (decoded.flop, product.flop) == (None, 64)
    # Its operands are no longer those of the piece.
    assert product.bytes is None


def steps(*names):
    found = []
    for number, name in enumerate(names):
        found.append(
            Ran(name=name, start_us=100.0 * number, time_us=2.0 + number, is_kernel=name != "Memset")
        )
    return found


LABELS = of(Role.QUANTIZE, event("a", 0, 1), event("b", 5, 1))


def test_times_are_medians_over_steps_that_ran_the_same_kernels():
    first, second = timed(LABELS, steps(*"ababab"), 3)
    assert (first.start_us, first.time_us, second.start_us, second.time_us) == (0, 4, 100, 5)
    assert (first.what, first.role) == (LABELS[0].what, Role.QUANTIZE)


def test_a_tape_keeps_the_amax_of_two_tensors_by_one_kernel_at_the_end():
    """Labelled, each piece keeps its own; a tape notes both, and keeps them together."""
    names = ["quantize_kernel", "record_kernel", "quantize_kernel", "record_kernel", "gemm_kernel"]
    labels = of(Role.QUANTIZE, *(event(name, 10 * at, 5) for at, name in enumerate(names)))
    taped = ["quantize_kernel", "quantize_kernel", "record_kernel", "gemm_kernel"]
    found = timed(labels, steps(*taped * 3), 3)
    assert [run.name for run in found] == taped
    assert found[2].role is Role.QUANTIZE
    assert found[2].bytes is None, "that is one tensor's"
    forward = [replace(label, phase=Phase.FORWARD) for label in labels[:2]]
    halves = timed([*forward, *labels[2:]], steps(*taped * 3), 3)
    assert [run.phase for run in halves] == [Phase.FORWARD, *[Phase.BACKWARD] * 3]
    for other in (taped[1:], [*taped, "gemm_kernel"], ["record_kernel"], taped[:2]):
        assert timed(labels, steps(*other * 3), 3) is None
    assert timed(labels[:1], steps("gemm_kernel"), 1) is None
