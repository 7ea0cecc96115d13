"""Contract: calls reach CUDA's driver from every launcher and every thread, and not past another Triton."""

import ast
from pathlib import Path

import pytest

from kernels.launching import cuda as cuda_module
from kernels.launching.cuda import Cuda

TOP = Path(__file__).resolve().parents[3]


def test_another_triton_launches_its_kernels_itself(monkeypatch):
    monkeypatch.setattr(cuda_module, "triton_version", lambda: (3, 10))
    monkeypatch.setattr(cuda_module, "Cuda", lambda: pytest.fail("CUDA's driver is left alone"))
    assert cuda_module.cuda.__wrapped__() is None


def test_a_thread_s_first_call_binds_it_to_the_gpu(monkeypatch):
    """CUDA's driver refuses a thread without a context. torch binds one where it first calls the runtime."""
    given, bound = [], []
    monkeypatch.setattr(Cuda, "bind", lambda cuda: bound.append(True))
    Cuda.__new__(Cuda).settle(201, lambda *call: given.append(call) or 0, 1, 2)
    assert (given, bound) == ([(1, 2)], [True])


def test_every_launcher_launches_on_record():
    """A launch that is made as kernel[grid](...) would be missing on a tape."""

    def launches(path):
        calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        return [ast.unparse(call.func) for call in calls if isinstance(call.func, ast.Subscript)]

    rooms = ("gemm", "quantize", "fused", "operand_passes", "layer")
    files = [path for room in rooms for path in (TOP / "kernels" / room).rglob("*.py")]
    assert {path.name: found for path in files if (found := launches(path))} == {}
