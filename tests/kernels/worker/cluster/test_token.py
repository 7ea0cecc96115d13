"""Contract: the token is made once, stands in a file of its owner alone, and is on no command line."""

import stat

import pytest

from kernels.worker.cluster.facts import Facts
from kernels.worker.cluster.ray_node import first_node, further_node
from kernels.worker.cluster.token import new_token, token_environment

FACTS = Facts(versions={"python": "3.12.3"}, sources="beef")


@pytest.fixture
def file(tmp_path):
    return tmp_path / ".cluster-token"


def test_the_token_is_made_once_and_only_its_owner_reads_it(file):
    first = token_environment({}, new_token, file)
    text = file.read_text()
    assert len(text) >= 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first == token_environment({}, lambda: pytest.fail("it is there already"), file)
    assert first == {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(file)}
    assert file.read_text() == text


@pytest.mark.parametrize("typed", [None, "", "  \n"])
def test_a_host_without_a_token_says_where_to_get_it(file, typed):
    with pytest.raises(ValueError, match=r"copy the file \.cluster-token .* RAY_AUTH_TOKEN"):
        token_environment({}, lambda: typed, file)
    assert not file.exists()


def test_a_token_that_others_can_read_is_refused(file):
    token_environment({}, new_token, file)
    file.chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        token_environment({}, new_token, file)


@pytest.mark.parametrize(
    "arguments", [first_node("10.0.0.1", 18600, FACTS), further_node("10.0.0.1:18600", 18600, 2, FACTS)]
)
def test_no_command_line_has_a_token_or_a_dashboard(arguments):
    assert not any("token" in argument for argument in arguments)
    assert "--include-dashboard=true" not in arguments
    assert ("--include-dashboard=false" in arguments) == ("--head" in arguments)
