#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, over C++ sources of a finished build.

Usage: tidy.py [--all | --since REVISION] BUILD_FOLDER

Looks at the sources that changed since REVISION and at those that include a header that changed; with --all at every
source. Without a revision it takes the point where the branch left its upstream or, where HEAD is the upstream, the
last commit that is three days older than HEAD. Sources that the build compiles as one file are looked at as one file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECENT_DAYS = 3
FINDING = re.compile(r"(error|warning): ")


@dataclass(frozen=True)
class Unit:
    """What the compiler reads as one file: a source, or a file of the build that includes several."""

    file: Path
    sources: tuple[Path, ...]
    object: str


def git(*arguments: str) -> str:
    """What git prints; empty where it fails."""
    run = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return run.stdout.strip() if run.returncode == 0 else ""


def base_revision() -> str:
    """The revision that changes are counted from; empty where the history is too short to tell."""
    head = git("rev-parse", "HEAD")
    for upstream in ("@{upstream}", "origin/main"):
        fork = git("merge-base", "HEAD", upstream)
        if fork and fork != head:
            return fork
    when = git("log", "-1", "--format=%ct")
    if not when:
        return ""
    old = datetime.datetime.fromtimestamp(int(when), datetime.UTC) - datetime.timedelta(days=RECENT_DAYS)
    return git("rev-list", "-1", f"--before={old.isoformat()}", "HEAD")


def changed_files(revision: str) -> set[Path]:
    """Files that differ from the revision in the work tree, untracked ones too."""
    tracked = git("diff", "--name-only", revision).splitlines()
    untracked = git("ls-files", "--others", "--exclude-standard").splitlines()
    return {ROOT / name for name in tracked + untracked}


def units(build: Path) -> list[Unit]:
    """All units of the project's own C++ sources."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(os.path.normpath(Path(entry["directory"]) / entry["file"]))
        if "Unity" in file.parts:
            included = re.findall(r'#include "([^"]+)"', file.read_text(encoding="utf-8"))
            sources = tuple(Path(os.path.normpath(file.parent / name)) for name in included)
        else:
            sources = (file,)
        if any(source.suffix != ".cc" or build in source.parents or ROOT not in source.parents for source in sources):
            continue  # generated, or of nvcc
        found.append(Unit(file, sources, entry.get("output", "")))
    return found


def dependencies(build: Path) -> dict[str, set[Path]]:
    """The files that the compiler read for each object."""
    listed = subprocess.run(
        ["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    read: dict[str, set[Path]] = {}
    current: set[Path] = set()
    for line in listed.splitlines():
        if line.startswith("    "):
            current.add(Path(os.path.normpath(build / line.strip())))
        elif ": #deps" in line:
            current = read.setdefault(line.split(":", 1)[0], set())
    return read


def choose(every: list[Unit], changed: set[Path], read: dict[str, set[Path]]) -> list[Unit]:
    """The units that hold or include a changed file. A unit whose includes are not known is taken."""
    return [
        unit
        for unit in every
        if changed.intersection(unit.sources) or unit.object not in read or changed & read[unit.object]
    ]


def check(build: Path, unit: Unit) -> str:
    """The findings in a unit; empty if there are none."""
    command = [str(ROOT / ".deps/venv/bin/clang-tidy"), "--quiet", "-p", str(build), str(unit.file)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if run.returncode == 0:
        return ""
    return run.stdout if FINDING.search(run.stdout) else f"{unit.file}: clang-tidy failed\n{run.stderr}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs clang-tidy over C++ sources of a finished build.")
    parser.add_argument("build", type=Path)
    parser.add_argument("--all", action="store_true", help="look at every source")
    parser.add_argument("--since", metavar="REVISION", help="look at what changed since then")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    every = units(build)
    if not every:
        print(f"clang-tidy: no source in {build}/compile_commands.json", file=sys.stderr)
        return 1
    revision = "" if arguments.all else arguments.since or base_revision()
    chosen = choose(every, changed_files(revision), dependencies(build)) if revision else every
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(lambda unit: check(build, unit), chosen) if text]
    print("\n".join(findings), end="")
    files = sum(len(unit.sources) for unit in chosen)
    total = sum(len(unit.sources) for unit in every)
    since = f", those with changes since {revision[:12]}" if revision else ""
    print(f"clang-tidy: {files} of {total} files{since}; {len(findings)} of {len(chosen)} units with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
