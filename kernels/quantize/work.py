"""What it takes to quantize a tensor as one operand: memory for the result, amax passes, the arguments."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from fp8core.packing import packed_bytes
from fp8core.recipes import Operand
from fp8core.tiles import WHOLE, TileShape
from kernels.device import COMPILE_OPTIONS, DeviceKind
from kernels.launching.launch import launch
from kernels.launching.parameters import Word
from kernels.launching.zeros import zeros_of_stream
from kernels.quantize.constants import (
    amax_constants,
    amax_grid,
    for_numbers,
    operand_facts,
    quantize_constants,
)
from kernels.quantize.facts import stores_bytes
from kernels.quantize.lookup import lookup_tables
from kernels.quantize.meeting import gathered
from kernels.quantize.plan import K_PADDING, PARTIALS, QuantizePlan, plan_quantize
from kernels.quantize.tensor import QuantizedTensor

if TYPE_CHECKING:
    import torch


def empty_scale(
    operand: Operand,
    shape: tuple[int, int],
    device: "torch.device",
    dtype: "torch.dtype | None" = None,
) -> "torch.Tensor":
    """[k_tiles, mn_tiles] with nothing in it, for an operand stored in `shape`; uint8 where scales are bytes,
    else float32, unless `dtype` says otherwise.
    """
    import torch

    mn_tiles, k_tiles = operand.stored(operand.grid(shape).scale_shape)
    stored = torch.uint8 if stores_bytes(operand.spec.scale_rule) else torch.float32
    return torch.empty((k_tiles, mn_tiles), dtype=dtype or stored, device=device)


def launch_options(*, meets: bool) -> dict[str, bool]:
    """Compile options, and that of a launch whose programs wait for each other: they all run, or none."""
    return COMPILE_OPTIONS | ({"launch_cooperative_grid": True} if meets else {})


@dataclass(frozen=True, kw_only=True)
class Amax:
    """What passes before the cast have collected: the bits of amax, of tiles and of outer tiles.

    `new` has room for this step's amax under a delayed scale. Each is None where the cast needs none.
    """

    tiles: "torch.Tensor | None" = None
    outer: "torch.Tensor | None" = None
    new: "torch.Tensor | None" = None


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work that quantizes one tensor as one operand, in stored orientation."""

    operand: Operand
    plan: QuantizePlan
    x: "torch.Tensor"
    kind: DeviceKind
    seed: "Word | torch.Tensor | None"
    history: "torch.Tensor | None"
    codes: "torch.Tensor" = field(init=False)
    scale: "torch.Tensor" = field(init=False)
    outer: "torch.Tensor | None" = field(init=False)

    def __post_init__(self) -> None:
        """Ask for the memory that a kernel writes."""
        import torch

        mn, k = self.sizes
        row = packed_bytes(-(-k // K_PADDING) * K_PADDING, self.operand.spec.format.packed_bits)
        codes = torch.empty((mn, row), dtype=torch.uint8, device=self.x.device)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "scale", empty_scale(self.operand, self._shape, self.x.device))
        object.__setattr__(self, "outer", self._outer_scale())

    @property
    def _shape(self) -> tuple[int, int]:
        return self.x.shape[0], self.x.shape[1]

    @property
    def sizes(self) -> tuple[int, int]:
        """(mn, K)."""
        return self.operand.stored(self._shape)

    @property
    def strides(self) -> tuple[int, int]:
        """Those of x along mn and along K."""
        return self.operand.stored((self.x.stride(0), self.x.stride(1)))

    def run(self) -> QuantizedTensor:
        """Quantize x in a launch of its own."""
        from kernels.quantize.kernel import quantize_kernel

        if not self.x.numel():
            return self.result(Amax())
        plan, (mn, k), amax = self.plan, self.sizes, self.collect()
        launch(
            quantize_kernel,
            (-(-mn // plan.block_mn), -(-(-(-k // K_PADDING) * K_PADDING) // plan.block_k)),
            self.x,
            *self.earlier,
            *self.pointers(amax),
            mn,
            k,
            *self.strides,
            *self.counts,
            **self._for_x(quantize_constants(self.operand.spec, plan, self.kind)),
            num_warps=plan.warps,
            **launch_options(meets=plan.meets),
        )
        return self.result(amax)

    def _for_x(self, constants: dict[str, Any]) -> dict[str, Any]:
        """A kernel's constants, for numbers that lie as those of x do."""
        return for_numbers(constants, self.kind, self.x.element_size(), are_neighbors=1 in self.strides)

    @property
    def earlier(self) -> "tuple[torch.Tensor | None, int]":
        """The history that the cast itself looks at, and its steps."""
        return self._earlier() if self.plan.meets else (None, 0)

    def _earlier(self) -> "tuple[torch.Tensor | None, int]":
        if self.history is None or not self.history.numel():
            return None, 0
        history = self.history[-self.operand.spec.scale_rule.history :].contiguous()
        return history, history.numel()

    def pointers(self, amax: Amax) -> tuple[Any, ...]:
        """What a kernel is given of this operand, from amax_ptr to the seed."""
        words, rule = self._words, self.operand.spec.scale_rule
        outer = self.outer if rule.has_fitted_outer else None
        return amax.tiles, amax.outer, words, self.scale, outer, amax.new, *self._tables(), self.seed

    @property
    def counts(self) -> tuple[int, int, int]:
        """The stride of codes, in bytes or words; tiles and outer tiles along mn."""
        fitted = self.outer is not None and self.operand.spec.scale_rule.has_fitted_outer
        return self._words.stride(0), self.scale.shape[1], self.outer.shape[1] if fitted else 1

    @property
    def _words(self) -> "torch.Tensor":
        import torch

        return self.codes if self.operand.spec.format.packed_bits == 8 else self.codes.view(torch.int32)

    def result(self, amax: Amax) -> QuantizedTensor:
        """What was written, as a tensor."""
        import torch

        new = None
        if amax.new is not None:
            new = amax.new.view(torch.float32).view(1, 1)
        elif self.operand.spec.scale_rule.history:
            new = torch.zeros((1, 1), dtype=torch.float32, device=self.x.device)
        return QuantizedTensor.of(self.operand, self.codes, self.scale, self.sizes[1], self.outer, new)

    def known(self, found: "torch.Tensor") -> Amax:
        """The amax of the whole tensor, int32[PARTIALS], where this operand asks for it."""
        fitted = self.operand.spec.scale_rule.has_fitted_outer
        return Amax(outer=found) if fitted else Amax(tiles=found)

    @property
    def collects(self) -> Hashable:
        """Equal for works on one tensor whose passes would collect the same; its own where they would not."""
        return gathered(self.operand.spec, fused=self.plan.fused) or id(self)

    def collect(self) -> Amax:
        """Run the passes that collect amax before the cast, or make room for programs to meet in."""
        import torch

        spec, rule = self.operand.spec, self.operand.spec.scale_rule
        tiles = outer = new = None
        if self.plan.meets:
            zeros = zeros_of_stream(self.x.device)
            if rule.history:
                new = torch.empty(1, dtype=torch.int32, device=self.x.device)
            return Amax(outer=zeros) if rule.has_fitted_outer else Amax(tiles=zeros, new=new)
        if rule.history or not self.plan.fused:
            tiles, new = self._amax(self.scale, spec.tile)
        if rule.has_fitted_outer:
            outer, _ = self._amax(self.outer, rule.outer.tile)
        return Amax(tiles=tiles, outer=outer, new=new)

    def _outer_scale(self) -> "torch.Tensor | None":
        """float32[outer k_tiles, outer mn_tiles]: a constant, or room for what the kernel finds."""
        import torch

        grid, outer = self.operand.outer_grid(self._shape), self.operand.spec.scale_rule.outer
        if grid is None or outer is None:
            return None
        mn_tiles, k_tiles = self.operand.stored(grid.scale_shape)
        if outer.constant is None and self.x.numel():
            return torch.empty((k_tiles, mn_tiles), dtype=torch.float32, device=self.x.device)
        filled = 0.0 if outer.constant is None else outer.constant
        return torch.full((k_tiles, mn_tiles), filled, dtype=torch.float32, device=self.x.device)

    def _amax(self, scale: "torch.Tensor", tile: TileShape) -> "tuple[torch.Tensor, torch.Tensor | None]":
        """(the bits of each tile's largest |x|, room for this step's amax where scales are delayed).

        int32[k_tiles, mn_tiles], as `scale` has them. Where one tile is the whole tensor, int32[PARTIALS]:
        the largest of these counts. With a history that is the largest amax of earlier steps, unless it is
        0.
        """
        import torch

        from kernels.quantize.kernel import amax_kernel, whole_amax_kernel

        spec, device, new = self.operand.spec, scale.device, None
        sizes, strides, plan = self.sizes, self.strides, self.plan
        if gathered(spec, fused=plan.fused) is not None:
            # The numbers count, not where they lie: they are read as they do.
            if strides[0] == 1:
                sizes, strides = sizes[::-1], strides[::-1]
            plan = plan_quantize(spec, *sizes, side_by_side=strides[1] == 1)
        constants = self._for_x(amax_constants(spec, plan, self.kind, tile))
        options = {"num_warps": plan.warps} | COMPILE_OPTIONS
        if tile != TileShape(WHOLE, WHOLE):
            amax = torch.zeros(scale.shape, dtype=torch.int32, device=device)
            grid = amax_grid(spec, plan, sizes)
            launch(
                amax_kernel,
                grid,
                self.x,
                amax,
                *sizes,
                *strides,
                scale.shape[1],
                **constants,
                **options,
            )
            return amax, None
        amax = torch.empty(PARTIALS, dtype=torch.int32, device=device)
        if spec.scale_rule.history:
            new = torch.empty(1, dtype=torch.int32, device=device)
        programs = (min(PARTIALS, prod(amax_grid(spec, plan, sizes))),)
        launch(
            whole_amax_kernel,
            programs,
            self.x,
            amax,
            new,
            *self._earlier(),
            *sizes,
            *strides,
            **constants,
            **options,
        )
        return amax, new

    def _tables(self) -> "tuple[torch.Tensor | None, torch.Tensor | None]":
        """The table of codes, and the values of all codes, where codes are looked up; None where not."""
        spec = self.operand.spec
        if operand_facts(spec, self.plan, self.kind).element.encode_by != "table":
            return None, None
        return lookup_tables(spec.format.name, spec.rounding, self.x.device)
