"""Contract: the real worker measures, stops and says why it cannot run; one worker a GPU that may be used."""

import os
import threading
import time
from functools import partial
from inspect import signature
from queue import SimpleQueue
from subprocess import CalledProcessError
from types import SimpleNamespace

import pytest

from fp8core.formats import FORMATS
from fp8core.formats.binades import finest_bits
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, Unsupported
from kernels.measure.jobs import GemmJob
from kernels.measure.rows import Peer, Provenance
from kernels.nvml import Driver
from kernels.worker import child
from kernels.worker.child import Engine, serve
from kernels.worker.jobs import Done, Failed, Running, Stopped
from kernels.worker.messages import Do, Finished, Ready, WarmUp, encode
from kernels.worker.queue import WorkerQueue
from kernels.worker.worker import Limits, launchers, visible_gpus
from tests.kernels.worker.stand_in import Act, job, row
from tests.sweeps import exhaustive_unless

HAS_GPU = bool(visible_gpus(os.environ))
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def started():
    """The workers that the tests have started."""
    return []


@pytest.fixture(scope="module")
def queue(started):
    launch = launchers(visible_gpus(os.environ))[0]

    def noted():
        started.append(launch())
        return started[-1]

    made = WorkerQueue([noted], limits=Limits(begin_s=60.0, stop_s=60.0))  # On a busy machine, too.
    yield made
    made.close()


def wait(queue, ticket, until=(Done, Failed, Stopped)):
    deadline = time.monotonic() + PATIENCE_S
    while not isinstance(state := queue.state(ticket), until):
        assert time.monotonic() < deadline, f"still {state}"
        time.sleep(0.02)
    return state


def product(recipe: str, size: int = 100, **fields) -> GemmJob:
    return GemmJob(recipe=recipe, matmul="wgrad", m=size, n=size, k=size, runs=2, **fields)


def half_steps(recipe: str) -> float:
    """The most that rounding moves a number by, as part of it, where formats are finest: of A plus of B."""
    operands = RECIPES[recipe].operands(MATMULS["wgrad"])
    return sum(2.0 ** -(1 + finest_bits(operand.spec.format)) for operand in operands if operand)


@pytest.mark.parametrize("recipe", [exhaustive_unless(name == "nvfp4", name, (name,)) for name in RECIPES])
def test_a_recipe_is_measured_and_says_on_what(queue, recipe):
    row = wait(queue, queue.submit(product(recipe), "s")).row
    assert row.job == product(recipe)
    assert row.provenance is (Provenance.GPU if HAS_GPU else Provenance.INTERPRETER)
    most = half_steps(recipe)
    assert most / 4 <= row.errors.quantization_rel_err <= most
    own = 2.0 ** -(1 + finest_bits(FORMATS["bf16"]))
    assert row.errors.kernel_rel_err < max(0.1 * row.errors.quantization_rel_err, own)
    assert (row.ours is None) == (not HAS_GPU)


def test_a_run_that_is_stopped_leaves_the_worker_fit(queue, started):
    ticket = queue.submit(product("deepseek_v3", size=384, seed=1), "s")
    wait(queue, ticket, Running)
    queue.stop(ticket)
    assert isinstance(queue.state(ticket), Stopped)
    assert isinstance(wait(queue, queue.submit(product("mxfp8", seed=2), "s")), Done)
    assert len(started) == 1


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
def test_a_shape_that_does_not_fit_is_told_and_the_worker_goes_on(queue, started):
    import torch

    wait(queue, queue.submit(product("mxfp8", seed=3), "s"))
    free, _ = torch.cuda.mem_get_info()
    taken = torch.empty(free - (2 << 30), dtype=torch.uint8, device="cuda")
    huge = GemmJob(recipe="mxfp8", matmul="fprop", m=32768, n=32768, k=16384, runs=1)
    failed = wait(queue, queue.submit(huge, "s"))
    del taken
    torch.cuda.empty_cache()
    assert isinstance(failed, Failed)
    assert "32768 × 32768 × 16384 does not fit" in failed.reason
    assert "smaller" in failed.reason
    assert isinstance(wait(queue, queue.submit(product("mxfp8", seed=4), "s")), Done)
    assert len(started) == 1


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")
def test_a_gpu_row_has_its_peers_and_its_clock(queue):
    row = wait(queue, queue.submit(product("per_tensor_e4m3", size=2048), "s")).row
    assert row.over(Peer.BF16) > 0.5
    assert row.over(Peer.TORCH) is not None or row.note
    assert row.machine.clock_mhz is None or row.machine.clock_mhz > 100


NEVER = {"progress": lambda *told: None, "stopped": lambda: False}


ERRORS = (ImportError, OSError, AttributeError, TypeError, KeyError, NameError)
BROKEN = [error("no Triton") for error in ERRORS]
NOT_BUILT = [*BROKEN[:3], SyntaxError("no Triton"), CalledProcessError(1, "no Triton")]


def test_a_job_comes_before_the_warm_up():
    """It takes 20 s, and begins anew at each job that it is stopped for."""
    lines, said, warmed = SimpleQueue(), SimpleQueue(), []
    engine = Engine(lambda job, **_: row(job), warm_up=lambda stopped: not warmed.append(1))
    arguments = (lambda: engine, iter(lines.get, None), said.put, PATIENCE_S)
    signature(serve).bind(*arguments[:3])  # as a far worker calls it
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    lines.put(encode(WarmUp()))
    assert isinstance(said.get(timeout=PATIENCE_S), Ready)
    for number in (1, 2):
        lines.put(encode(Do(number, job(Act.FINE))))
        while not isinstance(said.get(timeout=PATIENCE_S), Finished):
            pass
    assert not warmed


def fail(error, *_, **__):
    raise error


@pytest.mark.parametrize("error", BROKEN, ids=repr)
def test_a_kernel_that_does_not_load_is_found_before_the_first_job(monkeypatch, error):
    monkeypatch.setattr(child, "choose_backend", lambda: None)
    monkeypatch.setattr(child, "import_module", partial(fail, error))
    with pytest.raises(Unsupported, match=r"no Triton.*Install both anew") as told:
        child.load().measure(job(Act.FINE), **NEVER)
    assert type(error).__name__ in str(told.value)


@pytest.mark.parametrize("error", NOT_BUILT, ids=repr)
def test_a_kernel_that_cannot_be_built_is_no_fault_of_the_worker(monkeypatch, error):
    module = SimpleNamespace(measure=partial(fail, error))
    monkeypatch.setattr(child, "choose_backend", lambda: None)
    monkeypatch.setattr(child, "import_module", lambda name: module)
    monkeypatch.setattr(child, "current_device", lambda: HOPPER)
    with pytest.raises(Unsupported, match=r"no Triton.*Run a sanity check"):
        child.load().measure(job(Act.FINE), **NEVER)


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
