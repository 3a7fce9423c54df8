#!/usr/bin/env python3
"""Writes docs/reference/flags.md and docs/reference/cli.md from what corankd and corank say of themselves.

    scripts/docs/programs.py [--check] [--bin FOLDER]

FOLDER (build/bin) holds the programs. With --check nothing is written; a page that is not as the programs make it is
named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
MADE = "<!-- made by scripts/docs/programs.py -->"


def said(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def flags_page(corankd: Path) -> str:
    """The groups of `corankd --help` as tables."""
    head, *groups = re.split(r"\n(?=\S.* \(--help=\S+\)\n)", said(corankd, "--help"))
    lines = ["# Server flags", "", MADE, "", "```text", *head.rstrip().splitlines(), "```", ""]
    for group in groups:
        title, _, rest = group.partition("\n")
        lines += [f"## {title[: title.rindex(' (')]}", "", "| flag | default | meaning |", "| --- | --- | --- |"]
        for flag in re.finditer(r"^  --([a-z0-9-]+) \(default: (.*)\)\n((?:      .*\n?)+)", rest, re.MULTILINE):
            meaning = " ".join(flag[3].split())
            default = "" if flag[2] == "empty" else f"`{flag[2]}`"
            lines.append(f"| `--{flag[1]}` | {default} | {cell(meaning)} |")
        lines.append("")
    return "\n".join(lines)


def commands(corank: Path) -> list[str]:
    listed = said(corank, "help").partition("Commands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def cli_page(corank: Path) -> str:
    """`corank help`, and the help of each command."""
    lines = [
        "# Command line reference",
        "",
        MADE,
        "",
        "```text",
        *said(corank, "help").rstrip().splitlines(),
        "```",
        "",
    ]
    for name in commands(corank):
        if name in ("help", "version"):
            continue
        lines += [f"## corank {name}", "", "```text", *said(corank, name, "--help").rstrip().splitlines(), "```", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "bin", help="the folder of corankd and corank")
    given = parser.parse_args()
    pages = {"flags.md": flags_page(given.bin / "corankd"), "cli.md": cli_page(given.bin / "corank")}
    stale = 0
    for name, text in pages.items():
        path = REFERENCE / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if given.check:
            print(f"programs.py: {path} is stale: run scripts/docs/programs.py", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
