"""Facts of pages: found by name, computed with the values that an address gives."""

import pytest

from pages.kit.lesson.facts import fact, facts_of


def test_a_page_says_what_its_address_leads_to():
    page = facts_of("scaling")
    settings = page.settings({"scaling_log2": 2, "another_page": 1})
    assert settings["scaling_log2"] == 2.0
    assert isinstance(settings["scaling_log2"], float)
    assert settings["scaling_format"] == "e4m3"
    assert "another_page" not in settings
    assert page.query({"scaling_log2": 2, "scaling_history": 3}) == {
        "scaling_log2": "2.0",
        "scaling_history": "3",
    }


def test_a_fact_is_a_plain_number_of_python():
    share = fact("scaling.zeros_share", {"scaling_input": "gaussian"})
    assert type(share) is float
    assert 0 < share < fact("scaling.zeros_share", {"scaling_input": "gaussian", "scaling_log2": 4})


@pytest.mark.parametrize("name", ["nothing", "../app", "kit/story", "kit", ""])
def test_only_a_page_has_facts(name):
    with pytest.raises(ValueError, match="there is no page"):
        facts_of(name)
