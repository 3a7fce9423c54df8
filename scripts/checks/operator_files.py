#!/usr/bin/env python3
"""Fails if an operator is spread over more files of server/ than the table below states.

Usage: operator_files.py [ROOT]

An operator is a row of CORANK_OPERATORS (server/model/operator.h). Besides it, an operator has its parser, its device
operation, its models of the Open Inference Protocol, and its line in the watched engine. A file counts if its code,
comments aside, names the operator: its messages, its enumerator, its class or its files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Fewer is better: lower a number when the check says that it may be lower, never raise one. Sort and Merge have no
# number, because the server has more ways to run them.
MOST_FILES = {
    "ExpandIntervals": 8,
    "MoveIntervals": 7,
    "GatherIntervals": 5,
    "ScatterIntervals": 4,
    "LoadBalance": 5,
    "Search": 7,
    "Group": 5,
    "CombineSets": 5,
    "Join": 5,
    "Select": 5,
    "Rank": 3,
}
WITHOUT_LIMIT = {"Sort", "Merge"}
# Words that the server also uses for other things: there are groups of settings, threads join, devices select, and NaNs
# have a rank. They count where they name a field.
ORDINARY_WORDS = {"group", "join", "select", "rank"}

ROW = re.compile(r"^\s*ROW\((\w+), (\w+)\)", re.MULTILINE)


def operators(root: Path) -> dict[str, str]:
    """The operators' names by the names of their messages."""
    return dict(ROW.findall((root / "server" / "model" / "operator.h").read_text(encoding="utf-8")))


def files_of(root: Path, message: str, name: str) -> list[str]:
    """The files below server/ whose code names an operator."""
    # Classes and files of intervals have the short names of the kernels.
    short = message.removesuffix("Intervals")
    stem = name.removesuffix("_intervals")
    accessor = rf"operations?(\(\w+\))?(\.|->)(mutable_)?{name}\(|\bROW\(\w+, {name}\)"
    is_ordinary = name in ORDINARY_WORDS
    field = accessor if is_ordinary else rf"\b{name}\b"
    method = rf"_{message}\b" if is_ordinary else rf"[_:]{message}\b"
    mentions = re.compile(
        rf"\bk{message}\b|\b{message}(Request|Response)\b|{method}|\b{short}(Operation|Args)\b"
        rf"|\b(device_ops|parse)/{stem}\b|{field}"
    )
    found = []
    for path in sorted((root / "server").rglob("*")):
        if path.suffix in {".cc", ".h"} or path.name == "CMakeLists.txt":
            comment = "#" if path.name == "CMakeLists.txt" else "//"
            if mentions.search(re.sub(rf"{comment}[^\n]*", "", path.read_text(encoding="utf-8"))):
                found.append(str(path.relative_to(root)))
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    wrong = []
    for message, name in operators(root).items():
        if message in WITHOUT_LIMIT:
            continue
        files = files_of(root, message, name)
        most = MOST_FILES.get(message, 0)
        if len(files) > most:
            wrong.append(message)
            print(f"operator files: {message} is in {len(files)} files, more than {most}:", file=sys.stderr)
            print("\n".join(f"  {file}" for file in files), file=sys.stderr)
        elif len(files) < most:
            print(f"operator files: {message} is in {len(files)} files: its limit of {most} may be lower")
    print(f"operator files: {len(operators(root))} operators, {len(wrong)} in too many files")
    return 1 if wrong or not operators(root) else 0


if __name__ == "__main__":
    sys.exit(main())
