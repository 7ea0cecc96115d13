"""One GEMM for each way in which operands come: what they are made of, and how they lie in memory."""

from fp8core.linear import Side
from fp8core.recipes import OperandSpec
from fp8core.tiles import WHOLE
from tests.kernels.cases import EVERY_GEMM
from tests.sweeps import distinct


def _comes_as(own: OperandSpec | None) -> object:
    """Equal for operands that a measurement handles alike."""
    if own is None:
        return None
    rule = own.scale_rule
    memory = own.format.packed_bits, rule.format.bits, rule.outer is not None, own.tile.k is WHOLE
    made = own.is_random, own.rotation is not None, own.saved_as is not None, bool(rule.history)
    return memory, made


GIVEN = distinct(
    EVERY_GEMM,
    lambda recipe, matmul: frozenset(_comes_as(recipe.spec(matmul).operand(side)) for side in Side),
)
