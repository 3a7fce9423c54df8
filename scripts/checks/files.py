#!/usr/bin/env python3
"""Fails on long files and lines, on leftovers (to-do and conflict marks) and on scripts that are not executable.

Usage: files.py [ROOT]

Checks the files that git tracks or would track.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MAX_LINES, MAX_COLUMNS = 500, 120
SOURCES = {".cc", ".h", ".cu", ".cuh", ".go", ".py", ".sh", ".proto"}
WITHOUT_FORMATTER = {".sh", ".proto"}  # the formatters of other files know how long a line may be
GENERATED = (".pb.go",)
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|^(<<<<<<<|>>>>>>>) ")
THIS_FILE = "scripts/checks/files.py"


def project_files(root: Path) -> list[str]:
    """Paths, relative to root, that git tracks or would track."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return sorted({name for name in listed if (root / name).is_file()})


def problems(root: Path) -> list[str]:
    """One line for each problem, `file:line: what`."""
    found: list[str] = []
    for name in project_files(root):
        path = root / name
        raw = path.read_bytes()
        starts_as_script = raw.startswith(b"#!")
        if starts_as_script and not path.stat().st_mode & 0o111:
            found.append(f"{name}:1: starts with #! but is not executable")
        if path.suffix not in SOURCES or name.endswith(GENERATED):
            continue
        lines = raw.decode("utf-8").splitlines()
        if len(lines) > MAX_LINES:
            found.append(f"{name}:{MAX_LINES + 1}: {len(lines)} lines; a file has at most {MAX_LINES}")
        if path.suffix in WITHOUT_FORMATTER:
            found += [
                f"{name}:{number}: {len(line)} columns; a line has at most {MAX_COLUMNS}"
                for number, line in enumerate(lines, start=1)
                if len(line) > MAX_COLUMNS
            ]
        if name == THIS_FILE:
            continue
        found += [
            f"{name}:{number}: leftover: {line.strip()}"
            for number, line in enumerate(lines, start=1)
            if LEFTOVER.search(line)
        ]
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found = problems(root)
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"files: {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
