"""Compile-time constants of formats, scale rules and operands for the kernels; operands that have no kernel.

No torch, no GPU. Floating-point facts are bits of fp32, because a kernel works on those.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from fp8core.formats import FORMATS, FloatFormat, Format, TableFormat
from fp8core.formats.binades import mantissa_bits
from fp8core.formats.float_format import Specials
from fp8core.recipes import OperandSpec
from fp8core.rotations import Rotation
from fp8core.rounding import Rounding
from fp8core.scales import Fit, ScaleRule
from fp8core.tiles import WHOLE, TileShape
from kernels.device import DeviceKind, Unsupported

FP32, MXINT8 = FORMATS["fp32"], FORMATS["mxint8"]
_CAST = (FORMATS["e4m3"], FORMATS["e5m2"])
"""Formats to which the hardware casts from sm_89 on, nearest even."""
_FEW_BINADES = 3
"""With at most so many binades, a format is encoded by a sum for each: the smallest is the code."""
_LEAST_TARGET = 4
"""Numbers up to 2**128 over that have normal reciprocals."""
PARTIALS = 512
"""The most programs that find the amax of a whole tensor: as many as an H200 runs at once."""
MOST_ELEMENTS = 1 << 14
"""The most elements of a block."""
_CODE_BITS = (4, 6, 8)
K_PADDING = 128
"""Codes are stored with zeros up to a multiple of this along K, for TMA and torch's own ops."""
LEAST_K = 16
"""Elements along K of one draw of random bits, and of one step of packing."""
TENSOR = TileShape(WHOLE, WHOLE)
Block = tuple[int, int]
WHOLE_NUMBERS = float(1 << FP32.mantissa_bits)
"""2**23: from here to 2**24, fp32 numbers are 1 apart."""


@dataclass(frozen=True, kw_only=True)
class ElementFacts:
    """A format of codes and its rounding, for `kernels.quantize.encode`, which lists `encode_by`.

    min_field: exponent field, in fp32, of the smallest normal number. per_one: codes from 0 to 1, if all were
    as close as beside 0. binades: those with a step of their own. limit_bits: the larger of the sizes of
    max_bits and min_bits. nan_code: of a broken element, 0 in a format without NaN. cast_factor: factor to
    numbers of the hardware's format with as many mantissa bits. in_range: no number lies beyond the largest
    value, so none is clamped. raised: offset that `encode` adds to every code. half_sign: half of the sign's
    part of a code, where the sign is added as a float.
    """

    encode_by: str
    bits: int
    mantissa: int
    min_field: int
    per_one: float
    binades: int
    max_bits: int
    min_bits: int
    limit_bits: int
    max_code: int
    nan_code: int
    minus_zero: bool
    integer: bool
    in_range: bool
    cast_factor: float = 1.0
    raised: int = 0
    half_sign: float = 0.0
    is_random: bool = False
    table_base: int = 0
    table_shift: int = 0
    table_size: int = 0
    table_sticky: bool = False


@dataclass(frozen=True, kw_only=True)
class RuleFacts:
    """A scale rule for codes of one format, for `kernels.quantize.scales`.

    - divided: scale = amax / target, which is Qmax unless the rule says otherwise. Else it is a power of two:
      the exponent of amax counts one more from the mantissa `up_from` on.
    - inverse_bits, max_field: fl32(1 / Qmax), Qmax's exponent field in fp32.
    - by_steps: on a GPU, multiplications divide by the target and invert a scale, with IEEE's rounding;
      share_bits is fl32(1 / target).
    - subnormal_counts, most_counts: with powers of two, an amax may be so small that its exponent field is 0
      and its scale is not the smallest; or so large that its scale is clamped to the largest.
    - floor_bits: the least amax.
    - mantissa, min_field, least_bits, most_bits, rounds, zero: the format that stores the scale: mantissa
      bits, exponent field of its smallest normal number, smallest and largest scale, the way of rounding to
      it ("" for fp32), whether it has a zero.
    - in_bytes: scales are stored as codes of 8 bits; `nan_code` is a broken one's.
    - outer: "" for one level, "constant" or "fitted" for two; outer_bits: the constant; top_bits: the outer
      tile's amax times its reciprocal.
    - search: factors of amax to try.
    """

    divided: bool
    powers_of_two: bool
    up_from: int
    target_bits: int
    inverse_bits: int
    max_field: int
    subnormal_counts: bool
    most_counts: bool
    floor_bits: int
    mantissa: int
    min_field: int
    least_bits: int
    most_bits: int
    rounds: str
    zero: bool
    in_bytes: bool
    nan_code: int
    outer: str
    outer_bits: int
    top_bits: int
    search: tuple[float, ...]
    by_steps: bool
    share_bits: int

    @property
    def factors(self) -> int:
        return len(self.search)


def fp32_bits(value: float) -> int:
    return int(np.float32(value).view(np.int32))


@cache
def element_facts(
    format_: Format, rounding: Rounding, kind: DeviceKind, in_range: bool = False
) -> ElementFacts:
    on_gpu, integer = kind is DeviceKind.GPU, format_ == MXINT8
    mantissa = min_field = binades = 0
    minus_zero = False
    if integer:
        # A size in two's complement has even steps of 1/64 up to 2, as an exponent of one bit gives.
        mantissa, min_field = format_.bits - 2, FP32.bias
    elif isinstance(format_, FloatFormat):
        mantissa, min_field = format_.mantissa_bits, FP32.bias + format_.e_min
        binades, minus_zero = format_.e_max - format_.e_min + 1, format_.has_minus_zero
    few = minus_zero and binades <= _FEW_BINADES
    half, facts = 2.0 ** (format_.bits - 2), {}
    if rounding is Rounding.STOCHASTIC:
        by = "random lines" if few and on_gpu else "random bits"
        facts = {"is_random": True, "half_sign": half}
    elif rounding is not Rounding.NEAREST_EVEN or (isinstance(format_, TableFormat) and not integer):
        by, facts = "table", table_facts(format_, rounding)
    elif integer:
        by = "integer"
    elif format_ in _CAST and on_gpu:
        by = "cast"
    elif not minus_zero:
        by = "binades"
    elif on_gpu and (wide := _wide(format_)) is not None:
        by, facts = "wide cast", {"cast_factor": 2.0 ** (wide.e_min - format_.e_min)}
    elif few:
        by, facts = "few binades", {"raised": fp32_bits(WHOLE_NUMBERS), "half_sign": half}
    else:
        up = FP32.mantissa_bits - mantissa
        by, facts = "binades", {"raised": (up << FP32.mantissa_bits) + (min_field << mantissa)}
    return ElementFacts(
        encode_by=by,
        bits=format_.bits,
        mantissa=mantissa,
        min_field=min_field,
        per_one=1 / format_.min_subnormal,
        binades=binades,
        max_bits=fp32_bits(format_.max),
        min_bits=fp32_bits(format_.min),
        limit_bits=fp32_bits(max(format_.max, -format_.min)),
        max_code=format_.max_code,
        nan_code=format_.nan_code or 0,
        minus_zero=minus_zero,
        integer=integer,
        in_range=in_range,
        **facts,
    )


def _wide(format_: FloatFormat) -> FloatFormat | None:
    """The hardware's format whose lowest codes are a format of 6 bits; None if there is none."""
    fits = [wide for wide in _CAST if wide.mantissa_bits == format_.mantissa_bits]
    return fits[0] if fits and format_.bits == 6 and format_.nan_code is None else None


def holds(rule: ScaleRule, element: Format) -> bool:
    """True if no number of a tile over its scale lies beyond the largest value.

    A power of two that goes up as soon as amax would lie beyond gives that.
    """
    facts = rule_facts(rule, element, DeviceKind.INTERPRETER)
    significand, _ = np.frexp(element.max)
    up_in_time = facts.up_from <= int((2 * significand - 1) * (1 << FP32.mantissa_bits)) + 1
    fitted = not facts.divided and not facts.most_counts and not rule.history
    return fitted and up_in_time and min(facts.search) >= 1


@cache
def rule_facts(rule: ScaleRule, element: Format, kind: DeviceKind) -> RuleFacts:
    stored, outer = rule.format, rule.outer
    significand, exponent = np.frexp(element.max)
    fraction = int((2 * significand - 1) * (1 << FP32.mantissa_bits))
    one = np.float32(1)
    up_from = {
        Fit.NEAREST: 0,
        Fit.FLOOR: 1 << FP32.mantissa_bits,
        Fit.CEIL: 1,
        Fit.ROUND_UP: fraction + 1,
    }
    if rule.fit is Fit.EVEN:
        half_step = 1 << (FP32.mantissa_bits - mantissa_bits(element, element.e_max) - 1)
        up_from[Fit.EVEN] = (1 << FP32.mantissa_bits) - half_step
    largest_field = 2 * FP32.bias + 1 - (int(exponent) - 1)
    level = "" if outer is None else "fitted" if rule.has_fitted_outer else "constant"
    top = rule.outer_reach(element) if rule.has_fitted_outer else np.float32(0)
    target = rule.target or element.max
    # With a whole target, the remainder of amax is a number of fp32.
    normal = fp32_bits(rule.min_scale) >> FP32.mantissa_bits > 0
    by_steps = float(target).is_integer() and target >= _LEAST_TARGET and normal and level == ""
    return RuleFacts(
        divided=rule.fit is Fit.NEAREST,
        powers_of_two=rule.powers_of_two and level == "",
        up_from=up_from[rule.fit],
        target_bits=fp32_bits(target),
        by_steps=by_steps and kind is DeviceKind.GPU,
        share_bits=fp32_bits(one / np.float32(target)),
        subnormal_counts=element.max < 2,
        most_counts=largest_field > fp32_bits(rule.max_scale) >> FP32.mantissa_bits,
        inverse_bits=fp32_bits(one / np.float32(element.max)),
        max_field=FP32.bias + int(exponent) - 1,
        floor_bits=fp32_bits(rule.amax_floor),
        mantissa=stored.mantissa_bits,
        min_field=FP32.bias + stored.e_min,
        least_bits=fp32_bits(rule.min_scale),
        most_bits=fp32_bits(rule.max_scale),
        rounds=_rounds(stored, kind),
        zero=stored.specials is not Specials.SCALE,
        in_bytes=stores_bytes(rule),
        nan_code=stored.nan_code or 0,
        outer=level,
        outer_bits=fp32_bits(outer.constant if level == "constant" else 0.0),
        top_bits=fp32_bits(top),
        search=rule.search,
    )


def _rounds(stored: FloatFormat, kind: DeviceKind) -> str:
    if stored == FP32:
        return ""
    if stored in _CAST and kind is DeviceKind.GPU:
        return "cast"
    return "by bits" if stored.exponent_bits == FP32.exponent_bits else "beside a power of two"


def stores_bytes(rule: ScaleRule) -> bool:
    return rule.format.bits == 8


def table_facts(format_: Format, rounding: Rounding) -> dict[str, int | bool]:
    """The index into a table of codes: the top bits of |x|, which decide between two neighbors.

    One mantissa bit more than the format's finest shows the side of a tie. Nearest even and toward zero also
    need one bit more: whether any lower bit is set.
    """
    lowest = int(np.frexp(format_.min_subnormal)[1]) - 1
    finest = max(mantissa_bits(format_, e) for e in range(lowest, format_.e_max + 1))
    shift = FP32.mantissa_bits - finest - 1
    first, last = FP32.bias + lowest - 2, FP32.bias + format_.e_max + 1
    return {
        "table_base": first << (finest + 1),
        "table_shift": shift,
        "table_size": (last - first + 1) << (finest + 1),
        "table_sticky": rounding is not Rounding.NEAREST_AWAY,
    }


def code_table(format_: Format, rounding: Rounding) -> np.ndarray:
    """uint8[2, table_size, 1 or 2]: codes by sign, top bits of |x| and, if it counts, any bit set below."""
    facts = table_facts(format_, rounding)
    top = (np.arange(facts["table_size"], dtype=np.int32) + facts["table_base"]) << facts["table_shift"]
    sizes = np.stack([top, top + 1][: 1 + facts["table_sticky"]], axis=1).view(np.float32)
    return np.stack([format_.encode(sizes, rounding), format_.encode(-sizes, rounding)]).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class SavedFacts:
    """A saved copy whose tiles fit a block; part: the part of a block that is a tile."""

    element: ElementFacts
    rule: RuleFacts
    part_mn: int
    part_k: int


@dataclass(frozen=True, kw_only=True)
class RotationFacts:
    """A Hadamard transform: fl32(1 / sqrt(size)), and words whose set bits are signs of -1, 32 each."""

    size: int
    factor_bits: int
    negative: tuple[int, ...]

    @property
    def stages(self) -> int:
        return self.size.bit_length() - 1

    @property
    def words(self) -> int:
        return len(self.negative)


@dataclass(frozen=True, kw_only=True)
class OperandFacts:
    """An operand: preparation of its numbers, scale, encoding, tiles, and parts of a block, each in a tile.

    - nearest: the format with a rounding that is not random.
    - saved: None without a saved copy, or if another launch writes it first.
    - tile, outer: extents of a tile and of an outer tile, 0 for the whole dim. part: those of a block's part.
    - fits_block: a part is a whole tile, so its amax needs no earlier pass.
    - in_words: a word has codes of one tile, which are 0 if it is broken.
    - padded: rows of codes end in zeros beyond K.
    """

    element: ElementFacts
    nearest: ElementFacts
    rule: RuleFacts
    saved: SavedFacts | None
    rotation: RotationFacts | None
    tile_mn: int
    tile_k: int
    outer_mn: int
    outer_k: int
    part_mn: int
    part_k: int
    fits_block: bool
    in_words: bool
    padded: bool


@cache
def rotation_facts(rotation: Rotation | None) -> RotationFacts | None:
    if rotation is None:
        return None
    signs = np.asarray(rotation.signs) < 0
    words = -(-rotation.size // FP32.bits)
    bits = np.zeros(words * FP32.bits, bool)
    bits[: rotation.size] = signs
    packed = np.packbits(bits, bitorder="little").view(np.int32)
    factor = fp32_bits(1 / np.sqrt(rotation.size))
    return RotationFacts(size=rotation.size, factor_bits=factor, negative=tuple(map(int, packed)))


def is_packed(spec: OperandSpec) -> bool:
    return spec.format.packed_bits < 8


def operand_facts(
    spec: OperandSpec,
    mn: int,
    k: int,
    block: Block,
    kind: DeviceKind,
    *,
    fits_block: bool,
    with_saved: bool = True,
) -> OperandFacts:
    """Facts of an operand [mn, k] in blocks (mn, K) that are large enough for it."""
    part = whole_part(spec.tile, mn, k) if fits_block else part_within(spec.tile, *block)
    assert part is not None, "a block holds a tile only if a tile has a size"
    outer = spec.scale_rule.outer
    around = TENSOR if outer is None else outer.tile
    rounding = Rounding.NEAREST_EVEN if spec.is_random else spec.rounding
    # Triton compiles a dim of 1 in, and most codes of a block are then casts of a constant: the ptxas of CUDA
    # 12.8 and 12.9 packs these wrong beside other codes.
    encoding = DeviceKind.INTERPRETER if 1 in (mn, k) else kind
    in_range = holds(spec.scale_rule, spec.format)
    saved, copy = None, spec.saved_as if with_saved else None
    if copy is not None:
        saved_part = whole_part(copy.tile, mn, k)
        assert saved_part is not None, "a block holds the saved copy's tiles"
        saved = SavedFacts(
            element=element_facts(copy.format, copy.rounding, kind),
            rule=rule_facts(copy.scale_rule, copy.format, kind),
            part_mn=saved_part[0],
            part_k=saved_part[1],
        )
    # Zeros replace a broken word only if no code is NaN, the scale is this amax's, and a word has one tile.
    is_repaired = spec.format.nan_code or spec.scale_rule.history or part[1] % LEAST_K
    return OperandFacts(
        element=element_facts(spec.format, spec.rounding, encoding, in_range),
        nearest=element_facts(spec.format, rounding, kind, in_range),
        rule=rule_facts(spec.scale_rule, spec.format, encoding),
        saved=saved,
        rotation=rotation_facts(spec.rotation),
        tile_mn=spec.tile.mn or 0,
        tile_k=spec.tile.k or 0,
        outer_mn=around.mn or 0,
        outer_k=around.k or 0,
        part_mn=part[0],
        part_k=part[1],
        fits_block=fits_block,
        in_words=is_packed(spec) and not is_repaired,
        padded=k % K_PADDING > 0,
    )


def whole_part(tile: TileShape, mn: int, k: int) -> Block | None:
    """The part of a block that holds exactly one tile, in powers of two; None if there is none."""
    part = []
    for extent, size in ((tile.mn, mn), (tile.k, k)):
        if extent is not WHOLE and not extent & (extent - 1):
            part.append(extent)
        elif extent is WHOLE or extent >= size:
            part.append(power_over(size))
        else:
            return None
    return part[0], part[1]


def part_within(tile: TileShape, block_mn: int, block_k: int) -> Block:
    """The largest part of a block, in powers of two, that lies in one tile wherever the block starts."""
    mn, k = (
        block if extent is WHOLE else min(extent & -extent, block)
        for extent, block in ((tile.mn, block_mn), (tile.k, block_k))
    )
    return mn, k


def power_over(size: int) -> int:
    """The smallest power of two that is no less."""
    return 1 << max(size - 1, 0).bit_length()


def padded(k: int) -> int:
    return -(-k // K_PADDING) * K_PADDING


def least_k(spec: OperandSpec) -> int:
    run = 1 if spec.rotation is None else spec.rotation.size
    return max(run, LEAST_K if spec.is_random or is_packed(spec) else 1)


def check_operand(spec: OperandSpec | None) -> Unsupported | None:
    """The reason why no kernel quantizes `spec`, or None. A bf16 operand has no spec."""
    if spec is None:
        return None
    format_ = spec.format
    if format_.bits not in _CODE_BITS or not format_.signed:
        sign = "" if format_.signed else " without a sign"
        return Unsupported(
            f"the kernels write codes of 4, 6 and 8 bits with a sign, not {format_.name}'s of "
            f"{format_.bits}{sign}"
        )
    if spec.is_random and isinstance(format_, TableFormat) and format_ != MXINT8:
        return Unsupported(f"the kernels have no stochastic rounding to {format_.name}")
    if len(spec.scale_rule.search) > 1 and not _fits_a_block(spec):
        return Unsupported(
            f"the kernels search a scale for tiles that fit a block, of powers of two and at most "
            f"{MOST_ELEMENTS:,} elements, not for {spec.tile}"
        )
    if least_k(spec) > MOST_ELEMENTS:
        return Unsupported(
            f"the kernels rotate runs of at most {MOST_ELEMENTS:,} elements, not of {spec.rotation.size:,}"
        )
    return check_operand(spec.saved_as)


def _fits_a_block(spec: OperandSpec) -> bool:
    extents = (spec.tile.mn, spec.tile.k)
    if any(extent is WHOLE or extent & (extent - 1) for extent in extents):
        return False
    return spec.tile.mn * max(spec.tile.k, least_k(spec)) <= MOST_ELEMENTS
