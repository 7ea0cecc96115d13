"""Contract: a QR code is dark on white, and says in words where it leads."""

import re
from urllib.parse import unquote

from pages.classroom.qr import qr_html


def test_a_code_is_a_picture_that_is_named():
    html = qr_html("http://a.example/?x=1&y='\"<b>", 100)
    assert html.startswith(
        '<img class="join" alt="QR code of http://a.example/?x=1&amp;y=&#x27;&quot;&lt;b&gt;"'
    )
    assert {"#000", "#fff"} <= set(re.findall("#[0-9a-f]+", unquote(html)))
    assert html.count("<") == 1
