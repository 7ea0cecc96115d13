"""Refusals of a linear layer, each in a sentence: shapes, dtypes and places that do not go together."""

import torch

_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


def check_operands(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor | None) -> None:
    """Raise ValueError unless x [..., in], w [out, in] and bias [out] are numbers that a layer multiplies."""
    if x.dtype not in _DTYPES or w.dtype not in _DTYPES:
        name, wrong = ("x", x) if x.dtype not in _DTYPES else ("w", w)
        raise ValueError(f"{name} is bfloat16, float16 or float32, got {_named(wrong.dtype)}")
    if w.ndim != 2 or x.ndim < 1 or x.shape[-1] != w.shape[1]:
        raise ValueError(
            f"x[..., in] and w[out, in] need one in, got x {list(x.shape)} and w {list(w.shape)}"
        )
    if x.device != w.device:
        raise ValueError(f"x and w need one device, got {x.device} and {w.device}")
    if bias is None:
        return
    if bias.shape != w.shape[:1] or bias.dtype not in _DTYPES:
        raise ValueError(
            f"bias has one number for each of the {w.shape[0]} outputs, got {_named(bias.dtype)}"
            f"{list(bias.shape)}"
        )


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
