"""The page "Does the loss notice?" as its tests read it."""

from tests.pages.texts import texts as every_text

PAGE = "pages/loss.py"


def texts(at) -> str:
    """All words of the page, which has no error."""
    assert not at.exception, at.exception[0].value
    assert not at.error
    return every_text(at)
