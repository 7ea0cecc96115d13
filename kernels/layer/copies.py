"""A quantized copy as plain tensors and back: what operators take, and what autograd saves.

Parts of a copy, as operators take them, all contiguous:

    codes        uint8[mn, bytes of K, with zeros up to a multiple of K_PADDING codes]
    scales       [k_tiles, mn_tiles], uint8 or float32
    outer scales float32[outer k_tiles, outer mn_tiles], where the rule has two levels
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import torch

from fp8core.recipes import Operand
from kernels.gemm.launch import layout_of
from kernels.launching.launch import packed, unrecorded
from kernels.launching.tape import Seen
from kernels.launching.tokens import interned, layout
from kernels.layer.parts import FLOAT32, UINT8, part_sizes
from kernels.quantize import QuantizedTensor

Size = TypeVar("Size", int, torch.SymInt)


def parts_of(copy: QuantizedTensor) -> list[torch.Tensor]:
    """The parts of a copy. They share its memory."""
    scales = (copy.scale, copy.outer_scale)
    if not copy.operand.k_is_rows:
        scales = tuple(None if scale is None else scale.T for scale in scales)
    if copy.codes.numel():
        codes = copy.operand_bytes
    else:
        (shape, dtype), *_ = part_shapes(copy.operand, copy.shape)
        codes = copy.codes.new_empty(shape, dtype=dtype)
    return [codes, *(scale for scale in scales if scale is not None)]


def from_parts(operand: Operand, parts: Sequence[torch.Tensor], k: int) -> QuantizedTensor:
    """The copy with these parts, of a tensor that has k elements along K."""
    outer = parts[2] if len(parts) > 2 else None
    return QuantizedTensor.of(operand, parts[0], parts[1], k, outer)


def part_shapes(operand: Operand, shape: tuple[Size, Size]) -> list[tuple[tuple[Size, Size], torch.dtype]]:
    """Shape and dtype of each part of a tensor's copy. torch.compile also asks it with unknown sizes."""
    dtypes = {UINT8: torch.uint8, FLOAT32: torch.float32}
    return [(part.shape, dtypes[part.itemsize]) for part in part_sizes(operand, shape)]


Given = QuantizedTensor | torch.Tensor
"""One of what a matmul is given: a copy; or a part of one; or a tensor in bf16, as it is stored."""


class Form(NamedTuple):
    """A copy without its tensors: what it takes to put it together again.

    - layouts: how each tensor lies in memory.
    - padded: zeros follow the codes of each row, and kernels read them.
    """

    operand: Operand
    shape: tuple[int, int]
    again: Callable[[Sequence[torch.Tensor]], QuantizedTensor]
    layouts: tuple[Hashable, ...]
    padded: bool


Forms = Sequence[Form | None]
"""Forms of what was saved; None for one that is a tensor itself."""


def saved(given: Sequence[Given]) -> tuple[list[torch.Tensor], list[Form | None]]:
    """Tensors for autograd to save, and how they become what they were."""
    tensors: list[torch.Tensor] = []
    forms: list[Form | None] = []
    for each in given:
        if isinstance(each, QuantizedTensor):
            tensors += each.tensors
            forms.append(_form(each))
        else:
            tensors.append(each)
            forms.append(None)
    return tensors, forms


_KEPT = 1 << 12
_forms: dict[Hashable, Form] = {}
"""What puts a copy together again, without its amax, by its layout: each step has the copies of the last."""


def _form(copy: QuantizedTensor) -> Form:
    known = _forms.get(copy.layout)
    if known is None:
        if len(_forms) >= _KEPT:
            _forms.clear()
        known = _forms[copy.layout] = Form(
            operand=copy.operand,
            shape=copy.shape,
            again=replace(copy, amax=None).like(),
            layouts=tuple(map(layout, copy.tensors)),
            padded=copy.padded_codes.shape != copy.operand_codes.shape,
        )
    return known


def marks_of(tensors: Sequence[torch.Tensor], forms: Forms) -> list[int]:
    """Addresses of codes with zeros after their rows: a hook that moves such codes leaves those behind."""
    marks, at = [], 0
    for form in forms:
        if form is not None and form.padded:
            marks.append(tensors[at].data_ptr())
        at += 1 if form is None else len(form.layouts)
    return marks


def restored(tensors: Sequence[torch.Tensor], forms: Forms, marks: Sequence[int]) -> list[Given]:
    """What `saved` was given. `marks`: those of its tensors."""
    given: list[Given] = []
    at, known = 0, iter(marks)
    for form in forms:
        if form is None:
            given.append(tensors[at])
            at += 1
            continue
        end = at + len(form.layouts)
        made = tensors[at:end]
        there = not form.padded or next(known) == made[0].data_ptr()
        same = there and tuple(map(layout, made)) == form.layouts
        given.append(form.again(made) if same else _laid_out(form, made))
        at = end
    return given


def _laid_out(form: Form, made: Sequence[torch.Tensor]) -> QuantizedTensor:
    """A copy out of tensors that a hook has moved: it kept their shapes, not how they lay."""
    codes, *scales = made if form.operand.k_is_rows else [part.T for part in made]
    codes = codes.T.view(torch.uint8)
    (shape, dtype), *_ = part_shapes(form.operand, form.shape)
    whole = codes.new_zeros(shape, dtype=dtype)
    whole[:, : codes.shape[1]] = codes
    k = form.operand.stored(form.shape)[1]
    return from_parts(form.operand, [whole, *(scale.contiguous() for scale in scales)], k)


class Held(NamedTuple):
    """What the tensors are that a way back reads: copies in groups, one group after the other.

    - number: equal for tensors of one meaning that lie alike. layouts: how each one lies.
    - counts: the copies of each group.
    - places: how they lie in one piece of memory, where that is what is held.
    """

    number: int
    forms: Forms
    counts: tuple[int, ...]
    layouts: tuple[Hashable, ...]
    places: tuple[Seen, ...]

    @classmethod
    def of(cls, *groups: list[Given]) -> "tuple[Sequence[torch.Tensor], Held]":
        """The tensors to hold, and what they are. On a tape, small ones are held in one piece of memory."""
        every, counts = [*chain.from_iterable(groups)], tuple(map(len, groups))
        tensors, forms = saved(every)
        held, places = packed(tensors)
        return held, cls(
            number=interned((bool(places), counts, *map(layout_of, every))),
            forms=forms,
            counts=counts,
            layouts=tuple(map(layout, held)),
            places=places,
        )

    def marks(self, tensors: Sequence[torch.Tensor]) -> Sequence[int]:
        """What differs where a hook has moved codes, and has left the zeros after their rows behind."""
        return () if self.places else marks_of(tensors, self.forms)

    def moved(self, tensors: Sequence[torch.Tensor], marks: Sequence[int]) -> bool:
        """True where a hook has moved what was saved, and it lies otherwise."""
        return tuple(map(layout, tensors)) != self.layouts or self.marks(tensors) != marks

    def groups(self, tensors: Sequence[torch.Tensor], marks: Sequence[int]) -> list[list[Given]]:
        """The copies of each group."""
        if self.places:
            with unrecorded():
                tensors = [place.of([*tensors]) for place in self.places]
            marks = marks_of(tensors, self.forms)
        every = iter(restored(tensors, self.forms, marks))
        return [[*islice(every, count)] for count in self.counts]
