"""Contract: only who gave the token teaches, and the class is led where he goes."""

from pages.kit.classroom.shared import HERE_S, Shared
from pages.kit.classroom.token import Token


def test_who_gives_the_token_teaches_until_he_leaves():
    class_ = Shared(Token("abcd"))
    assert class_.enter("abce", "ann") is not None
    assert not class_.is_teacher("ann")
    assert class_.enter("abcd", "ann") is None
    class_.lead(True)
    class_.leave("ben")
    assert class_.led() is not None
    class_.leave("ann")
    assert not class_.is_teacher("ann")
    assert class_.led() is None, "nobody follows one who is gone"


def test_a_move_counts_once_and_only_while_the_class_is_led():
    class_ = Shared()
    class_.publish("formats", {})
    assert class_.led() is None
    class_.lead(True)
    assert class_.led().page is None
    began = class_.led().version
    for page, parameters in (("formats", {}), ("formats", {}), ("formats", {"number": "1"})):
        class_.publish(page, parameters)
    assert class_.led().version == began + 2
    class_.lead(False)
    class_.lead(True)
    assert (class_.led().number, class_.led().page) == (2, None)
    assert class_.led().version > began + 2


def test_a_page_that_asks_no_more_is_gone():
    now = [0.0]
    class_ = Shared(clock=lambda: now[0])
    class_.saw("ann", "session 1", follows=True)
    now[0] = HERE_S
    class_.saw("ben", "session 2", follows=False)
    assert {name: one.follows for name, one in class_.present().items()} == {"ann": True, "ben": False}
    now[0] += 0.1
    assert set(class_.present()) == {"ben"}
