"""Findings of axe, a checker of accessibility, about a page."""

import json

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

GRAVE = {"serious", "critical"}


def grave(page: Page, options: dict) -> list[tuple[str, str, str]]:
    """Findings of axe: the rule, the place and the reason. Axe is put into a page that has none yet."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"], **options}
    found = page.evaluate(f"axe.run({json.dumps(options)}).then(found => found.violations)")
    return [
        (rule["id"], node["html"][:120], node["failureSummary"][:300])
        for rule in found
        if rule["impact"] in GRAVE or rule["id"] == "heading-order"
        for node in rule["nodes"]
    ]
