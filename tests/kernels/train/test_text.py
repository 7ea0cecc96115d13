"""Contract of the text: whole files are held out, tests are left out, and each step's draw is its own."""

import numpy as np
import pytest

from kernels.train.text import (
    ONE_IN,
    folder_text,
    window_starts,
)
from tests.kernels.train.small import FILES, small_text


@pytest.fixture
def text(tmp_path):
    return small_text(tmp_path)


def test_whole_files_are_held_out(text, tmp_path):
    names = sorted(path.name for path in tmp_path.iterdir())
    held = [(tmp_path / name).read_bytes() for name in names[ONE_IN - 1 :: ONE_IN]]
    assert text.held_out.tobytes() == b"\n".join(held)
    assert (text.source.held_out_files, text.source.files) == (len(held), FILES)
    assert not any(each in text.train.tobytes() for each in held)
    assert text.source.held_out_bytes + len(text.train.tobytes()) + 1 >= text.source.bytes


def test_tests_are_left_out_and_paths_decide_the_order(text, tmp_path):
    before = text.source
    for name in ("tests/m.py", "test_m.py", "deep/benchmarks/b.py", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("assert False\n", encoding="utf-8")
    assert folder_text(tmp_path, "made up", "1").source == before
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    more = folder_text(tmp_path, "made up", "1")
    assert more.train.tobytes().startswith(b"a = 1\n")
    assert more.source.sha256 != before.sha256


def test_a_steps_windows_depend_on_seed_and_step_alone(text):
    whole = window_starts(text, 3, 0, 10, 4, 16)
    assert whole.shape == (10, 4)
    assert np.array_equal(window_starts(text, 3, 6, 4, 4, 16), whole[6:])
    assert not np.array_equal(window_starts(text, 4, 0, 10, 4, 16), whole)
    assert whole.min() >= 0
    assert whole.max() + 16 < len(text.train)
