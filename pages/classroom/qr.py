"""A QR code as a picture for a page."""

from html import escape

import segno


def qr_html(text: str, pixels: int) -> str:
    """HTML of the QR code of a text: dark on white in both themes, since cameras read no other.

    Raises ValueError where the text is too long for one.
    """
    code = segno.make(text, micro=False, error="m")
    picture = code.svg_data_uri(border=4, dark="#000", light="#fff")
    look = f"width:min({pixels}px,100%);image-rendering:pixelated"
    return f'<img class="join" alt="QR code of {escape(text)}" style="{look}" src="{escape(picture)}">'
