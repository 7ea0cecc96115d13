"""Contract of pieces: a token is turned by its position alone, and attends to itself and those before it."""

import torch

from kernels.train.model.attention import attend
from kernels.train.model.pieces import rope

SEQUENCES, LENGTH, HEADS, DIM = 2, 5, 3, 8


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    angles = torch.arange(LENGTH)[:, None] * torch.rand(DIM // 2)
    return angles.cos(), angles.sin()


def test_products_of_q_and_k_depend_on_the_distance_of_their_positions_alone():
    torch.manual_seed(0)
    same = torch.randn(1, 1, 3, HEADS, DIM).expand(SEQUENCES, LENGTH, 3, HEADS, DIM)
    q, k, _ = rope(same, *tables())
    products = torch.einsum("slhd,smhd->shlm", q, k)
    for distance in range(-LENGTH + 1, LENGTH):
        along = products.diagonal(distance, 2, 3)
        torch.testing.assert_close(along, along[..., :1].expand_as(along), rtol=1e-4, atol=1e-5)


def test_a_token_attends_to_itself_and_those_before_it():
    torch.manual_seed(0)
    q, k, v = (torch.randn(SEQUENCES, LENGTH, HEADS, DIM) for _ in range(3))
    whole = attend(q, k, v)
    for each in (q, k, v):
        each[:, -1] = 0
    torch.testing.assert_close(attend(q, k, v)[:, :-1], whole[:, :-1])
    torch.testing.assert_close(whole[:, 0], v[:, 0])
