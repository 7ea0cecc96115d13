"""Contract: SwiGLU and its gradients are those of float64, rounded to bf16 or to a neighbor of that."""

import numpy as np

from fp8core.formats import FORMATS
from fp8core.fused import sigmoid, swiglu, swiglu_backward

BF16 = FORMATS["bf16"].ml_dtype
EVERY = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
"""Every bf16 number."""
GATES = EVERY[np.isfinite(EVERY) & (np.abs(EVERY) < 80)]


def exact_sigmoid(gate):
    return 1 / (1 + np.exp(-gate.astype(np.float64)))


def bf16(x):
    return x.astype(BF16).astype(np.float32)


def test_the_sigmoid_is_within_four_units_of_its_last_place_up_to_eight():
    near = GATES[np.abs(GATES) < 8]
    exact = exact_sigmoid(near)
    assert (np.abs(sigmoid(near) - exact) / np.spacing(exact.astype(np.float32))).max() < 4
    assert sigmoid(0) == np.float32(0.5)
    assert sigmoid(200) == 1


def test_silu_of_every_bf16_gate_is_the_nearest_bf16_number():
    found = swiglu(np.stack([GATES, np.ones_like(GATES)], axis=1))[:, 0]
    exact = GATES * exact_sigmoid(GATES)
    normal = np.abs(exact) >= FORMATS["bf16"].min_normal
    np.testing.assert_array_equal(found[normal], bf16(exact)[normal])


def test_gradients_are_those_of_the_function():
    dice = np.random.default_rng(0)
    gate, up, dh = (bf16(3 * dice.standard_normal((40, 70))) for _ in range(3))
    share = exact_sigmoid(gate)
    of_gate = dh.astype(np.float64) * up * share * (1 + gate * (1 - share))
    exact = np.concatenate([of_gate, dh.astype(np.float64) * gate * share], axis=1)
    found = swiglu_backward(dh, np.concatenate([gate, up], axis=1))
    assert (np.abs(found - exact) <= np.spacing(np.abs(exact).astype(BF16)).astype(np.float64)).all()


def test_a_broken_number_breaks_its_own_result_alone():
    gate_up = np.ones((2, 4), np.float32)
    gate_up[0, 0], gate_up[1, 3] = np.nan, np.inf
    np.testing.assert_array_equal(np.isfinite(swiglu(gate_up)), [[False, True], [True, False]])
