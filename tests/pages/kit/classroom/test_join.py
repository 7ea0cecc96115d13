"""Contract: the class gets an address that other computers reach."""

import re
from urllib.parse import unquote

import pytest

from pages.kit.classroom import join
from pages.kit.classroom.join import join_link, qr_html


@pytest.fixture(autouse=True)
def network(monkeypatch):
    monkeypatch.setattr(join, "network_address", lambda: "192.168.1.7")


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("http://fp8.example.org/explorer/classroom", "http://fp8.example.org/explorer/"),
        ("https://fp8.example.org/classroom?step=x", "https://fp8.example.org/"),
        ("http://localhost:8501/classroom", "http://192.168.1.7:8501/"),
        ("http://127.0.0.1/classroom", "http://192.168.1.7/"),
        ("http://[::1]:8501/explorer/classroom", "http://192.168.1.7:8501/explorer/"),
        (None, "http://192.168.1.7/"),
    ],
)
def test_localhost_becomes_this_computers_address(url, link):
    assert join_link("", url, "0.0.0.0")[0] == link


def test_a_server_that_answers_nobody_else_says_so():
    assert "HOST=0.0.0.0" in join_link("", "http://localhost:8501/classroom", "localhost")[1]
    assert join_link("", "http://localhost:8501/classroom", "0.0.0.0")[1] == ""
    assert join_link("", "https://fp8.example.org/classroom", "localhost")[1] == ""


NO_ADDRESSES = "fp8 ftp://a javascript:alert(1) http:// http://[ http://a:x http://u@a"


@pytest.mark.parametrize("typed", ["http://a b", *NO_ADDRESSES.split()])
def test_a_typed_text_is_an_address_or_refused(typed):
    with pytest.raises(ValueError, match="no web address"):
        join_link(typed, None, "localhost")
    assert join_link(" https://school.example/fp8 ", None, "")[0] == "https://school.example/fp8"


def test_a_code_is_a_picture_that_is_named():
    html = qr_html("http://a.example/?x=1&y='\"<b>", 100)
    assert html.startswith(
        '<img class="join" alt="QR code of http://a.example/?x=1&amp;y=&#x27;&quot;&lt;b&gt;"'
    )
    assert {"#000", "#fff"} <= set(re.findall("#[0-9a-f]+", unquote(html)))
    assert html.count("<") == 1
