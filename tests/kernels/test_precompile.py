"""Contract: code is compiled without a GPU and kept on disk, in processes that leave room for others, survive
a bad code and leave nothing behind.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from kernels import cores as machine
from kernels.cores import processes_beside_app, processes_beside_check
from kernels.device import HOPPER, current_device
from kernels.launching import launch as launches
from kernels.measure.jobs import GemmJob
from kernels.paths import TOP
from kernels.precompile import Precompile, Rank, codes_beside, codes_of, launch_layer
from kernels.train.job import HEAD, ON_CPU, VOCABULARY
from kernels.train.step import this_place
from kernels.train.variants import VARIANTS
from tests.kernels.precompile_tasks import LONG_S, note
from tests.kernels.train.small import on_cpu, small_text
from tests.kernels.worker.shells import is_gone
from tests.sweeps import exhaustive

COMPILE = """
import json
from kernels.measure.jobs import GemmJob
from kernels.check.products import codes_of
from kernels.precompile import compile_only, launch_layer
from kernels.device import HOPPER, current_device

compile_only(HOPPER)
from triton import knobs

found = []
knobs.compilation.listener = lambda **told: found.append([told["src"].name, told["cache_hit"]])
for code, *arguments in CODES:
    code(*arguments)
import torch
print(json.dumps([found, current_device() == HOPPER, HOPPER.place, torch.cuda.is_initialized()]))
"""
GEMM = 'codes_of([GemmJob(recipe="deepseek_v3", matmul="fprop", m=256, n=256, k=256)], HOPPER)'
LAYER = '((launch_layer, "mxfp8", 256, 256, 256),)'


@exhaustive
@pytest.mark.parametrize(
    ("codes", "kernels"),
    [
        pytest.param(GEMM, {"quantize_kernel", "specialized_gemm_kernel"}, id="gemm"),
        pytest.param(LAYER, None, id="layer"),
    ],
)
def test_a_gemm_and_a_layer_are_compiled_without_a_gpu_and_kept_on_disk(tmp_path, codes, kernels):
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    env |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(TOP), *sys.path])}
    for is_known in (False, True) if codes is GEMM else (False,):
        command = [sys.executable, "-c", COMPILE.replace("CODES", codes)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        found, is_hopper, place, opened = json.loads(done.stdout)
        names = {name for name, _ in found}
        assert names == kernels if kernels else any("gemm" in name for name in names)
        assert not all(hit for _, hit in found) or is_known
        assert (is_hopper, place, opened) == (True, "cpu", False)


def until(holds) -> None:
    end = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_each_code_answers_in_order_and_one_that_ends_its_process_takes_no_other_along(tmp_path, capfd):
    counts = []
    with Precompile(2) as pool:
        faults = pool.faults(
            [(note, tmp_path, name) for name in ("a", "die", "b", "odd", "fail")], counts.append
        )
    assert faults == ["", "the process that compiled it ended", "", "it is odd", "RuntimeError: no"]
    assert counts == [1, 2, 3, 4, 5]
    assert all(is_gone(int(path.read_text())) for path in tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_a_code_is_compiled_once_the_first_ones_first_and_none_that_is_cancelled(tmp_path):
    with Precompile(1) as pool:
        busy = pool.submit(note, tmp_path, "hang")
        later = {name: pool.submit(note, tmp_path, name) for name in ("a", "b", "c")}
        assert pool.submit(note, tmp_path, "c", rank=Rank.FIRST) is later["c"]
        later["a"].cancel()
        until(busy.running)
        until((tmp_path / "hang").exists)
        os.kill(int((tmp_path / "hang").read_text()), 9)
        assert [later[name].result(LONG_S) for name in ("c", "b")] == ["", ""]
        assert not pool.left
    times = [(tmp_path / name).stat().st_mtime_ns for name in ("c", "b")]
    assert times == sorted(times)
    assert not (tmp_path / "a").exists()


def test_processes_begin_before_the_device_is_known_and_compile_once_it_is(tmp_path):
    with Precompile(1, knows_device=False) as pool:
        ranked = {rank: pool.submit(note, tmp_path, rank.name, rank=rank) for rank in reversed(Rank)}
        until(lambda: psutil.Process().children())
        assert not any(pool.has_begun(note, tmp_path, rank.name) for rank in Rank)
        pool.compile_for(HOPPER)
        assert {compilation.result(LONG_S) for compilation in ranked.values()} == {""}
        assert pool.has_begun(note, tmp_path, Rank.LATER.name)
    times = [(tmp_path / rank.name).stat().st_mtime_ns for rank in Rank]
    assert times == sorted(times)


def test_what_hangs_is_waited_for_a_while_and_ended(tmp_path):
    pool = Precompile(1)
    pool.submit(note, tmp_path, "hang")
    pool.submit(note, tmp_path, "a")
    until(lambda: (tmp_path / "hang").exists() and (tmp_path / "hang").read_text())
    began = time.monotonic()
    pool.wait(print, patience_s=0.3)
    assert len(pool.left) == 2
    pool.stop()
    assert is_gone(int((tmp_path / "hang").read_text()))
    assert time.monotonic() - began < LONG_S / 4


def test_codes_that_a_stopped_pool_has_not_begun_are_answered(tmp_path):
    pool = Precompile(1, knows_device=False)
    waiting = pool.submit(note, tmp_path, "a")
    pool.stop()
    later = pool.submit(note, tmp_path, "b")
    assert [each.result(timeout=LONG_S) for each in (waiting, later)] == ["it was stopped"] * 2


def test_a_code_that_does_not_end_is_ended_and_told(tmp_path):
    with Precompile(1, longest_s=1.0) as pool:
        faults = pool.faults([(note, tmp_path, "hang"), (note, tmp_path, "a")], lambda done: None)
    assert faults == ["it did not end within 1 s: its kernel may wait for ever", ""]


def test_a_pool_ends_with_its_parent(tmp_path):
    program = (
        "from pathlib import Path\nfrom kernels.precompile import Precompile\n"
        "from tests.kernels.precompile_tasks import note\n"
        f"Precompile(2).submit(note, Path({str(tmp_path)!r}), 'hang').result()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=TOP) as parent:
        until(lambda: (tmp_path / "hang").exists() and (tmp_path / "hang").read_text())
        parent.kill()
    assert is_gone(int((tmp_path / "hang").read_text()))


def test_whoever_compiles_with_torch_keeps_triton_s_folder_first():
    """Each file with torch.compile in it, but the command that runs in a process of its own."""
    files = [path for path in (TOP / "kernels").rglob("*.py") if "torch.compile(" in path.read_text()]
    assert len(files) > 3
    safe = {path.name for path in files if "keep_compiled_code()" in path.read_text()}
    assert {path.name for path in files} - safe == {"__main__.py"}


class Compiled:
    src, metadata = "source", "metadata"

    def warmup(self, *arguments, **constants):
        return self


def test_a_process_that_compiles_ahead_builds_what_launches_a_kernel_once(monkeypatch):
    from triton.backends.nvidia import driver

    built, kernel = [], Compiled()
    monkeypatch.setattr(driver, "make_launcher", None, raising=False)  # as Triton 3.6 has it
    monkeypatch.setattr(driver, "CudaLauncher", lambda *arguments: built.append(arguments))
    monkeypatch.setattr(launches, "compiles_only", lambda: True)
    for _ in range(2):
        assert launches.launch(kernel, (1,)) is kernel
    assert built == [("source", "metadata")]


def test_jobs_of_one_kernel_have_one_code():
    job = GemmJob(recipe="mxfp8", matmul="fprop", m=256, n=256, k=256)
    assert codes_of(job) == codes_of(replace(job, seed=3, runs=5))
    assert codes_of(job) != codes_of(replace(job, k=512))


def test_every_quantized_layer_of_every_change_is_compiled(tmp_path):
    text = small_text(tmp_path)
    for variant in VARIANTS.values():
        job = replace(variant.job, model=ON_CPU)
        model = on_cpu().trainer(job, text).model
        names = {name.rpartition(".")[2] for name in model.quantized()}
        shapes = {**job.size_data.block_linears, HEAD: (job.size_data.width, VOCABULARY)}
        codes = {(launch_layer, job.recipe, *shapes[name], job.size_data.bytes_per_step) for name in names}
        assert codes == set(codes_beside(job))


@pytest.mark.gpu
@pytest.mark.usefixtures("one_compiler")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["unscaled_gradients", "head_in_four_bits"])
def test_a_run_finds_each_kernel_that_the_pool_has_compiled(name, tmp_path, monkeypatch):
    from triton import knobs

    job, text = replace(VARIANTS[name].job, model=ON_CPU), small_text(tmp_path)
    with Precompile(2, current_device()) as pool:
        assert not any(pool.faults(codes_beside(job), lambda done: None))
    missed = []

    def hear(*, src, cache_hit, **more):
        if not cache_hit and not src.name.startswith("triton_"):
            missed.append(f"{src.name} {src.constants} {src.attrs}")

    monkeypatch.setattr(knobs.compilation, "listener", hear)
    this_place().trainer(job, text).run(0, 1, 1)
    assert missed == []


GIB = 1 << 30


@pytest.mark.parametrize(
    ("cores", "free", "count"),
    [(1, 64 * GIB, 0), (2, 64 * GIB, 0), (4, 64 * GIB, 3), (16, 6 * GIB, 3), (16, 0, 0), (99, 999 * GIB, 15)],
)
def test_a_check_leaves_a_core_and_half_of_the_memory(monkeypatch, cores, free, count):
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(machine, "free_bytes", lambda: free)
    assert processes_beside_check() == count


@pytest.mark.parametrize(("gpus", "cores", "count"), [(1, 2, 1), (1, 16, 14), (1, 99, 15), (8, 16, 7)])
def test_the_app_leaves_a_core_to_the_pages_and_one_to_each_worker(monkeypatch, gpus, cores, count):
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(machine, "free_bytes", lambda: 64 * GIB)
    assert processes_beside_app(gpus) == count
