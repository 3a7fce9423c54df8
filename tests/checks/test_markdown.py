"""Links of Markdown files lead somewhere, and lines of prose are not long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "scripts" / "checks"
sys.path.insert(0, str(CHECKS))

import markdown  # noqa: E402


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text('# Merge, and `sort`\n\n<a id="by-hand"></a>\n', encoding="utf-8")
    return tmp_path


def problems(checkout: Path, text: str) -> list[str]:
    (checkout / "page.md").write_text(text, encoding="utf-8")
    return [problem for problem in markdown.problems(checkout) if problem.startswith("page.md:")]


@pytest.mark.parametrize(
    "text",
    [
        "[a](docs/other.md)",
        "[a](docs/other.md#merge-and-sort)",
        "[a](docs/other.md#by-hand)",
        "[a](docs)",
        "[a](https://example.com/nothing)",
        "[a](mailto:a@example.com)",
        "# Here\n[a](#here)",
        "`[a](nothing.md)`",
        "```sh\n[a](nothing.md)\n```",
        '<img src="docs/other.md">',
    ],
)
def test_good_links_pass(checkout: Path, text: str) -> None:
    assert problems(checkout, text) == []


@pytest.mark.parametrize(
    "link",
    ["nothing.md", "docs/other.md#nothing", "#nothing", "docs/nothing.md#merge-and-sort", "../outside.md"],
)
@pytest.mark.parametrize("form", ["[a]({})", "![a]({})", "[![a](docs/other.md)]({})", '<img src="{}">', "[a]: {}"])
def test_a_link_to_nothing_is_found(checkout: Path, form: str, link: str) -> None:
    found = problems(checkout, f"# A page\n\n{form.format(link)}\n")
    assert len(found) == 1
    assert found[0].startswith(f"page.md:3: {link}")


def test_lines_have_120_columns(checkout: Path) -> None:
    assert problems(checkout, "word " * 24) == []
    assert problems(checkout, "\n" + "word " * 24 + "w") == ["page.md:2: 121 columns; a line has at most 120"]


def test_tables_code_and_lone_links_may_be_longer(checkout: Path) -> None:
    long = "word " * 30
    text = f"| {long} |\n\n```text\n{long}\n```\n\n![a](https://example.com/{'a' * 120})\n"
    assert problems(checkout, text) == []


def test_pages_that_are_read_whole_stay_short(checkout: Path) -> None:
    (checkout / "docs" / "architecture.md").write_text("word | " * 2501, encoding="utf-8")
    (checkout / "CHANGELOG.md").write_text("line\n" * 60, encoding="utf-8")
    found = [problem for problem in markdown.problems(checkout) if "the page has" in problem]
    assert found == [
        "CHANGELOG.md:1: 60 lines; the page has at most 59",
        "docs/architecture.md:1: 2501 words; the page has at most 2500",
    ]
