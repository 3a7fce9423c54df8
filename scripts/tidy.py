#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, over C++ sources of a finished build.

Usage: tidy.py [--all | --since REVISION] BUILD_FOLDER

Looks at the sources that changed since REVISION and at those that include a header that changed; with --all at every
source. Without a revision it takes the point where the branch left its upstream or, where HEAD is the upstream, the
last commit that is three days older than HEAD.

A source in which a run found nothing is not read again until it or a file that it includes changes: the folder
corank-tidy of the compiler cache (.deps/tidy without one) holds a hash of all that each was made of.

clang spends most of its time in headers, so it reads up to 24 sources with the same flags as one file, if they
define no name twice. Where that does not compile or something is found, it reads each half of them, down to one.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIDY = ROOT / ".deps" / "venv" / "bin" / "clang-tidy"
RECENT_DAYS = 3
MOST_SOURCES = 24
FINDING = re.compile(r"(error|warning): ")
# What a source defines, not indented: a test, a type or alias, or the last word before "(", "=", "{", "[" or ";".
DEFINED = re.compile(
    r"^(?:(?P<test>TEST(?:_F|_P)?\([^)]*\)|INSTANTIATE_TEST_SUITE_P\(\s*\w+, \w+)"
    r"|#define (?P<macro>\w+)|using (?P<alias>\w+) =|(?:class|struct|enum class|enum|union) (?P<type>\w+)"
    r"|(?!\s|#|//|using |namespace|typedef|template|TEST|INSTANTIATE|MATCHER|\})[\w:<>,&*\[\]\" ]*?"
    r"(?P<name>\w+)(?:\(|\{| = |\[|;)|MATCHER(?:_P\d?)?\((?P<matcher>\w+))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Unit:
    """What the compiler reads as one file: a source, or a file of the build that includes several."""

    file: Path
    sources: tuple[Path, ...]
    object: str
    flags: tuple[str, ...] = ()
    precompiled: str = ""
    """The object of the precompiled header that the compiler reads first; empty if there is none."""


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


def parsed(command: str) -> tuple[str, tuple[str, ...], str]:
    """The object of a compiler's command, its flags, and the precompiled header, which clang cannot read."""
    words = shlex.split(command)[1:]
    made, flags, precompiled = "", [], ""
    while words:
        word = words.pop(0)
        if word == "-o":
            made = words.pop(0)
        elif word == "-c":
            words.pop(0)
        elif word == "-include" and words[0].endswith("/cmake_pch.hxx"):
            precompiled = words.pop(0) + ".gch"
        elif word not in ("-Winvalid-pch", "-fpch-preprocess"):
            flags.append(word)
    return made, tuple(flags), precompiled


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
        found.append(Unit(file, sources, *parsed(entry["command"])))
    return found


def dependencies(build: Path, every: list[Unit]) -> dict[str, set[Path]]:
    """The files that the compiler read for each object, those of its precompiled header included."""
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
    for unit in every:
        if unit.precompiled and unit.object in read:
            header = read.get(os.path.relpath(unit.precompiled, build), set())
            read[unit.object] |= {file for file in header if not file.name.startswith("cmake_pch.")}
    return read


def choose(every: list[Unit], changed: set[Path], read: dict[str, set[Path]]) -> list[Unit]:
    """The units that hold or include a changed file. A unit whose includes are not known is taken."""
    return [
        unit
        for unit in every
        if changed.intersection(unit.sources) or unit.object not in read or changed & read[unit.object]
    ]


@functools.cache
def digest(file: Path) -> bytes:
    """The hash of a file's content."""
    return hashlib.sha256(file.read_bytes()).digest()


class Cache:
    """Knows units in which clang-tidy found nothing, by all that the findings depend on, wherever the checkout is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        version = subprocess.run([str(TIDY), "--version"], capture_output=True, check=True).stdout
        self._salt = version + (ROOT / ".clang-tidy").read_bytes()

    def key(self, unit: Unit, read: Iterable[Path]) -> Path:
        """The file that exists if a unit that is made of these files is known to be clean."""
        made = hashlib.sha256(self._salt)
        made.update("\0".join(unit.flags).replace(str(ROOT), ".").encode())
        for file in sorted({*read, *unit.sources} - {unit.file if len(unit.sources) > 1 else ROOT}):
            made.update(str(file).replace(str(ROOT), ".").encode() + b"\0" + digest(file))
        return self._folder / made.hexdigest()

    def keep(self, keys: Iterable[Path]) -> None:
        """Remembers that these units are clean."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for key in keys:
            key.touch()


def cache_folder() -> Path:
    """The folder of the results: beside those of the compiler cache, which outlives a checkout."""
    try:
        run = subprocess.run(["ccache", "-k", "cache_dir"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ROOT / ".deps" / "tidy"
    return Path(run.stdout.strip()) / "corank-tidy"


def defined(source: Path) -> set[str]:
    """The names that a source seems to define outside of functions and classes."""
    return {match[match.lastgroup or 0] for match in DEFINED.finditer(source.read_text(encoding="utf-8"))}


def groups(chosen: list[Unit]) -> list[list[Unit]]:
    """The units, those together that clang may read as one file."""
    made: list[tuple[list[Unit], int, set[str]]] = []
    for unit in chosen:
        names = set().union(*map(defined, unit.sources))
        for at, (group, count, known) in enumerate(made):
            fits = count + len(unit.sources) <= MOST_SOURCES and group[0].flags == unit.flags
            if fits and known.isdisjoint(names):
                made[at] = ([*group, unit], count + len(unit.sources), known | names)
                break
        else:
            made.append(([unit], len(unit.sources), names))
    return [group for group, _, _ in made]


def run_tidy(file: Path, *rest: str) -> str:
    """What clang-tidy finds in a file; empty: nothing."""
    command = [str(TIDY), "--quiet", f"--config-file={ROOT}/.clang-tidy", str(file), *rest]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if run.returncode == 0:
        return ""
    return run.stdout if FINDING.search(run.stdout) else f"{file}: clang-tidy failed\n{run.stderr}"


def check(build: Path, group: list[Unit]) -> list[tuple[Unit, str]]:
    """The findings in units that are read together. Where that fails, each half is read on its own."""
    if len(group) == 1:  # not by the build's own command, which may name a precompiled header of GCC
        found = run_tidy(group[0].file, "--", *group[0].flags)
        return [(group[0], found)] if found else []
    text = "".join(
        f'#include "{source}"  // NOLINT(bugprone-suspicious-include)\n' for unit in group for source in unit.sources
    )
    together = build / "tidy" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.cc"
    together.parent.mkdir(exist_ok=True)
    together.write_text(text, encoding="utf-8")
    if run_tidy(together, "--", *group[0].flags) == "":
        return []
    half = len(group) // 2
    return check(build, group[:half]) + check(build, group[half:])


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs clang-tidy over C++ sources of a finished build.")
    parser.add_argument("build", type=Path)
    parser.add_argument("--all", action="store_true", help="look at every source")
    parser.add_argument("--since", metavar="REVISION", help="look at what changed since then")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    every = units(build)
    gone = [str(source) for unit in every for source in unit.sources if not source.exists()]
    if gone or not every:
        what = f"{gone[0]} is gone; build again" if gone else "no source"
        print(f"clang-tidy: {build}/compile_commands.json: {what}", file=sys.stderr)
        return 1
    revision = "" if arguments.all else arguments.since or base_revision()
    read = dependencies(build, every)
    chosen = choose(every, changed_files(revision), read) if revision else every
    cache = Cache(cache_folder())
    keys = {unit: cache.key(unit, read[unit.object]) for unit in chosen if unit.object in read}
    new = [unit for unit in chosen if unit not in keys or not keys[unit].exists()]
    # The largest first: the last ones to run leave other cores idle.
    parts = sorted(
        groups(new), key=lambda group: -sum(source.stat().st_size for unit in group for source in unit.sources)
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = dict(found for some in pool.map(lambda group: check(build, group), parts) for found in some)
    cache.keep(keys[unit] for unit in chosen if unit in keys and unit not in findings)
    print("".join(findings.values()), end="")
    files, total = (sum(len(unit.sources) for unit in some) for some in (chosen, every))
    since = f", those with changes since {revision[:12]}" if revision else ""
    known = f"{sum(len(unit.sources) for unit in chosen if unit not in new)} known to be clean"
    print(f"clang-tidy: {files} of {total} files{since}, {known}; {len(findings)} of {len(chosen)} units with findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
