"""What a visitor without the token sees: what a class is, how to join it, and the field for the token."""

import ipaddress
import socket
from html import escape
from urllib.parse import urlsplit, urlunsplit

import segno
import streamlit as st

from pages.kit.classroom.follow import OWN_PAGE
from pages.kit.classroom.shared import shared, visitor
from pages.kit.classroom.store import store
from pages.kit.inert import plain
from pages.kit.notice import draw_notice
from pages.kit.view import here, stage

# An address of a private network. Nothing is sent to it: the system only says which way it would take.
_SOMEWHERE = ("10.255.255.255", 9)


def join_link(typed: str, opened: str | None, listens: str) -> tuple[str, str]:
    """The typed address, or else the one made of what the browser has open (`opened`); and a doubt, or "".

    `listens` is the address at which the server listens. Raises ValueError for a typed text that is none.
    """
    if typed.strip():
        return _checked(typed.strip()), ""
    parts = urlsplit(opened or "http://localhost")
    path = parts.path.removesuffix(f"/{OWN_PAGE}").rstrip("/") + "/"
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


def _checked(typed: str) -> str:
    refusal = "This is no web address. It begins with http:// or https://, and has a name."
    try:
        parts = urlsplit(typed)
        is_address = parts.scheme in ("http", "https") and parts.hostname and not parts.username
        _ = parts.port
    except ValueError:
        raise ValueError(refusal) from None
    if not is_address or not typed.isprintable() or " " in typed:
        raise ValueError(refusal)
    return typed


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def qr_html(text: str, pixels: int) -> str:
    """HTML of the QR code of a text: dark on white in both themes, since cameras read no other."""
    code = segno.make(text, micro=False, error="m")
    picture = code.svg_data_uri(border=4, dark="#000", light="#fff")
    look = f"width:min({pixels}px,100%);image-rendering:pixelated"
    return f'<img class="join" alt="QR code of {escape(text)}" style="{look}" src="{escape(picture)}">'


def draw_join(typed: str, pixels: int) -> None:
    opened, listens, wrong = st.context.url, st.get_option("server.address") or "", ""
    try:
        url, doubt = join_link(typed, opened, listens)
    except ValueError as refused:
        url, doubt = join_link("", opened, listens)
        wrong = str(refused)
    st.html(qr_html(url, pixels))
    st.markdown("**Join:** scan the code, or type the address.")
    st.code(url, language=None, wrap_lines=True)
    if wrong:
        st.error(plain(wrong))
    if doubt:
        st.caption(doubt)


TOKEN_KEY = "class_token"
_REFUSED_KEY = "_class_refused"
IDEA = (
    "A class works through the lesson together. **Nothing personal is kept**: only a random id of the "
    "browser, steps, answers and times."
)
KNOW = (
    "Each student works in a browser. The teacher sees which step each one is on, and what the class "
    "predicts. Students are numbers."
)
ASKS = "Do you teach? The terminal that started the server shows the token."


def is_teacher() -> bool:
    return shared().is_teacher(visitor())


def draw_door() -> None:
    draw_notice(IDEA)
    row = stage().container(horizontal=True, gap="large")
    with row.container(width=320):
        draw_join("", pixels=260)
    with row.container(width=360):
        st.header("Teacher", anchor=False)
        with st.form("class_door", border=False, enter_to_submit=True):
            st.text_input("Token", key=TOKEN_KEY, type="password", max_chars=100, autocomplete="off")
            st.form_submit_button("Open the teacher's view", key="class_enter", on_click=_enter)
        if refused := st.session_state.pop(_REFUSED_KEY, None):
            st.error(refused)
        else:
            st.caption(ASKS)
    here().know.markdown(KNOW)


def _enter() -> None:
    refused = shared().enter(st.session_state.get(TOKEN_KEY, ""), visitor())
    st.session_state[TOKEN_KEY] = ""
    st.session_state[_REFUSED_KEY] = refused
    if refused is None:
        store().open(True)
