"""Contract: each stream, and each graph under capture, has zeros of its own to count in."""

import sys
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import torch

from kernels.launching import zeros

CPU = torch.device("cpu")


def test_streams_that_come_at_once_get_counters_of_their_own(monkeypatch):
    """Two threads at their first call, each with a stream, count the streams before them at the same time."""
    monkeypatch.setattr(zeros, "_rows", {})
    monkeypatch.setattr(zeros, "_row_of", {})
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(32) as pool:
            rows = list(pool.map(lambda stream: zeros._row(CPU, stream), range(zeros._STREAMS)))
    finally:
        sys.setswitchinterval(old)
    assert len({row.data_ptr() for row in rows}) == zeros._STREAMS
    assert len({row.untyped_storage().data_ptr() for row in rows}) == 1


def test_a_graph_has_counters_of_its_own_and_its_launches_share_them(monkeypatch):
    monkeypatch.setattr(zeros, "_captured", OrderedDict())
    graphs = {
        (stream, capture): zeros._captured_row(CPU, stream, capture)
        for stream in (1, 2)
        for capture in range(zeros._CAPTURES // 2)
    }
    assert len({row.data_ptr() for row in graphs.values()}) == zeros._CAPTURES
    assert all(zeros._captured_row(CPU, *key) is row for key, row in graphs.items())
    assert zeros._row(CPU, 1).data_ptr() not in {row.data_ptr() for row in graphs.values()}
    zeros._captured_row(CPU, 3, 99)
    assert len(zeros._captured) == zeros._CAPTURES, "the oldest capture's are given back"
