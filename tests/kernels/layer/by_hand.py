"""A layer's step by hand: our own quantize and gemm for each matmul; and how close two tensors are."""

from dataclasses import replace
from itertools import product

import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import Recipe
from kernels.gemm import gemm, quantize
from kernels.layer.plan import layer_plan
from kernels.layer.steps import random_seeds
from tests.kernels.cases import WHERE


def step(
    recipe: Recipe, x: torch.Tensor, w: torch.Tensor, dy: torch.Tensor, seed: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(y, dx, dw) as gemm gives them after torch.manual_seed(seed), in bf16 where the tensors are."""
    seeds = operand_seeds(recipe, seed, x.device)
    tensors = {"x": x.detach(), "w": w.detach(), "dy": dy}
    results = []
    for matmul in MATMULS.values():
        operands = []
        for side in Side:
            own, operand = tensors[matmul.operand(side).value], recipe.operand(matmul, side)
            if operand is None:
                own = own.bfloat16()
                operands.append(own.T if matmul.k_is_rows(side) else own)
            else:
                random = {"seed": seeds[matmul.name, side]} if operand.spec.is_random else {}
                operands.append(quantize(own, operand, **random))
        spec = recipe.spec(matmul)
        spec = replace(spec, out=FORMATS["bf16"]) if x.dtype == torch.bfloat16 else spec
        results.append(gemm(*operands, spec))
    return results[0], results[1], results[2]


def operand_seeds(recipe: Recipe, seed: int, device: torch.device | str) -> dict[tuple[str, Side], int]:
    """The seed of each operand in a forward after torch.manual_seed(seed)."""
    torch.manual_seed(seed)
    seeds = random_seeds(layer_plan(recipe, emulate=True), 1, torch.device(device))
    numbers = seeds[0].tolist() if seeds else [0] * len(MATMULS) * len(Side)
    return dict(zip(product(MATMULS, Side), numbers, strict=True))


def sqnr_db(result: torch.Tensor, truth: torch.Tensor) -> float:
    """Power of the truth over that of the difference."""
    truth = truth.detach().double()
    error = result.detach().double() - truth
    return float(10 * torch.log10((truth**2).sum() / (error**2).sum()))


def normal_tensors(
    tokens: int, in_: int, out: int, dtype: torch.dtype = torch.bfloat16, where: str = WHERE
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x and w, which require gradients, and dy: normal numbers."""
    generator = torch.Generator().manual_seed(tokens)
    x, w, dy = (
        torch.randn(shape, generator=generator).to(where, dtype)
        for shape in ((tokens, in_), (out, in_), (tokens, out))
    )
    return x.requires_grad_(), w.requires_grad_(), dy
