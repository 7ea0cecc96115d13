"""The words on a training run: a size is named as the page names it."""

from kernels.train.job import TrainJob
from kernels.train.sizes import ON_CPU


def test_the_smallest_size_is_named_by_what_it_is_and_the_others_by_their_letters():
    small, tiny = TrainJob(recipe="mxfp8", model="s"), TrainJob(recipe="mxfp8", model=ON_CPU)
    assert (small.title, small.size) == ("Training: MXFP8, size S, seed 0", "a model of size S")
    assert tiny.title == "Training: MXFP8, the smallest size, seed 0"
    assert tiny.size == "a model of the smallest size"
