"""Contract: blocks cut M, N and K without gaps, fit shared memory, and refuse what no kernel can have."""

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER
from kernels.gemm.blocks import MAX_SPLIT, Blocks, Body
from kernels.gemm.meaning import Summation, meaning_of
from kernels.gemm.simple.blocks import built_in

BLOCKS = {"block_m": 64, "block_n": 128, "block_k": 128, "warps": 4, "stages": 3}


@pytest.mark.parametrize("split_k", [1, 2, 3, 7, 16, MAX_SPLIT])
@pytest.mark.parametrize("k", [0, 1, 128, 129, 640, 4096, 14336])
def test_the_runs_of_k_cover_it_and_none_is_empty(split_k, k):
    blocks = Blocks(**BLOCKS, split_k=split_k)
    runs, steps = blocks.runs(k)
    needed = max(1, -(-k // blocks.block_k))
    assert 1 <= runs <= split_k
    assert (runs - 1) * steps < needed <= runs * steps


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"block_m": 96}, "block_m is a power of two, got 96"),
        ({"block_k": 0}, "block_k is a power of two, got 0"),
        ({"warps": 6}, "4 or 8 warps"),
        ({"stages": 0}, "got 4 warps, 0 stages"),
        ({"split_k": 0}, "split into 1 to 32 runs"),
        ({"split_k": MAX_SPLIT + 1}, "got 33"),
        ({"split_k": 2, "persistent": True}, "got 2 by persistent programs"),
        ({"decoded": "ba"}, "decoded names operands: .* got 'ba'"),
        ({"decoded": "a"}, "the left factor is not decoded alone: .* got 'a'$"),
        ({"decoded": "b", "transposed": True}, "the left factor is not decoded alone: .* 'b', transposed$"),
        (
            {"transposed": True, "body": Body.CHAINED},
            "chained body is not transposed .* transposed$",
        ),
        ({"decoded": "b", "body": Body.PROMOTED}, "decodes neither A nor B, got 'b'"),
        (
            {"persistent": True, "body": Body.NATIVE_MX},
            "the scaled tensor core's kernel has TMA and one program",
        ),
        ({"decoded": "", "body": Body.DECODING}, "decodes A or B or both, got ''"),
    ],
    ids=str,
)
def test_blocks_that_no_kernel_has_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Blocks(**BLOCKS | change)


def test_stages_shrink_to_what_fits():
    blocks = Blocks(**BLOCKS)
    assert blocks.within(227 << 10, 1, 2) == blocks
    assert blocks.within(60 << 10, 1, 2).stages == 2
    assert blocks.within(40 << 10, 1, 2) is None
    kept = Blocks(block_m=128, block_n=256, block_k=128, warps=8, stages=3, persistent=True)
    assert kept.within(227 << 10, 1, 2) == kept
    assert kept.within(227 << 10, 1, 4).stages == 2, "an fp32 D leaves as the next block's operands come"
    assert kept.within(99 << 10, 1, 4) is None


def test_values_that_are_decoded_take_a_step_s_memory_and_free_the_codes():
    """Figures of Triton 3.6's own: 153,656 bytes with 4 stages, less its barriers."""
    blocks = Blocks(**BLOCKS | {"stages": 4}, decoded="b")
    a, codes = 64 * 128 * 2, 128 * 128 + 128 * 4 * 4
    assert (
        4 * blocks.operand_bytes(2) + blocks.decoded_bytes() == 4 * a + 3 * codes + 128 * 128 * 2 == 153_600
    )
    assert blocks.within((154 << 10) + (2 << 10), 2, 2) == blocks
    assert blocks.within(150 << 10, 2, 2).stages == 3


@pytest.mark.parametrize("device", [ADA, HOPPER, BLACKWELL, BLACKWELL_RTX], ids=lambda device: device.name)
@pytest.mark.parametrize("mnk", [(1, 4096, 4096), (256, 4096, 4096), (8192, 8192, 8192)], ids=str)
@pytest.mark.parametrize("matmul", MATMULS)
@pytest.mark.parametrize("recipe", ["rowwise", "deepseek_v3"])
def test_the_built_in_blocks_fit_every_gpu(device, mnk, recipe, matmul):
    meaning = meaning_of(RECIPES[recipe].spec(MATMULS[matmul]), device, Summation.RECIPE)
    limit, out_bytes = device.shared_memory_bytes, meaning.spec.out.bytes
    blocks = built_in(meaning, mnk, device)
    assert blocks.tma == (device is not ADA)
    assert blocks.body is Body.SIMPLE
    out = blocks.block_m * blocks.block_n * out_bytes if blocks.persistent else 0
    assert blocks.stages * blocks.operand_bytes(1) + out < limit
