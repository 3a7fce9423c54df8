#!/usr/bin/env python3
"""Fails on links of Markdown files that lead nowhere, on long lines, and on pages that outgrew their readers.

Usage: markdown.py [ROOT]

Looks at what git tracks or would track. A link to a file of the checkout must name one that is there, and its anchor a
heading of it; http links are not fetched. A line has at most 120 columns, but for tables, code and links. MOST_WORDS
and MOST_LINES bound pages that a reader reads whole.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

from files import project_files

MAX_COLUMNS = 120
MOST_WORDS = {"docs/architecture.md": 2500}
MOST_LINES = {"README.md": 130, "CHANGELOG.md": 59}
GENERATED = "bench/results/"  # made by bench/report/report.py
LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?(?:\s+\"[^\"]*\")?\s*\)"
)
DEFINITION = re.compile(r"^\s*\[[^\]]+\]:\s*(\S+)")
SOURCE = re.compile(r"\b(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
IDENTIFIER = re.compile(r"\bid=\"([^\"]+)\"|\{[^}]*#([\w-]+)[^}]*\}")
CODE = re.compile(r"`[^`]*`")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def text_lines(text: str) -> list[tuple[int, str]]:
    """The numbered lines outside of fences."""
    found, fence = [], ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (not fence or (line.strip().startswith(fence) and not line.strip().strip(fence[0]))):
            fence = "" if fence else mark[1]
        elif not fence:
            found.append((number, line))
    return found


def slugs(heading: str) -> set[str]:
    """The anchors of a heading: those of GitHub, and those of MkDocs, which joins hyphens."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    words = re.sub(r"\{[^}]*\}\s*$", "", words).replace("`", "").strip().lower()
    plain = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
    ascii_only = re.sub(r"[^\w\s-]", "", words.encode("ascii", "ignore").decode()).strip()
    return {plain, re.sub(r"[-\s]+", "-", ascii_only)}


def anchors(path: Path) -> set[str]:
    found: set[str] = set()
    for _, line in text_lines(path.read_text(encoding="utf-8")):
        found.update(name for pair in IDENTIFIER.findall(line) for name in pair if name)
        heading = HEADING.match(line)
        for slug in slugs(heading[1]) if heading else ():
            found.add(slug)
            found.update(f"{slug}{mark}{times}" for mark in "-_" for times in range(1, 9))
    return found


def link_problem(root: Path, page: Path, link: str) -> str:
    """What is wrong with a link of a page; empty if nothing is."""
    if SCHEME.match(link):
        return ""
    target, _, anchor = unquote(link).partition("#")
    path = page if not target else (root / target[1:] if target.startswith("/") else page.parent / target)
    if not path.resolve().is_relative_to(root.resolve()):
        return f"{link} leads out of the checkout"
    if not path.exists():
        return f"{link}: there is no such file"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"{link}: {target or 'this page'} has no such heading"
    return ""


def length_problems(name: str, text: str) -> list[str]:
    """Says whether a page has too many words or lines."""
    words = sum(1 for word in re.sub(r"\]\([^)]*\)", "] ", text).split() if re.search(r"\w", word))
    found = []
    for count, most, unit in ((words, MOST_WORDS, "words"), (len(text.splitlines()), MOST_LINES, "lines")):
        if count > most.get(name, count):
            found.append(f"{name}:1: {count} {unit}; the page has at most {most[name]}")
    return found


def problems(root: Path) -> list[str]:
    """One line for each thing that is wrong, `file:line: what`."""
    found = []
    for name in project_files(root):
        if not name.endswith(".md") or name.startswith(GENERATED):
            continue
        page = root / name
        text = page.read_text(encoding="utf-8")
        found += length_problems(name, text)
        for number, line in text_lines(text):
            prose = CODE.sub("", line)
            links = [*LINK.findall(prose), *SOURCE.findall(prose), *DEFINITION.findall(prose)]
            wrong = [problem for link in links if (problem := link_problem(root, page, link))]
            is_table = line.lstrip().startswith("|")
            if len(line) > MAX_COLUMNS and not is_table and not (links and " " not in line.strip()):
                wrong.append(f"{len(line)} columns; a line has at most {MAX_COLUMNS}")
            found += [f"{name}:{number}: {problem}" for problem in wrong]
    return found


def main() -> int:
    found = problems(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"markdown: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
