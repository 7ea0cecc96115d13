"""Contract: `make warm` compiles for a named GPU what the pages open with, and says what it could not do."""

import os
from pathlib import Path

from kernels.check.quantizers import launch_cast
from kernels.device import HOPPER, Unsupported
from kernels.paths import TOP
from kernels.precompile import codes_beside, codes_of
from kernels.train.variants import VARIANTS
from pages.kit.gemm import warm
from pages.kit.gemm.presets import offered
from pages.kit.shared_controls import MATMUL, RECIPE
from pages.live_gemm.facts import K, M, N
from tests.kernels.precompile_tasks import note


def test_what_live_gemm_opens_with_comes_first():
    job = offered()[0]
    defaults = (RECIPE.default, MATMUL.default, M.default, N.default, K.default)
    assert (job.recipe, job.matmul, job.m, job.n, job.k) == defaults
    codes = list(warm.codes(HOPPER))
    assert tuple(codes[:2]) == codes_of(job)
    assert {code for variant in VARIANTS.values() for code in codes_beside(variant.job)} <= {*codes}
    assert any(code[0] is launch_cast for code in codes)


class Inline:
    """The pool of tests/kernels/test_precompile.py, without its processes."""

    def __init__(self, processes, device):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def faults(self, codes, told):
        return [function(*arguments) for function, *arguments in codes]


def test_parts_are_compiled_into_the_folder_and_faults_are_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("TRITON_CACHE_DIR", "/elsewhere")
    monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "0")
    monkeypatch.setattr(warm, "Precompile", Inline)
    for names, code, faults in (("ab", 0, []), (["odd"], 1, ["it is odd"])):
        parts = [(note, tmp_path, name) for name in names]
        monkeypatch.setattr(warm, "codes", lambda device, parts=parts: iter([*parts, *parts]))
        assert warm.main(["--gpu", HOPPER.name, "--into", str(tmp_path / "made")]) == code
        words = f"{len(parts)} parts for {HOPPER.name} lie in {tmp_path / 'made'}"
        assert capsys.readouterr().out.splitlines() == [words, *faults]
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path / "made")
    assert os.environ["TRITON_STORE_BINARY_ONLY"] == "1"


def test_without_a_gpu_one_is_to_be_named(monkeypatch, capsys):
    def missing():
        raise Unsupported("there is no CUDA GPU here")

    monkeypatch.setattr(warm.devices, "current_device", missing)
    assert warm.main([]) == 2
    assert 'make warm GPU="NVIDIA H200"' in capsys.readouterr().err


def test_the_folder_is_no_part_of_the_project():
    assert "/.compiled/" in Path(TOP / ".gitignore").read_text().splitlines()
