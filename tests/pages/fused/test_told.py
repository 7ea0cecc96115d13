"""The words on timed ways: one name for each, and sentences."""

from kernels.layer.timeline.job import Way
from pages.fused.controls import WAY_NAMES
from pages.fused.told import note_sentence
from tests.kernels.layer.timeline.steps import layer_row


def test_the_title_of_the_bound_holds_the_name_of_its_lane():
    assert WAY_NAMES[Way.BOUND.value] in Way.BOUND.title


def test_a_note_is_a_sentence_after_the_way_s_name():
    row = layer_row(Way.BOUND, note="No cast is in it.")
    assert note_sentence(row) == "**fp8, free casts: the matmuls alone.** No cast is in it."
