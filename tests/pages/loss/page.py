"""The page "Does the loss notice?" as its tests read it."""

PAGE = "pages/loss.py"


def texts(at) -> str:
    """All words of the page, which has no error."""
    assert not at.exception, at.exception[0].value
    assert not at.error
    return "\n".join(one.value for kind in (at.markdown, at.caption, at.info) for one in kind)
