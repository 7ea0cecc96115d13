"""Contract: no helper is begun on few cores, nor for memory that a machine or a container lacks."""

import pytest

from kernels.check.compiling import room
from kernels.check.compiling.room import free_bytes, room_for_helpers

GIB = 1 << 30
MEMINFO = f"MemTotal:  {64 * GIB >> 10} kB\nMemAvailable:  {48 * GIB >> 10} kB\nHugePages_Total: 0\n"


@pytest.mark.parametrize(
    ("cores", "free", "count"),
    [
        (1, 64 * GIB, 0),
        (2, 64 * GIB, 0),
        (4, 64 * GIB, 3),
        (16, 6 * GIB, 3),
        (16, 0, 0),
        (99, 999 * GIB, 15),
    ],
)
def test_helpers_leave_a_core_and_half_of_the_memory(monkeypatch, cores, free, count):
    monkeypatch.setattr(room, "cores", lambda: cores)
    monkeypatch.setattr(room, "free_bytes", lambda: free)
    assert room_for_helpers() == count


@pytest.mark.parametrize(
    ("limit", "free"), [(None, 48), ("max", 48), (str(8 * GIB), 4), (str(2 * GIB), 0), (str(999 * GIB), 48)]
)
def test_memory_is_free_where_the_container_has_it_too(tmp_path, limit, free):
    (tmp_path / "meminfo").write_text(MEMINFO)
    if limit is not None:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{5 * GIB}\n")
        (tmp_path / "memory.stat").write_text(f"anon 1\ninactive_file {GIB}\n")
    assert free_bytes(tmp_path / "meminfo", tmp_path) == free * GIB
