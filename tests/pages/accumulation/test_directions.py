"""Contract: the table says of each recipe how its matmuls add, and the words count the bits of the format."""

from fp8core.recipes import RECIPES
from pages.accumulation.directions import fp22_words, table


def row_of(title: str) -> list[str]:
    row = next(line for line in table().splitlines() if f"“{title}”" in line)
    return [cell.strip() for cell in row.strip("|").split("|")][:3]


def test_fast_forward_and_promoted_backward():
    every = RECIPES["deepseek_v3"].fprop.accumulator.promotion
    promoted = f"promoted every {every}"
    assert row_of(RECIPES["per_tensor"].title) == ["one chain", promoted, promoted]
    assert row_of(RECIPES["rowwise_hp_wgrad"].title) == ["one chain", promoted, "bf16"]
    assert row_of(RECIPES["deepseek_v3"].title) == [promoted] * 3
    assert RECIPES["mxfp8"].title not in table()


def test_fp22_has_its_name_from_its_bits():
    assert "**fp22**" in fp22_words()
