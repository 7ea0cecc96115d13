"""Kernels run on the GPU where there is one, else in Triton's interpreter, before Triton is imported."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")
    torch.set_num_threads(1)
if os.environ.get("TRITON_INTERPRET") == "1":
    from kernels.launching.interpreter import quickened

    quickened()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available() and "TRITON_INTERPRET" not in os.environ:
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))


@pytest.fixture(autouse=True)
def no_tapes() -> None:
    """A test that puts a stand-in into a launcher is to be heard: its calls are first calls."""
    from kernels.gemm import launch as gemm_launch
    from kernels.quantize import launch as quantize_launch

    gemm_launch.TAPES.forget()
    quantize_launch.TAPES.forget()
