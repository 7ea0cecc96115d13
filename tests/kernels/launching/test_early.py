"""Contract: a kernel that may start early is launched so by Triton and by a tape alike."""

import ctypes
from types import SimpleNamespace

import pytest

from kernels.device import ADA, BLACKWELL, HOPPER, INTERPRETER, DeviceKind
from kernels.launching import launch as launching
from kernels.launching.prepared import Prepared

AT_ONCE = 2
"""CU_LAUNCH_ATTRIBUTE_COOPERATIVE: programs that wait for each other all run at once."""
STARTS_EARLY = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION in cuda.h."""


@pytest.mark.parametrize("early", [False, True])
def test_a_tape_asks_cuda_for_what_triton_asked_it_for(early):
    """CUlaunchConfig: seven sizes of 32 bits, the stream, the attributes and their number."""
    seen = []

    def launched(configuration, function, addresses, extra):
        words = (ctypes.c_uint64 * 7).from_address(configuration)
        attribute = (ctypes.c_uint64 * 2).from_address(words[5]) if words[6] else ()
        seen.append((words[4], words[6] & 0xFFFFFFFF, tuple(attribute)))
        return 0

    cuda = SimpleNamespace(launch=launched, replace=None, parameter_bytes=lambda function: ())
    for at_once in (False, True):
        metadata = SimpleNamespace(
            num_ctas=1,
            num_warps=4,
            shared=0,
            target=SimpleNamespace(warp_size=32),
            launch_pdl=early,
            launch_cooperative_grid=at_once,
        )
        Prepared(cuda, SimpleNamespace(function=1, metadata=metadata), (3,), (), ())((), (), 77)
    first = (STARTS_EARLY, 1) if early else ()
    assert seen == [(77, int(early), first), (77, 1 + early, first or (AT_ONCE, 1))]


@pytest.mark.parametrize("device", [HOPPER, BLACKWELL, ADA, INTERPRETER], ids=lambda device: device.name)
def test_only_a_gpu_that_can_starts_a_kernel_early(monkeypatch, device):
    monkeypatch.setattr(launching, "current_device", lambda: device)
    able = device in (HOPPER, BLACKWELL)
    assert launching.early(device.kind) == {"EARLY": able, **({"launch_pdl": True} if able else {})}
    assert launching.early(DeviceKind.INTERPRETER) == {"EARLY": False}
