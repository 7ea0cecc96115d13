"""Contract: a row names the commit of the code that ran, in a checkout and in an archive of one."""

import shutil
import subprocess

import pytest

from kernels.bench.commit import looked_up


@pytest.fixture
def checkout(tmp_path):
    if shutil.which("git") is None:
        pytest.skip("there is no git here")

    def git(*asked):
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(("git", "-C", str(tmp_path), *who, *asked), check=True, capture_output=True)
        return done.stdout.decode().strip()

    git("init", "-q")
    (tmp_path / "code").write_text("1")
    git("add", "code")
    git("commit", "-qm", "one")
    return tmp_path, git


def test_a_checkout_s_commit_is_gits_with_a_plus_once_a_file_has_changed(checkout):
    folder, git = checkout
    known = git("rev-parse", "--short", "HEAD")
    (folder / "new").write_text("nobody tracks this")
    assert looked_up(folder, folder / "stamp") == known
    (folder / "code").write_text("2")
    assert looked_up(folder, folder / "stamp") == f"{known}+"
