"""The table of languages and features in the docs, which holds what runs of the vectors found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from drivers import Language
from paths import ROOT

PAGE = ROOT / "docs" / "guides" / "languages.md"
_BEGIN = "<!-- made by client/conformance/run.py --write-table -->\n"
_END = "<!-- end of the table -->\n"
CELLS = {"yes": "yes", "lacks": "–", "no": "fails"}
"""What the table says of each outcome of a feature's vectors."""

Columns = Mapping[str, Mapping[str, str]]
"""Cells by feature, by the title of a language."""


def groups() -> list[tuple[str, dict[str, str]]]:
    """The features with their titles, in groups."""
    found = json.loads((Path(__file__).parent / "features.json").read_text())["groups"]
    return [(group["title"], group["features"]) for group in found]


def read() -> dict[str, dict[str, str]]:
    """The columns that the page has."""
    _, _, rest = PAGE.read_text().partition(_BEGIN)
    lines = [line for line in rest.partition(_END)[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    if not rows:
        return {}
    names = {title: name for _, features in groups() for name, title in features.items()}
    columns: dict[str, dict[str, str]] = {title: {} for title in rows[0][1:]}
    for row in rows[2:]:
        for title, cell in zip(rows[0][1:], row[1:], strict=True):
            if row[0] in names:
                columns[title][names[row[0]]] = cell
    return columns


def text(columns: Columns, languages: Sequence[Language]) -> str:
    """The table, and why languages lack features."""
    shown = [language for language in languages if language.title in columns]
    titles = [language.title for language in shown]
    lines = [f"| | {' | '.join(titles)} |", f"| --- |{' :---: |' * len(titles)}"]
    for group, features in groups():
        lines.append(f"| **{group}** |{' |' * len(titles)}")
        for name, title in features.items():
            lines.append(f"| {title} | {' | '.join(columns[each].get(name, '?') for each in titles)} |")
    names = {name: title for _, features in groups() for name, title in features.items()}
    why = [
        f"- {language.title}, {names[name][:1].lower()}{names[name][1:]}: {reason.rstrip('.')}."
        for language in shown
        for name, reason in language.lacks.items()
    ]
    return "\n".join([*lines, "", *why, ""]) if why else "\n".join([*lines, ""])


def write(columns: Columns, languages: Sequence[Language]) -> None:
    """Puts the table into the page."""
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    PAGE.write_text(before + _BEGIN + "\n" + text(columns, languages) + "\n" + _END + after)


def differs(columns: Columns, languages: Sequence[Language]) -> bool:
    """Whether the page says something else than these columns, or than the languages say of what they lack."""
    kept = {**read(), **columns}
    return f"{_BEGIN}\n{text(kept, languages)}\n{_END}" not in PAGE.read_text()
