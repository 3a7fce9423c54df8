"""The pages of the documentation site, as Chromium lays them out. `make docs-check` builds the site and runs this."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from chromium import Chromium

SITE = Path(os.environ.get("CORANK_SITE", Path(__file__).resolve().parents[2] / "build-docs"))
PAGES = [str(path.relative_to(SITE)) for path in sorted(SITE.rglob("*.html"))]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1440, 900)], ids=["phone", "desktop"])
def test_pages_are_as_wide_as_the_screen_and_show_their_pictures(width: int, height: int, tmp_path: Path) -> None:
    assert len(PAGES) > 50, f"{SITE} is not the site: run make docs"
    problems = []
    with Chromium(tmp_path) as browser:
        browser.size(width, height, phone=width < height)
        for page in PAGES:
            browser.open((SITE / page).as_uri())
            # A table or a block of code that scrolls by itself does not widen its page.
            taken = browser.value("document.documentElement.scrollWidth")
            if taken > width:
                problems.append(f"{page}: {taken} pixels wide")
            broken = browser.value("[...document.images].filter((at) => !at.naturalWidth).map((at) => at.src)")
            problems += [f"{page}: no picture at {source}" for source in broken]
            if browser.value("document.querySelector('h1').innerText.length") == 0:
                problems.append(f"{page}: no title")
    assert not problems
