"""Contract of statistics: those of fp8core's copies, under the names that logs have."""

import numpy as np
import pytest

from fp8core.errors import rel_err, sqnr_db
from fp8core.linear import MATMULS, LayerTensor, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from kernels.train.statistics import _largest, statistics, tensors_of_a_step
from kernels.train.variants import VARIANTS
from tests.kernels.train.small import small_text, trainer


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return small_text(tmp_path_factory.mktemp("text"))


def test_a_copys_statistics_are_those_of_the_reference(text):
    one = trainer("deepseek_v3", text)
    one.run(0, 3, 10)
    statistics_ = statistics(one, 3)
    seen = tensors_of_a_step(one)
    assert statistics_.layers == ("0.qkv", "0.proj", "0.gate_up", "0.down")
    assert [(each.tensor, each.matmul) for each in statistics_.copies] == [
        (matmul.operand(side).value, matmul.name) for matmul in MATMULS.values() for side in Side
    ]
    x_fprop, layer = statistics_.copies[0], 2
    x = seen["0.gate_up"][LayerTensor.X].float().numpy()
    tensor = quantize(x, RECIPES["deepseek_v3"].operand(MATMULS["fprop"], Side.A))
    assert x_fprop.sqnr_db[layer] == pytest.approx(sqnr_db(rel_err(tensor.values(), x)), rel=1e-3)
    assert x_fprop.scale_inv_min[layer] == pytest.approx(tensor.scale.min(), rel=1e-3)
    assert x_fprop.scale_inv_max[layer] == pytest.approx(tensor.scale.max(), rel=1e-3)
    assert x_fprop.mse[layer] == pytest.approx(np.square(tensor.values() - x).mean(), rel=1e-3)
    lost = 100 * ((tensor.values() == 0) & (x != 0)).mean()
    assert x_fprop.underflows_percent[layer] == pytest.approx(lost, rel=1e-3)
    assert x_fprop.overflows_percent[layer] == 0
    assert x_fprop.amax[layer] == pytest.approx(np.abs(x).max(), rel=1e-3)


def test_gradients_without_a_scale_underflow(text):
    job = VARIANTS["unscaled_gradients"].job
    one = trainer(job.recipe, text)
    copies = {(each.tensor, each.matmul): each for each in statistics(one, 1).copies}
    assert copies["dy", "dgrad"].scale_inv_max == (1.0,) * 4
    assert max(copies["dy", "dgrad"].underflows_percent) > 90
    assert max(copies["x", "fprop"].underflows_percent) < 1


@pytest.mark.parametrize("name", ["e4m3", "e2m1"])
def test_a_number_saturates_from_half_a_step_beyond_the_largest_code(name):
    spec = RECIPES["mxfp8_floor" if name == "e4m3" else "mxfp4"].fprop.a
    assert spec.format.name == name
    largest, ratio = _largest(spec.format)
    assert largest == spec.format.max
    just = np.nextafter(largest * ratio, np.inf)
    assert spec.format.rounds_beyond(np.array([just]))[0]
    assert not spec.format.rounds_beyond(np.array([largest * ratio * 0.999]))[0]
