"""Refusal of tensors that require a gradient: autograd does not see a kernel's direct call."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def refuse_gradient(verb: str, **tensors: "torch.Tensor | None") -> None:
    """Raise ValueError if one of the tensors requires grad, unless autograd is off, as in torch.no_grad().

    The result of `verb` would silently have no gradient.
    """
    for name, tensor in tensors.items():
        if tensor is None or not tensor.requires_grad:
            continue
        import torch

        if torch.is_grad_enabled():
            raise ValueError(
                f"{verb} has no gradient and {name} requires one: kernels.layer.linear has it; else give "
                f"{name}.detach(), or call {verb} in torch.no_grad()"
            )
