"""Kernels run on the GPU where there is one, else in Triton's interpreter, before Triton is imported."""

import os
from collections.abc import Iterator

import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
    torch.set_num_threads(1)
if os.environ.get("TRITON_INTERPRET") == "1":
    from kernels.interpreter import quickened

    quickened()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    refused = {}
    if not torch.cuda.is_available() or "TRITON_INTERPRET" in os.environ:
        refused["gpu"] = "needs a GPU"
    if "PYTEST_XDIST_WORKER" in os.environ:
        refused["alone"] = "needs the GPU for itself, and other processes use it"
    for item in items:
        for name, reason in refused.items():
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def one_compiler() -> Iterator[None]:
    """Inductor compiles in this process: others would outlive a worker of pytest, which waits for them.

    Torch's own patch: monkeypatch takes a value back by deleting it, and torch then hides the setting.
    """
    from torch._inductor import config

    from kernels.precompile import keep_compiled_code

    keep_compiled_code()
    with config.patch(compile_threads=1):
        yield


@pytest.fixture(autouse=True)
def no_launches() -> None:
    """A test that puts a stand-in into a launcher is to be heard: its calls are first calls."""
    from kernels.gemm import launch as gemm_launch
    from kernels.quantize.quantize import LAUNCHES

    gemm_launch.LAUNCHES.clear()
    LAUNCHES.clear()
