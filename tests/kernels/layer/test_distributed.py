"""Contract: a layer is right on two ranks under DDP, FSDP1, FSDP2 and tensor parallelism, in either order."""

import pytest
from torch.multiprocessing import ProcessRaisedException, spawn

from tests.kernels.layer.two_ranks import CHECKS, all_checks
from tests.serving import free_port


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """The folder of what passed, and what a rank raised."""
    folder = tmp_path_factory.mktemp("ranks")
    try:
        spawn(all_checks, (free_port(), folder), 2)
    except ProcessRaisedException as fault:
        return folder, str(fault)
    return folder, ""


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_layer_is_right_on_two_ranks(check, ranks):
    folder, fault = ranks
    missing = [rank for rank in range(2) if not (folder / f"{check.__name__}-{rank}").exists()]
    assert not missing, f"not on rank {missing}: {fault}"
