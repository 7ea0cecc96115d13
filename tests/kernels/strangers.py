"""Stand-ins for GPUs and Tritons that the kernels are not for."""

from types import SimpleNamespace

import pytest
import torch
import triton

from kernels import device

AMD_SAYS = r"AMD Instinct MI300X is an AMD GPU \(gfx942 7\.0\).*NVIDIA GPUs\."


def amd(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch for ROCm with an MI300X, which it calls a cuda device of capability 9.4."""
    facts = SimpleNamespace(
        name="AMD Instinct MI300X", major=9, minor=4, gcnArchName="gfx942", multi_processor_count=304
    )
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_device", lambda index: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda index: (1 << 37, 1 << 38))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: facts)


def old_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton 3.2."""
    monkeypatch.setattr(device, "triton_version", lambda: (3, 2))
    monkeypatch.setattr(triton, "__version__", "3.2.0")
