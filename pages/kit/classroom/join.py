"""Address of a class for other computers, and its QR code."""

import ipaddress
import socket
from html import escape
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from pages.kit.widgets import Text

LINK = Text(
    key="link",
    label="Address of the class",
    longest=300,
    default="",
    help="What the class types or scans. Empty: as this page guesses it.",
)

# An address of a private network. Nothing is sent to it: the system only says which way it would take.
_SOMEWHERE = ("10.255.255.255", 9)


def join_link(text: str, browser_url: str | None, listens: str) -> tuple[str, str]:
    """The typed address, or one derived from the browser's; and a doubt, or "".

    `listens` is the server's own address. Raises ValueError if the typed text is no address.
    """
    if text.strip():
        return _checked(text.strip()), ""
    parts = urlsplit(browser_url or "http://localhost")
    path = parts.path.rpartition("/")[0] + "/"
    here = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    if not _is_here(parts.hostname or ""):
        return here, ""
    name = network_address()
    host = f"[{name}]" if ":" in name else name
    netloc = host if parts.port is None else f"{host}:{parts.port}"
    doubt = "This server answers this computer only. For a class, start it with `make app HOST=0.0.0.0`."
    return urlunsplit((parts.scheme, netloc, path, "", "")), doubt if _is_here(listens) else ""


def network_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(_SOMEWHERE)
            address = way.getsockname()[0]
        except OSError:
            address = ""
    return address if address and not _is_here(address) else socket.gethostname()


def _checked(text: str) -> str:
    refusal = "This is no web address. It begins with http:// or https://, and has a name."
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and parts.hostname and not parts.username
        _ = parts.port
    except ValueError:
        raise ValueError(refusal) from None
    if not is_address or not text.isprintable() or " " in text:
        raise ValueError(refusal)
    return text


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def qr_html(text: str, pixels: int) -> str:
    """QR code of a text, dark on white in both themes: cameras read no other."""
    code = segno.make(text, micro=False, error="m")
    picture = code.svg_data_uri(border=4, dark="#000", light="#fff")
    look = f"width:min({pixels}px,100%);image-rendering:pixelated"
    return f'<img class="join" alt="QR code of {escape(text)}" style="{look}" src="{escape(picture)}">'


def class_link(text: str) -> tuple[str, str]:
    """Address of the class, and a sentence on its fault, or ""."""
    browser_url, listens = st.context.url, st.get_option("server.address") or ""
    try:
        return join_link(text, browser_url, listens)
    except ValueError as error:
        return join_link("", browser_url, listens)[0], str(error)


def without_scheme(url: str) -> str:
    return url.partition("://")[2].rstrip("/")
