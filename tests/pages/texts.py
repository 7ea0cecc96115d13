"""The words of a page, as AppTest gets them, and its buttons by theirs."""

from streamlit.testing.v1 import AppTest


def notice(at: AppTest) -> str:
    """The Notice of a page that has places: the first paragraph below its question."""
    assert not at.exception, at.exception[0].value
    return at.main.markdown[0].value


def texts(at: AppTest) -> str:
    """All running text of a page: titles, paragraphs, captions and boxes."""
    kinds = (at.title, at.header, at.markdown, at.caption, at.info, at.success, at.warning, at.error)
    return "\n".join(element.value for kind in kinds for element in kind)


def press(at: AppTest, label: str) -> AppTest:
    """Click the first button of this label."""
    return next(button for button in at.button if button.label == label).click().run()


def is_quiet(at: AppTest) -> bool:
    """True where nothing runs that could be stopped."""
    return not any(button.label == "Stop" for button in at.button)
