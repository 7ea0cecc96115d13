"""Compile kernels ahead: a pool of processes, and the code that jobs need.

Triton keeps compiled code on disk (TRITON_CACHE_DIR), and a process with the GPU finds it there: both have
the same plan for this GPU and the same dtypes, shapes, strides and alignment. The pool changes no result: a
launch compiles what is missing. Importing this needs no torch.
"""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, as_completed, wait
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import IntEnum
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from loky.backend import get_context
from pebble import ProcessExpired, ProcessPool

from kernels.device import Device, DeviceKind, Unsupported, compile_for, compiles_only, current_device
from kernels.faults import first_line
from kernels.gemm.blocks import Blocks
from kernels.measure.jobs import GemmJob
from kernels.train.job import VOCABULARY, TrainJob

LONGEST_S = 300.0
"""Time limit of one code. A GEMM's kernels take a minute or two beside many others."""
PATIENCE_S = 30.0
"""Seconds of `wait` without a finished code. A GEMM with its quantizers takes a few."""
_KNOWN = 4096
_NICE = 10
_PARENT_S = 1.0
_STDOUT, _STDERR = 1, 2
_STOPPED = "it was stopped"

Code = tuple[Any, ...]
"""A function of a module and its arguments. The call compiles, and returns why it cannot, or ""."""


def keep_compiled_code() -> None:
    """Keep Triton's ptxas and its folder, which Inductor would change: call this before torch.compile."""
    from triton import knobs

    os.environ.setdefault("TRITON_CACHE_DIR", knobs.cache.dir)
    os.environ.setdefault("TRITON_PTXAS_PATH", knobs.nvidia.ptxas.path)


class Rank(IntEnum):
    """The answer that waits for a code: a first, a careful one, or none yet."""

    FIRST = 0
    CAREFUL = 1
    LATER = 2


class Compilation(Future[str]):
    """One code in the pool. The result: why it cannot be compiled, or ""."""

    began = 0.0

    def elapsed_s(self) -> float:
        return time.monotonic() - self.began


class Precompile(AbstractContextManager["Precompile"]):
    """A pool of processes that call codes: for `device`, which they do not use, or on this process's GPU.

    A process that ends or hangs is replaced; other codes go on. Without `knows_device`, `compile_for` names
    the device later; meanwhile the processes import torch.
    """

    def __init__(
        self,
        processes: int,
        device: Device | None = None,
        longest_s: float = LONGEST_S,
        *,
        knows_device: bool = True,
    ) -> None:
        self._processes, self._longest_s = processes, longest_s
        self._device, self.knows_device = device, knows_device
        # loky's fresh processes do not run the main script again, which is Streamlit's or a command's.
        self._pool = ProcessPool(
            processes, initializer=_settle, initargs=(not knows_device,), context=get_context("loky")
        )
        self._lock = threading.RLock()
        self._codes: dict[Code, Compilation] = {}
        self._queues: tuple[deque[Code], ...] = tuple(deque() for _ in Rank)
        self._running = 0
        self._is_open = True
        if not knows_device:
            self._pool.schedule(os.getpid)  # the first task starts the processes

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def left(self) -> list[Compilation]:
        """Codes that are not finished."""
        with self._lock:
            return [code for code in self._codes.values() if not code.done()]

    def compile_for(self, device: Device) -> None:
        """Name the device; the first one counts."""
        with self._lock:
            if not self.knows_device:
                self._device, self.knows_device = device, True
                self._fill()

    def has_begun(self, *code: Any) -> bool:
        """True if a code is being compiled or is finished."""
        with self._lock:
            compilation = self._codes.get(code)
            return compilation is not None and (compilation.running() or compilation.done())

    def submit(self, call: Callable[..., object], *arguments: Any, rank: Rank = Rank.LATER) -> Compilation:
        """Have a code compiled once, before those of a later rank. A cancelled compilation counts as done."""
        code = (call, *arguments)
        with self._lock:
            compilation = self._codes.get(code)
            if is_new := compilation is None:
                if len(self._codes) >= _KNOWN:
                    self._codes = {code: each for code, each in self._codes.items() if not each.done()}
                compilation = self._codes[code] = Compilation()
            if is_new or (rank is not Rank.LATER and not compilation.done()):
                # `_fill` passes over its entry in a later queue once it has begun.
                self._queues[rank].append(code)
            self._fill()
        return compilation

    def faults(self, codes: Sequence[Code], tell: Callable[[int], None]) -> list[str]:
        """For each code why it cannot be compiled, or ""; tell(number of finished codes) as they come."""
        compilations = [self.submit(*code) for code in codes]
        for done, _ in enumerate(as_completed(compilations), 1):
            tell(done)
        return [compilation.result() for compilation in compilations]

    def wait(self, tell: Callable[[int], None], patience_s: float = PATIENCE_S) -> None:
        """Return once all codes are finished, or none was for `patience_s`; tell(number of codes left)."""
        while left := self.left:
            if not wait(left, patience_s, FIRST_COMPLETED).done:
                return
            tell(len(self.left))

    def stop(self) -> None:
        """Kill all processes, and return when they have ended."""
        with self._lock:
            self._is_open = False
            self._fill()
        self._pool.stop()
        self._pool.join()

    def _fill(self) -> None:
        """Give the pool as many codes as it has processes: those in the queues can still be overtaken.

        A stopped pool begins none: the rest is answered.
        """
        while any(self._queues):
            can_begin = self.knows_device and self._running < self._processes
            if self._is_open and not can_begin:
                return
            code = next(filter(None, self._queues)).popleft()
            compilation = self._codes.get(code)
            if compilation is None or compilation.running() or compilation.done():
                continue
            if not self._is_open:
                compilation.set_result(_STOPPED)
                continue
            compilation.set_running_or_notify_cancel()
            compilation.began = time.monotonic()
            self._running += 1
            future = self._pool.schedule(_call, args=(self._device, *code), timeout=self._longest_s)
            future.add_done_callback(partial(self._end, compilation))

    def _end(self, compilation: Compilation, future: "Future[object]") -> None:
        fault = self._fault(future)
        with self._lock:
            self._running -= 1
        compilation.set_result(fault)
        with self._lock:
            self._fill()

    def _fault(self, future: "Future[object]") -> str:
        try:
            error = future.exception()
        except CancelledError:
            return _STOPPED
        if error is None:
            return str(future.result() or "")
        if isinstance(error, ProcessExpired):
            return "the process that compiled it ended"
        if isinstance(error, TimeoutError):
            return f"it did not end within {self._longest_s:.0f} s: its kernel may wait for ever"
        return f"{type(error).__name__}: {first_line(error)}"


def _call(device: Device | None, call: Callable[..., object], *arguments: Any) -> object:
    if device is not None and not compiles_only():
        compile_only(device)
    return call(*arguments)


def _settle(imports: bool) -> None:
    """Begin a process of the pool: at low priority, silent, and ending with its parent or at SIGTERM."""
    os.nice(_NICE)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (_STDOUT, _STDERR):
        os.dup2(nowhere, stream)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if imports:
        import_module("kernels.measure.gemm")


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_S)
    os._exit(1)


def compile_only(device: Device) -> None:
    """Let this process compile for a GPU: launchers do all but launch.

    Call this before any use of a GPU. It hides all GPUs from torch, and so takes none of their memory.
    """
    assert device.capability is not None, "the interpreter compiles nothing"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    from kernels.gemm.simple.blocks import THREADS_A_WARP

    torch.set_num_threads(1)
    major, minor = device.capability
    target = GPUTarget("cuda", 10 * major + minor, THREADS_A_WARP)
    answers = SimpleNamespace(
        get_current_device=lambda: 0, get_current_stream=lambda device: 0, get_current_target=lambda: target
    )
    driver.set_active(answers)
    compile_for(device)


def codes_of(job: object) -> tuple[Code, ...]:
    """The codes that a job waits for: the simple kernel's, for a first answer, and the planned kernel's."""
    if not isinstance(job, GemmJob):
        return ()
    shape = {"m": job.m, "n": job.n, "k": job.k, "own": job.own}
    like = GemmJob(recipe=job.recipe, matmul=job.matmul, accumulation=job.accumulation, **shape)
    return (launch_simple, like), (launch_gemm, like)


def codes_beside(job: object) -> tuple[Code, ...]:
    """The codes that are compiled beside a job, which does not wait: a training run's layers."""
    if not isinstance(job, TrainJob) or job.recipe_data is None:
        return ()
    size = job.size_data
    shapes = [*size.block_linears.values(), *([(size.width, VOCABULARY)] if job.head else [])]
    return tuple((launch_layer, job.recipe, *shape, size.bytes_per_step) for shape in dict.fromkeys(shapes))


def precompile(jobs: Iterable[object], processes: int) -> Precompile:
    """A pool that compiles the codes of jobs, in order, for a device that `compile_for` names later."""
    pool = Precompile(processes, knows_device=False)
    for job in jobs:
        for code in (*codes_of(job)[1:], *codes_beside(job)):
            pool.submit(*code)
    return pool


def launch_gemm(job: GemmJob, blocks: Blocks | None = None, may_spill: bool = False) -> str:
    """Compile a GEMM, under these blocks or those of its plan, and its quantizers; run them once on zeros.

    Returns why the blocks cannot run, or that they spill registers unless they may; "" if they run.
    """
    import torch
    from triton.errors import TritonError

    from kernels.gemm.launch import launch, torch_dtype
    from kernels.gemm.plan import plan_gemm
    from kernels.measure.operands import Operands

    device = current_device()
    planned = plan_gemm(job.spec, job.mnk, device, job.accumulation)
    if isinstance(planned, Unsupported):
        return planned.reason
    plan = replace(planned, blocks=blocks) if blocks is not None else planned
    layer = job.matmul_data.layer(*job.mnk)
    shapes = (layer.of(job.matmul_data.a), layer.of(job.matmul_data.b))
    try:
        # Compiling reads no number: clearing takes half of the time of a code that is compiled already.
        new = torch.empty if compiles_only() else torch.zeros
        tensors = (new(shape, dtype=torch.bfloat16, device=device.place) for shape in shapes)
        a, b = Operands(job, *tensors).quantized()
        out = torch.empty((job.m, job.n), dtype=torch_dtype(plan.numerics.spec.out), device=device.place)
        handle = launch(a, b, plan, out, False, device.kind)
        if device.kind is DeviceKind.GPU and not compiles_only():
            torch.cuda.synchronize()
    except (TritonError, RuntimeError, AssertionError) as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        return f"{plan.blocks.title}: {first}"
    spilled = 0 if blocks is None or may_spill else getattr(handle, "n_spills", 0)
    return f"{plan.blocks.title}: {spilled} registers do not fit" if spilled else ""


def launch_simple(job: GemmJob) -> str:
    """launch_gemm by the simple kernel's own plan."""
    from kernels.gemm.plan import plan_simple

    spec = job.spec
    plan = plan_simple(spec, job.mnk, current_device(), job.accumulation)
    return plan.reason if isinstance(plan, Unsupported) else launch_gemm(job, plan.blocks, may_spill=True)


def launch_layer(recipe: str, in_: int, out: int, tokens: int) -> None:
    """Launch forward and backward of a training run's linear layer on zeros."""
    import torch

    from kernels.layer import Float8Linear
    from kernels.train.job import recipe_of

    where = current_device().place
    layer = Float8Linear(in_, out, bias=False, device=where, recipe=recipe_of(recipe))
    x, dy = (torch.zeros(tokens, width, dtype=torch.bfloat16, device=where) for width in (in_, out))
    layer(x.requires_grad_()).backward(dy)
