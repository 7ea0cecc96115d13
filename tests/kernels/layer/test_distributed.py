"""Contract: a layer is right on two ranks under DDP, FSDP1, FSDP2 and tensor parallelism, in either order."""

import subprocess
import sys

from kernels.paths import TOP
from tests.serving import free_port


def test_a_layer_is_right_on_two_ranks():
    """All checks in one pair of processes. A fault is raised there, with the name of its check."""
    command = [sys.executable, "-m", "tests.kernels.layer.two_ranks", str(free_port())]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
