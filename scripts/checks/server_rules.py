#!/usr/bin/env python3
"""Fails if code of the server decides in a way that the planner replaced.

Usage: server_rules.py [ROOT]

How a request is carried out is decided once, by plan/planner.h, from what its operation states about itself. So below
server/ there is no dynamic_cast, and no member is mutable but locks, in server/plan not even these: a const method
changes nothing, and there it does not wait. Below rpc nothing names the library that carries calls. Nothing waits by
the wall clock.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple


class Rule(NamedTuple):
    pattern: re.Pattern[str]
    folders: tuple[str, ...]  # none: all of server/
    reason: str


BELOW_RPC = ("plan", "schedule", "run", "model", "memory", "observe", "security", "base")

RULES = [
    Rule(re.compile(r"\bdynamic_cast\b"), (), "let the operation state it, and the planner decide"),
    Rule(re.compile(r"^\s*mutable\b"), ("plan",), "a const method changes nothing and does not wait"),
    Rule(re.compile(r"^\s*mutable (?!absl::Mutex\b)"), (), "a const method changes nothing"),
    Rule(re.compile(r"\bgrpc(pp)?(::|/)"), BELOW_RPC, "only rpc and what is below it know gRPC"),
    Rule(
        re.compile(r"\b(Await|Wait)With(Timeout|Deadline)\b|\bsystem_clock\b"),
        (),
        "a step of the wall clock changes this wait: AwaitSteadily",
    ),
    Rule(re.compile(r"\bEndsWith\(\s*\w*field"), (), "decide by type, not by the name of a field"),
]


def violations(root: Path) -> tuple[list[str], int]:
    """Every line of server/ that breaks a rule, and the number of files read."""
    found = []
    files = 0
    for path in sorted((root / "server").rglob("*")):
        if path.suffix not in {".cc", ".h"}:
            continue
        files += 1
        folder = path.relative_to(root / "server").parts[0]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            code = line.split("//")[0]
            for rule in RULES:
                if (not rule.folders or folder in rule.folders) and rule.pattern.search(code):
                    found.append(f"{path.relative_to(root)}:{number}: {code.strip()}: {rule.reason}")
    return found, files


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found, files = violations(root)
    for violation in found:
        print(violation, file=sys.stderr)
    print(f"server rules: {files} files, {len(found)} broken rules")
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
