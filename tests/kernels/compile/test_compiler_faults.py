"""Contract: known faults of the compiler are found in the text that it writes, and what is right is not."""

import pytest

from tests.kernels.compile.plans import FROM_REGISTERS, LEFT_RUNNING, halved, overwritten
from tests.kernels.compile.reductions import scattered


@pytest.mark.parametrize(
    ("left", "wait", "found"),
    [("{%r9,%r10}", 7, True), ("{%r9,%r10}", 0, False), ("%rd17", 7, False)],
    ids=["registers, running", "registers, done", "shared memory"],
)
def test_a_wgmma_whose_registers_may_be_overwritten_is_found(left, wait, found):
    ptx = f"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%r1,%r2}}, {left}, %rd18, %p31, 1, 1, 0;\n"
    ptx += f"wgmma.wait_group.sync.aligned {wait};\n"
    assert bool(FROM_REGISTERS.search(ptx) and LEFT_RUNNING.search(ptx)) == found


@pytest.mark.parametrize(("place", "found"), [(210176, [210176]), (210304, [])])
def test_a_barrier_that_is_written_over_is_found(place, found):
    ptx = f"""add.s32 %r9, %r412, 210176;
    @%p34 mbarrier.init.shared::cta.b64 [%r9], 1;
    add.s32 %r10, %r412, {place};
    @%p46 st.shared.b32 [ %r10 + 0 ], %r484;
    ld.shared.b32 %r503, [global_smem+{place}];
    """
    assert overwritten(ptx) == found


@pytest.mark.parametrize(("taken", "found"), [("%rs1", ["%rs1"]), ("%rs3", [])])
def test_a_cast_that_is_used_whole_and_in_halves_is_found(taken, found):
    ptx = f"""cvt.rn.satfinite.e4m3x2.f32  %rs1, %r115, %r114;
    cvt.rn.satfinite.e4m3x2.f32  %rs2, %r117, %r116;
    shr.u16 %rs9, {taken}, 8;
    mov.b32 %r130, {{%rs1, %rs2}};
    """
    assert halved(ptx) == found


def test_a_reduction_over_threads_that_lie_between_others_is_found():
    """The largest of 64 numbers was wrong on a GPU where threads lay like that."""
    layout = (
        "register = [[1, 0]], lane = [[0, 8], [0, 16], [0, 32], [{}, 0], [0, 1]], warp = [[0, 2], [0, 4]]"
    )
    text = """#linear = #ttg.linear<{%s, block = []}>
    %%a = "tt.reduce"(%%p) <{axis = %d : i32}> ({
    }) : (tensor<64x64xf32, #linear>) -> tensor<64xf32, #ttg.slice<{dim = 1, parent = #linear}>> loc(#loc1)"""
    assert scattered(text % (layout.format(2), 1))
    assert not scattered(text % (layout.format(2), 0))
    assert not scattered(text % (layout.replace("[{}, 0]", "[0, 4]"), 1))
