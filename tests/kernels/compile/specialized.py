"""Cases of the warp-specialized kernels, for tests.kernels.compile.cases."""

from collections.abc import Iterator
from dataclasses import replace

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.hopper.decoding.launch import constants as decoding_constants
from kernels.gemm.hopper.decoding.launch import shares_sums
from kernels.gemm.hopper.descriptors import WARPS, flat, swizzled
from kernels.gemm.hopper.launch import constants as specialized_constants
from kernels.gemm.hopper.storage import own_splits, takes_pairs
from kernels.gemm.numerics import Arithmetic
from kernels.gemm.passes.decode import decode_ptx
from kernels.gemm.plan import GemmPlan
from kernels.gemm.tuned import read_table, table_path
from kernels.measure.tune import coarse
from kernels.quantize.tensor import float8
from tests.kernels.compile.cases import FLOAT8, GROUP, LARGE, SPLIT, Case, Families, simple_plans

TALL = (8192, 4096, 4096)
FEW = tuple((tokens, 4096, 14336) for tokens in (64, 128, 256))


def specialized_gemms(device: Device, families: Families) -> Iterator[Case]:
    """The specialized kernels for everything that they take, and in the blocks of the device's table. The
    order of blocks is a divisor in the code and no more, and so is the number of stages: the most stand for
    all. A format is a few instructions: one case of a variant has e5m2.
    """
    most: dict[tuple[object, ...], Case] = {}
    for case in named_specialized(device, families):
        key = code_of(case)
        if key not in most or dict(case.constants)["STAGES"] > dict(most[key].constants)["STAGES"]:
            most[key] = case
    yield from most.values()


def code_of(case: Case) -> tuple[object, ...]:
    """Equal for specialized kernels that differ in the number of stages, or in name, and no more."""
    constants = tuple((name, fact) for name, fact in case.constants if name != "STAGES")
    return case.kernel, case.types, constants


def named_specialized(device: Device, families: Families = "all") -> Iterator[Case]:
    """The specialized kernels of each family, which may be those of another family."""
    table = [row for row in read_table(table_path(device.capability)) if not row.blocks.variant.is_simple]
    for family, plan in simple_plans(device, families):
        tries = [blocks for mnk in (LARGE, TALL) for blocks in coarse(plan, mnk, device)]
        tries = [blocks for blocks in tries if not blocks.variant.is_simple]
        of_each = {(blocks.decoded, blocks.block_n, blocks.warps): blocks for blocks in reversed(tries)}
        few = [blocks for mnk in FEW for blocks in coarse(plan, mnk, device)]
        few = [blocks for blocks in few if in_programs(blocks)]
        tabled = [row.blocks for row in table if row.family == family]
        shared = map(_as_compiled, few)
        for blocks in dict.fromkeys((*of_each.values(), *shared, *tabled)):
            made = replace(plan, blocks=replace(blocks, group=GROUP))
            case = decoding if made.variant is Variant.DECODING else specialized
            if in_programs(blocks):
                for runs in (SPLIT, SPLIT + 1):
                    of_runs = in_runs(made.blocks, runs)
                    yield case(family, replace(made, blocks=of_runs), device, accumulate=False)
                continue
            for accumulate in (False, True)[: 1 + (plan.numerics.spec.out.bits == 32)]:
                yield case(family, made, device, accumulate=accumulate)
                if made.variant is Variant.CHAINED and plan.numerics.spec.a is None:
                    yield specialized(family, made, device, accumulate=accumulate, mn_major=True)
                if (made.variant is Variant.DECODING) and blocks not in tabled and not accumulate:
                    yield of_e5m2(case(family, made, device, accumulate=accumulate))


def _as_compiled(blocks: Blocks) -> Blocks:
    """Blocks that stand for all others whose code is theirs: the same order, the same number of programs."""
    blocks = replace(blocks, group=GROUP)
    return in_runs(blocks, SPLIT) if in_programs(blocks) else blocks


def in_runs(blocks: Blocks, runs: int) -> Blocks:
    """Blocks with so many splits of K; two of them in a program need an even ring."""
    split = replace(blocks, split_k=runs)
    pairs = split.variant is Variant.DECODING and takes_pairs(split)
    return replace(split, stages=split.stages - split.stages % 2) if pairs else split


def in_programs(blocks: Blocks) -> bool:
    """Whether programs of a specialized kernel share a block: they add runs two and two, so that an even and
    an odd number of them stand for all others.
    """
    each = own_splits(blocks, blocks.split_k * blocks.block_k) if blocks.decoded else 1
    return not blocks.variant.is_simple and blocks.split_k > each


def specialized(
    name: str, plan: GemmPlan, device: Device, *, accumulate: bool, mn_major: bool = False
) -> Case:
    """A low block loads the fewest rows; more would be another extent of one load. mn_major: both operands
    are contiguous along their rows.
    """
    spec, storage = plan.numerics.spec, plan.storage
    bf16 = plan.numerics.arithmetic is Arithmetic.DEQUANTIZED
    types = {}
    for side, operand, box in (("a", spec.a, storage.loaded(1)), ("b", spec.b, storage.b_box)):
        dtype = "bfloat16" if bf16 else str(float8(operand.format)).removeprefix("torch.")
        name_of = "bf16" if bf16 else FLOAT8[operand.format.name]
        box = box[::-1] if mn_major else box
        types[f"{side}_desc"] = described(name_of, list(box), swizzled(*box, dtype))
    types["a_scale_desc"] = described("fp32", [storage.a_scale_box], flat(FORMATS["fp32"].bits))
    types["b_scale_desc"] = described("fp32", [storage.b_scale_box], flat(FORMATS["fp32"].bits))
    layout = swizzled(*storage.out_box, {"bf16": "bfloat16", "fp32": "float32"}[spec.out.name])
    types["out_desc"] = described(spec.out.name, list(storage.out_box), layout)
    added = (", added into D" if accumulate else "") + (", MN-major" if mn_major else "")
    k = plan.blocks.split_k * plan.blocks.block_k
    lie = {"a_mn_major": mn_major, "b_mn_major": mn_major}
    constants = specialized_constants(plan, k, accumulate=accumulate, **lie)
    if plan.blocks.split_k == 1:
        constants |= {"parts_ptr": None, "arrivals_ptr": None}
    return Case(
        name=f"{name}{added}; {plan.blocks.title}",
        device=device,
        kernel="specialized_gemm_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=WARPS,
        kind=plan.numerics.arithmetic.name,
        gluon=True,
    )


def decoding(name: str, plan: GemmPlan, device: Device, *, accumulate: bool) -> Case:
    """A plan that decodes an operand in registers."""
    block_k, out = plan.blocks.block_k, plan.numerics.spec.out.name
    boxes = plan.storage.a_box, plan.storage.b_box
    codes, values = boxes if plan.blocks.decoded == "a" else boxes[::-1]
    stored = list(plan.storage.out_box)
    layout = swizzled(*stored, {"bf16": "bfloat16", "fp32": "float32"}[out])
    constants = decoding_constants(plan, plan.blocks.split_k * block_k, accumulate=accumulate)
    if not shares_sums(constants):
        constants |= {"parts_ptr": None, "arrivals_ptr": None}
    form = ("u8", "uint8") if plan.blocks.decoded == "ab" else ("bf16", "bfloat16")
    if plan.blocks.decoded != "ab":
        constants |= {"values_scale_ptr": None, "values_scale_stride": None}
    types = {
        "values_desc": described(form[0], list(values), swizzled(*values, form[1])),
        "values_scale_ptr": "*u8",
        "codes_desc": described("u8", list(codes), swizzled(*codes, "uint8")),
        "scale_desc": described("u8", [plan.storage.scale_tiles, codes[0]], flat(8, rank=2)),
        "out_desc": described(out, stored, layout),
    }
    return Case(
        name=f"{name}{', added into D' if accumulate else ''}; {plan.blocks.title}",
        device=device,
        kernel="decoding_gemm_kernel",
        types=tuple(types.items()),
        constants=tuple(constants.items()),
        warps=WARPS,
        kind=plan.numerics.arithmetic.name,
        gluon=True,
    )


def of_e5m2(case: Case) -> Case:
    """The same for codes of that format."""
    of_format = {"DECODE": decode_ptx(replace(RECIPES["mxfp8"].fprop.a, format=FORMATS["e5m2"]))}
    return replace(case, constants=tuple((dict(case.constants) | of_format).items()))


def described(dtype: str, block: list[int], layout: object) -> str:
    """A descriptor's type as Triton spells it."""
    return f"tensordesc<{dtype}{block},{layout!r}>"
