"""Contract: contenders take turns, a time is the median over them, and a graph fills its turn."""

import pytest

from kernels.timing import (
    COLD_LAUNCHES,
    MAX_SETS,
    Contender,
    Load,
    buffer_sets,
    interleaved,
    parsed_load,
    replays,
    timing,
)


class StandIn:
    """A turn that takes the times it is told, and notes that it ran."""

    def __init__(self, name, times, ran):
        self.name, self._times, self._ran = name, iter(times), ran

    def times_us(self):
        self._ran.append(self.name)
        return list(next(self._times))

    def load(self):
        self._ran.append(f"load of {self.name}")
        return Load(1500.0, 600.0)


def test_contenders_take_turns_and_the_load_is_read_half_way():
    ran, said = [], []
    turns = [StandIn("a", [[3.0], [1.0], [2.0]], ran), StandIn("b", [[9.0], [9.0], [9.0]], ran)]
    timings = interleaved(turns, 3, said.append, loaded=("a",))
    assert ran == ["a", "b", "load of a", "a", "b", "a", "b"]
    assert said == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3)]
    assert timings.by_name["a"].median_us == 2.0
    assert timings.by_name["b"].runs == 3
    assert timings.loads == {"a": Load(1500.0, 600.0)}


def test_a_turn_of_several_figures_counts_each():
    turns = [StandIn("cold", [[4.0, 1.0], [2.0, 3.0]], [])]
    found = interleaved(turns, 2, lambda done: None).by_name["cold"]
    assert (found.median_us, found.runs) == (2.5, 4)
    assert 1.0 < found.p20_us < found.median_us < found.p80_us < 4.0


def test_one_figure_is_its_own_spread():
    found = timing([7.0])
    assert (found.median_us, found.p20_us, found.p80_us, found.runs) == (7.0, 7.0, 7.0, 1)


def test_a_graph_is_replayed_to_fill_its_turn():
    assert replays(250_000, 20_000) == 12
    assert replays(20_000, 20_500) == 1
    assert replays(20_000, 10**6) == 1
    assert replays(1_000, 0.0) == 1000


def test_buffers_rotate_beyond_twice_the_l2():
    assert buffer_sets(60 << 20, 60 << 20) == 3
    assert buffer_sets(1 << 30, 60 << 20) == 1
    assert buffer_sets(1, 60 << 20) == MAX_SETS


@pytest.mark.parametrize(
    ("answer", "load"),
    [
        ("1350, 698.20\n", Load(1350.0, 698.2)),
        ("1350, [N/A]\n", Load(1350.0, None)),
        ("", Load()),
        ("No devices were found\n", Load()),
        ("1, 2, 3", Load()),
    ],
)
def test_what_nvidia_smi_cannot_tell_is_none(answer, load):
    assert parsed_load(answer) == load


@pytest.mark.gpu
def test_turns_time_the_gpu_and_a_flush_makes_a_read_slower():
    import torch

    from kernels.device import current_device
    from kernels.timing import ColdTurn, HotTurn, flush_buffer

    l2 = current_device().l2_bytes
    x = torch.ones(l2 // 8, dtype=torch.int32, device="cuda")
    contender = Contender("sum", [lambda: x.sum()])
    hot, cold = HotTurn(contender, 5_000.0), ColdTurn(contender, flush_buffer(l2))
    cold_times = cold.times_us()
    assert len(cold_times) == COLD_LAUNCHES
    assert all(time > 0 for time in cold_times)
    (hot_time,) = hot.times_us()
    assert timing(cold_times).median_us > 1.2 * hot_time
    assert (cold.load().clock_mhz or 1000) > 100
