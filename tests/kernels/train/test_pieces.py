"""Contract of pieces: a gradient that is written out is the one that autograd finds."""

import torch

from kernels.train.attention import attend
from kernels.train.pieces import rope, rope_back

SHAPE = SEQUENCES, LENGTH, HEADS, DIM = 2, 5, 3, 8


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    angles = torch.arange(LENGTH)[:, None] * torch.rand(DIM // 2)
    return angles.cos(), angles.sin()


def test_the_gradient_of_turned_q_and_k_turns_back():
    torch.manual_seed(0)
    cosine, sine = tables()
    qkv = torch.randn(SEQUENCES, LENGTH, 3, HEADS, DIM, requires_grad=True)
    dq, dk, dv = (torch.randn(SHAPE) for _ in range(3))
    q, k = rope(qkv, cosine, sine)
    torch.autograd.backward((q, k, qkv[:, :, 2]), (dq, dk, dv))
    torch.testing.assert_close(rope_back(dq, dk, dv, cosine, sine), qkv.grad)


def test_a_token_attends_to_itself_and_those_before_it():
    torch.manual_seed(0)
    cosine, sine = tables()
    qkv = torch.randn(SEQUENCES, LENGTH, 3, HEADS, DIM)
    whole = attend(qkv, cosine, sine)
    changed = qkv.clone()
    changed[:, -1] = 0
    torch.testing.assert_close(attend(changed, cosine, sine)[:, :-1], whole[:, :-1])
    torch.testing.assert_close(whole[:, 0], qkv[:, 0, 2])
