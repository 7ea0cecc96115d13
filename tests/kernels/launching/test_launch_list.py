"""Contract: the launches of a first call, repeated for other tensors, do to these what the call did to its
own. A call whose memory is not written down is refused.
"""

import random
from itertools import combinations

import pytest
import torch

from kernels.launching.launch import converted, copied, empty, filled, launch, operation, zeros_of_stream
from kernels.launching.parameters import Scalar, Uncacheable
from kernels.launching.trace import Buffer, Trace, tracing, workspace_layout
from tests.kernels.launching.stand_in import INTEGER, POINTER, Driver, Kernel, floats

COUNT = 24


def _add(x: int, y: int, out: int, n: int) -> None:
    floats(out, COUNT)[:] = floats(x, COUNT) + floats(y, COUNT) + n


ADD = Kernel(_add, POINTER, POINTER, POINTER, INTEGER)


def added(x, y, out, n):
    launch(ADD, (1,), x, y, out, n)
    return out


def room():
    return empty((COUNT,), torch.float32, torch.device("cpu"))


def vector(start: float) -> torch.Tensor:
    return torch.arange(start, start + COUNT, dtype=torch.float32)


def listed(inputs, scalars, run, driver=None):
    """(the value of a first call, its launch list)."""
    trace = Trace(inputs, scalars)
    with tracing(trace):
        value = run(*inputs, *scalars)
    return value, trace.launch_list(driver or Driver(ADD), -1, value)


def assert_repeats(run, inputs, others, scalars=(), other_scalars=()):
    """The list of a call with `inputs` gives for `others` the value of a call with those, three times."""
    _, launches = listed([each.clone() for each in inputs], scalars, run)
    for _ in range(3):
        ours, theirs = ([each.clone() for each in others] for _ in range(2))
        expected, got = run(*theirs, *other_scalars), launches(ours, other_scalars)
        pairs = [(got, expected)] if isinstance(got, torch.Tensor) else zip(got, expected, strict=True)
        for one, other in pairs:
            assert (one is None) is (other is None)
            assert one is None or (torch.equal(one, other) and one.stride() == other.stride())
        assert all(map(torch.equal, ours, theirs)), "what the call writes into its inputs"


def test_temporaries_scalars_and_operations_of_torch_are_those_of_the_call():
    def run(x, y, n):
        first = added(x, y, room(), n)
        second = added(first, x, room(), 2)
        half = converted(second, torch.bfloat16)
        third = added(second, filled((COUNT,), torch.float32, x.device, 0.5), room(), n)
        operation(torch.Tensor.add_, y, third)
        operation(torch.Tensor.zero_, third[4:8])
        third = added(third, filled((COUNT,), torch.float32, x.device), room(), 3)
        wide = empty((4, 8), torch.float32, x.device)[:, :6]
        operation(torch.Tensor.copy_, wide, third.view(4, 6))
        return [wide, None, half, y]

    inputs = vector(0), vector(100)
    assert_repeats(run, inputs, (vector(7), vector(-3)), (Scalar(5),), (Scalar(-9),))


def test_a_copied_tensor_is_written_into_its_target_at_once_if_it_fills_its_storage():
    def run(x, y):
        first, between, twice = added(x, y, room(), 0), added(y, y, room(), 1), added(y, x, room(), 2)
        second, part = added(between, x, room(), 2), added(x, x, room(), 1)
        packed = empty((5, COUNT), torch.float32, x.device)
        for target, each in zip(packed, (first, second, twice, twice), strict=False):
            copied(each, target)
        copied(part[:8], packed[4, :8])
        copied(x[8:], packed[4, 8:])
        turned = empty((4, 6), torch.float32, x.device)
        copied(added(x, y, room(), 4).view(6, 4).T, turned)
        return [added(first, twice, room(), 3), packed, turned]

    assert_repeats(run, (vector(0), vector(100)), (vector(7), vector(-3)))
    _, launches = listed((vector(0), vector(100)), (), run)
    copies = [step for _, step in launches._segments if step is not None]
    assert len(copies) == 4, "a second target, a part, an input, and a transposed tensor"


def _copied_result(x):
    result, packed = added(x, x, room(), 0), room()
    copied(result, packed)
    return [result, packed]


def _copied_twice(x):
    first, second = room(), room()
    copied(added(x, x, room(), 0), first)
    copied(first, second)
    return second


def test_inputs_may_share_a_storage_and_lie_elsewhere_in_another_call():
    both, (one, other) = torch.arange(2.0 * COUNT), (vector(3), vector(9))
    run = lambda x, y: added(y, y, added(x, y, room(), 0), 1)  # noqa: E731
    _, launches = listed([both[:COUNT], both[COUNT:]], (), run)
    assert torch.equal(launches([one, other]), run(one, other))


def test_zeros_of_the_stream_are_taken_anew_in_each_call():
    def run(x):
        return added(x, zeros_of_stream(x.device)[: 2 * COUNT].view(torch.float32)[COUNT:], room(), 0)

    assert_repeats(run, [vector(0)], [vector(50)])


def test_launches_go_to_the_current_stream():
    driver = Driver(ADD)
    x = vector(0)
    _, launches = listed([x], (), lambda x: added(x, added(x, x, room(), 1), room(), 1), driver)
    for driver.current in (3, 3, 0, 1 << 40):
        launches([x])
    assert driver.streams == [stream for stream in (3, 3, 0, 1 << 40) for _ in range(2)]


def test_a_list_keeps_none_of_its_call_s_memory():
    x = vector(0)
    result, launches = listed([x], (), lambda x: added(x, x, room(), 1))
    assert launches([x]).data_ptr() != result.data_ptr()
    assert launches([x]) is not launches([x])


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (lambda x: added(x, torch.zeros(COUNT), room(), 0), "memory is used"),
        (lambda x: added(x, x, room(), 0) + 1, "memory is used"),
        (lambda x: operation(torch.Tensor.add_, x, torch.ones(COUNT)), "memory is used"),
        (lambda x: added(x, x, room(), 0)[4:], "part of other memory"),
        (lambda x: x[:4], "part of other memory"),
        (lambda x: (lambda out: (out, out.view(4, 6)))(added(x, x, room(), 0)), "part of other memory"),
        (_copied_result, "part of other memory"),
        (_copied_twice, "copied itself"),
    ],
    ids=[
        *("strange input", "strange result", "strange operand", "slice", "slice of x", "two views"),
        *("copied result", "copied twice"),
    ],
)
def test_a_call_whose_memory_is_not_written_down_is_refused(run, reason):
    with pytest.raises(Uncacheable, match=reason):
        listed([vector(0)], (), run)


def test_a_kernel_with_other_parameters_than_expected_is_refused():
    driver = Driver(ADD)
    driver.parameter_bytes = lambda function: (8, 8)
    with pytest.raises(Uncacheable, match="declares"):
        listed([vector(0)], (), lambda x: added(x, x, room(), 0), driver)


def _buffer(bytes_: int, *steps: int) -> Buffer:
    return Buffer(torch.empty(bytes_, dtype=torch.uint8), steps=sorted(steps))


@pytest.mark.parametrize("seed", range(20))
def test_buffers_that_a_step_needs_at_once_lie_apart_and_others_share(seed):
    draw = random.Random(seed)
    buffers = [_buffer(draw.randrange(1, 3000), *draw.choices(range(12), k=2)) for _ in range(10)]
    outputs = [_buffer(draw.randrange(1, 3000), draw.randrange(12), 12) for _ in range(3)]
    positions, size = workspace_layout(buffers, outputs)
    for one, other in combinations(buffers, 2):
        together = one.steps[0] <= other.steps[1] and other.steps[0] <= one.steps[1]
        if together and positions[one][0] is positions[other][0]:
            spans = [range(positions[each][1], positions[each][1] + each.bytes) for each in (one, other)]
            assert spans[0].stop <= spans[1].start or spans[1].stop <= spans[0].start
    for each, (output, start) in positions.items():
        assert start % 512 == 0
        assert start + each.bytes <= (size if output is None else output.bytes)
        assert output is None or each.steps[1] < output.steps[0]


def test_a_workspace_is_no_larger_than_what_is_needed_at_once_beside_outputs_that_wait():
    assert workspace_layout([_buffer(1000, at) for at in range(5)], [])[1] == 1000
    late, early = _buffer(2048, 3, 9), _buffer(4096, 0, 9)
    assert workspace_layout([_buffer(1024, 1), _buffer(1024, 1, 2), _buffer(512, 3)], [early, late])[1] == 512
