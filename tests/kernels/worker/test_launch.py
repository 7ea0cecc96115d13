"""One worker a GPU that this process may use; and the app's side of it needs no torch."""

import subprocess
import sys

import pytest

from kernels.nvml import Driver
from kernels.paths import TOP
from kernels.worker.launch import helpers, visible_gpus

ENTRIES = {
    "0": ("0",),
    "2, 3": ("2", "3"),
    "": (),
    "-1": (),
    "1,-1,2": ("1",),
    "GPU-8f1c,MIG-77": ("GPU-8f1c", "MIG-77"),
}


@pytest.mark.parametrize("value", ENTRIES)
def test_cuda_visible_devices_decides(value):
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": value}, driver=Driver) == ENTRIES[value]


@pytest.mark.parametrize(
    ("gpus", "cores", "count"),
    [((), 64, 0), (("0",), 2, 0), (("0",), 12, 4), (("0",), 99, 6), (("0", "1"), 32, 10)],
)
def test_helpers_are_for_hosts_with_a_gpu_and_cores_to_spare(gpus, cores, count):
    assert len(helpers(gpus, cores)) == count


def test_the_parent_side_imports_no_torch():
    program = (
        "import kernels.worker.launch, kernels.worker.queue, sys\n"
        "sys.exit(', '.join({'torch', 'triton'} & set(sys.modules)) or None)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=TOP, check=True)
