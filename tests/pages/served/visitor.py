"""A session as any program may open one: Streamlit's own messages over its websocket, without a browser.

with visiting(server.url, "m=1") as visitor:
    visitor.send(BackMsg(clear_cache=True))
    assert visitor.run() == ["what st.text shows"]
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

PATIENCE_S = 30.0


@dataclass(frozen=True)
class Visitor:
    """One session; `query` is the address's, without a question mark."""

    socket: ClientConnection
    query: str

    def send(self, message: BackMsg) -> None:
        self.socket.send(message.SerializeToString())

    def run(self) -> list[str]:
        """Run the script; every st.text that it showed, in order."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        self.send(message)
        texts: list[str] = []
        while True:
            heard = ForwardMsg.FromString(self.socket.recv(timeout=PATIENCE_S))
            match heard.WhichOneof("type"):
                case "delta" if heard.delta.new_element.WhichOneof("type") == "text":
                    texts.append(heard.delta.new_element.text.body)
                case "script_finished":
                    return texts


@contextmanager
def visiting(url: str, query: str = "") -> Iterator[Visitor]:
    """A new session on a server."""
    address = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    with connect(address, subprotocols=["streamlit"], max_size=None) as socket:
        yield Visitor(socket, query)
