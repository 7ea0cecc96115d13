"""Facts about one weight that two matmuls read."""

import numpy as np
import pytest

from fp8core.experiments.read_back import as_bf16
from fp8core.experiments.two_readers import copies, disagreement, spec_readers, weight_readers
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind, draw
from fp8core.linear import DGRAD, FPROP, LayerTensor
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE
from fp8core.tiles import TileShape

W = as_bf16(draw(InputKind.HEAVY_TAIL, (96, 160), seed=2))


@pytest.mark.parametrize("recipe", RECIPES)
def test_readers_that_share_a_copy_agree_and_others_do_not(recipe) -> None:
    readers = weight_readers(RECIPES[recipe])
    found = disagreement(W, readers)
    one_copy = RECIPES[recipe].copies(LayerTensor.W) == 1 and None not in readers
    assert (found.differ == 0) == one_copy
    assert len(copies(readers)) == len(
        {*readers} if None in readers else range(RECIPES[recipe].copies(LayerTensor.W))
    )
    assert found.elements == W.size
    assert found.zero_in_one <= found.differ


@pytest.mark.parametrize("element", ["e4m3", "e2m1"])
@pytest.mark.parametrize("rule", [E8M0_ROUND_UP, FP32_SCALE], ids=["pow2", "fp32"])
def test_counts_are_those_of_two_quantized_copies(element, rule) -> None:
    spec = OperandSpec(format=FORMATS[element], tile=TileShape(1, 32), scale_rule=rule)
    readers = spec_readers(spec)
    assert [reader.k_is_rows for reader in readers] == [
        matmul.k_is_rows(matmul.side_of(LayerTensor.W)) for matmul in (FPROP, DGRAD)
    ]
    first, second = (quantize(W, reader).exact_values() for reader in readers)
    found = disagreement(W, readers)
    assert found.differ == np.sum(first != second) > 0
    assert found.zero_in_one == np.sum((first == 0) ^ (second == 0))
    assert found.rel_err == pytest.approx(np.linalg.norm(first - second) / np.linalg.norm(W))


def test_a_power_of_two_leaves_normal_numbers_where_they_are() -> None:
    """So e4m3 copies under powers of two differ in few elements, under fp32 scales in most."""
    few, most = (
        disagreement(
            W, spec_readers(OperandSpec(format=FORMATS["e4m3"], tile=TileShape(1, 32), scale_rule=rule))
        ).differ
        for rule in (E8M0_ROUND_UP, FP32_SCALE)
    )
    assert 50 * few < W.size < 2 * most


def test_a_bf16_reader_sees_the_weight_itself_and_zeros_are_refused() -> None:
    readers = weight_readers(RECIPES["mxfp4_train"])
    assert readers[0] is None
    assert copies(readers) == readers
    assert copies((None, None)) == (None,)
    assert disagreement(W, (None, None)).differ == 0
    with pytest.raises(ValueError, match="all-zero weight"):
        disagreement(0 * W, readers)
