"""Contract: where the shell ignores Ctrl-C, processes of tests hear it, and nodes of Ray."""

import ctypes
import signal
import subprocess
import sys
from functools import partial

from kernels.paths import TOP
from kernels.worker.cluster.node import _share_fate

TOLD = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
CHILD = [sys.executable, "-c", TOLD]


def test_a_process_of_a_test_hears_ctrl_c():
    assert subprocess.check_output(CHILD, text=True) == "True\n"


def test_it_does_in_a_shell_that_ignores_ctrl_c():
    test = f"{__file__}::{test_a_process_of_a_test_hears_ctrl_c.__name__}"
    command = f"trap '' INT; exec {sys.executable} -m pytest -q -n 0 -p no:cacheprovider {test}"
    done = subprocess.run(["sh", "-c", command], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_node_of_ray_hears_the_ctrl_c_that_ends_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        fate = partial(_share_fate, ctypes.CDLL(None))
        assert subprocess.check_output(CHILD, text=True, preexec_fn=fate) == "True\n"
    finally:
        signal.signal(signal.SIGINT, before)
