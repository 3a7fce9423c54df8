#!/usr/bin/env python3
"""Writes the vectors of the conformance suite, or checks that the files hold what this script would write.

make_vectors.py [--check]
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import paths

if __name__ == "__main__":
    paths.use_environment()

import answer_vectors
import connect_vectors
import error_vectors
import fault_vectors
import group_vectors
import interval_vectors
import join_vectors
import kept_vectors
import large_joins
import large_selections
import large_vectors
import operator_vectors
import published_vectors
import rank_vectors
import search_vectors
import select_vectors
import set_vectors
from operator_vectors import Vector

HERE = Path(__file__).resolve().parent
MAX_BYTES = 9 << 18


def files() -> dict[str, list[Vector]]:
    """The vectors of every file."""
    return {
        "sort": list(operator_vectors.sorts()),
        "columns": list(operator_vectors.columns()),
        "nulls": list(operator_vectors.nulls()),
        "merge": [*operator_vectors.merges(), *published_vectors.merges()],
        "search": [*operator_vectors.searches(), *search_vectors.searches()],
        "intervals": [
            *interval_vectors.expands(),
            *interval_vectors.moves(),
            *interval_vectors.load_balances(),
            *published_vectors.intervals(),
        ],
        "group": list(group_vectors.every()),
        "sets": list(set_vectors.every()),
        "join": list(join_vectors.every()),
        "select": list(select_vectors.every()),
        "rank": list(rank_vectors.every()),
        "large": [
            *large_vectors.larger(),
            *large_vectors.groups(),
            *large_vectors.sets(),
            *large_joins.every(),
            *large_selections.every(),
            *large_vectors.many_chunks(),
            *large_vectors.progress(),
            *large_vectors.shared_memory(),
        ],
        "errors": list(error_vectors.every()),
        "faults": [
            *fault_vectors.codes(),
            *fault_vectors.reasons(),
            *fault_vectors.retries(),
            *fault_vectors.policies(),
            *fault_vectors.times(),
            *fault_vectors.connections(),
            *answer_vectors.answers(),
        ],
        "connect": list(connect_vectors.every()),
        "kept": [
            *kept_vectors.kept(),
            *kept_vectors.kept_results(),
            *kept_vectors.sharded(),
            *kept_vectors.chains(),
        ],
    }


def text_of(vectors: Iterable[Vector]) -> str:
    """A file's contents: one vector a line."""
    return "".join(json.dumps(vector, separators=(",", ":")) + "\n" for vector in vectors)


def known_features() -> set[str]:
    """The features that vectors may need."""
    groups = json.loads((HERE / "features.json").read_text())["groups"]
    return {name for group in groups for name in group["features"]}


def fault(found: dict[str, list[Vector]]) -> str:
    """What is wrong with the vectors themselves; empty: nothing."""
    every = [vector for vectors in found.values() for vector in vectors]
    names = [vector["name"] for vector in every]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"names that two vectors have: {', '.join(twice)}"
    needed = {name for vector in every for name in vector["needs"]}
    if needed != known_features():
        return f"features.json and the vectors differ in {', '.join(sorted(needed ^ known_features()))}"
    proto = (HERE.parents[1] / "proto" / "corank" / "v1" / "error_reason.proto").read_text()
    reasons = set(re.findall(r"^  ERROR_REASON_(\w+) = [1-9]", proto, re.MULTILINE))
    missing = reasons - {reason for known in fault_vectors.REASONS.values() for reason in known}
    return f"reasons of the contract without a vector: {', '.join(sorted(missing))}" if missing else ""


def main() -> int:
    """The command."""
    found = files()
    wrong = fault(found)
    if wrong:
        print(f"make_vectors: {wrong}", file=sys.stderr)
        return 1
    texts = {HERE / "vectors" / f"{name}.jsonl": text_of(vectors) for name, vectors in found.items()}
    size = sum(map(len, texts.values()))
    count = sum(map(len, found.values()))
    if size > MAX_BYTES:
        print(f"make_vectors: {size} bytes of vectors; at most {MAX_BYTES} may be checked in", file=sys.stderr)
        return 1
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in (HERE / "vectors").glob("*") if path not in texts]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"make_vectors: {path.relative_to(HERE)} is not current; run client/conformance/make_vectors.py")
        print(f"make_vectors: {count} vectors, {size >> 10} KiB")
        return int(bool(stale))
    (HERE / "vectors").mkdir(exist_ok=True)
    for path in stale:
        if path in texts:
            path.write_text(texts[path])
        else:
            path.unlink()
    print(f"make_vectors: {count} vectors, {size >> 10} KiB; {len(stale)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
