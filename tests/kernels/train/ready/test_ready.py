"""Contract of what is compiled ahead: every part of every change; on a GPU nothing is left for the run."""

from dataclasses import replace

import pytest
import torch

from kernels.device import Unsupported
from kernels.train.job import BF16
from kernels.train.place import this_place
from kernels.train.ready import measure as measures
from kernels.train.ready.job import PIECES, TrainReadyJob, ready_jobs
from kernels.train.ready.measure import measure
from kernels.train.sizes import ON_CPU
from kernels.train.variants import VARIANTS
from tests.kernels.train.small import on_cpu, small_text


def test_every_quantized_layer_of_every_change_is_a_part(tmp_path):
    text = small_text(tmp_path)
    parts = {(one.recipe, one.layer) for one in ready_jobs(ON_CPU)}
    assert (BF16, PIECES) in parts
    for variant in VARIANTS.values():
        model = on_cpu().trainer(replace(variant.job, model=ON_CPU), text).model
        names = {name.rpartition(".")[2] for name in model.quantized()}
        assert {(variant.job.recipe, name) for name in names} <= parts


def test_a_part_that_no_model_has_is_refused():
    with pytest.raises(ValueError, match="one of qkv, proj, gate_up, down, head, pieces, got 'up'"):
        TrainReadyJob(recipe="nvfp4", model="s", layer="up")


def test_without_a_gpu_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(measures, "this_place", on_cpu)
    with pytest.raises(Unsupported, match="compiled for a GPU"):
        measure(ready_jobs()[0], progress=lambda *told: None, stopped=lambda: False)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["unscaled_gradients", "head_in_four_bits"])
def test_a_run_compiles_no_kernel_that_its_parts_have_not(name, tmp_path, monkeypatch):
    from triton.runtime.jit import JITFunction

    text, variant = small_text(tmp_path), VARIANTS[name]
    monkeypatch.setattr(measures, "installed_text", lambda: text)
    for part in ready_jobs(ON_CPU):
        if part.recipe == variant.job.recipe:
            measure(part, progress=lambda *told: None, stopped=lambda: False)
    compiled, real = [], JITFunction._do_compile

    def counted(function, *given):
        compiled.append(function.fn.__name__)
        return real(function, *given)

    monkeypatch.setattr(JITFunction, "_do_compile", counted)
    trainer = this_place().trainer(replace(variant.job, model=ON_CPU), text)
    trainer.run(0, 1, 1)
    torch.cuda.synchronize()
    assert compiled == []
