"""Contract: a layer is right on two ranks under DDP, FSDP1, FSDP2 and tensor parallelism, in either order."""

from torch.multiprocessing import spawn

from tests.kernels.layer.two_ranks import all_checks
from tests.serving import free_port


def test_a_layer_is_right_on_two_ranks():
    """All checks in one pair of processes. A fault is raised here, with the name of its check."""
    spawn(all_checks, (free_port(),), 2)
