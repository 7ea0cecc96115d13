"""The line between the browser and the server, on which a test holds answers back."""

from collections import deque
from dataclasses import dataclass, field

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.looks import in_the_end


@dataclass
class Line:
    """Line from the server to a page: messages pass, or are held back from `hold()` on, run by run."""

    page: object
    is_holding: bool = False
    runs: deque[list[bytes]] = field(default_factory=deque)
    """Messages that are held back, by run; the last list is of the run that goes on."""
    send: object = None

    def __post_init__(self) -> None:
        self.page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser) -> None:
        server = browser.connect_to_server()
        self.send = browser.send
        server.on_message(self._take)

    def _take(self, message: bytes) -> None:
        if not self.is_holding:
            self.send(message)
            return
        self.runs[-1].append(message)
        if ForwardMsg.FromString(message).WhichOneof("type") == "script_finished":
            self.runs.append([])

    def hold(self) -> None:
        self.is_holding, self.runs = True, deque([[]])

    def held(self, runs: int) -> None:
        """Wait until so many whole runs are held back."""
        assert in_the_end(self.page, lambda: len(self.runs) > runs, bool), "the server does not answer"

    def release(self) -> None:
        """Let the browser have the messages of the first run that is held back."""
        for message in self.runs.popleft():
            self.send(message)

    def lose(self) -> None:
        """Lose what is held back, and hold nothing more."""
        self.is_holding = False
        self.runs.clear()
