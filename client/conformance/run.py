#!/usr/bin/env python3
"""Runs the conformance vectors against the clients.

Exits with 0 if every vector passed in every language. A language whose tool chain is absent is skipped with a line that
says what to install. CORANKD names the server's binary; build/bin/corankd by default.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import paths

if __name__ == "__main__":
    paths.use_environment()

import table
from drivers import AbsentError, DriverError, Language, languages
from scenario import FailedError, LackingError, Scenario
from servers import Servers

HERE = Path(__file__).resolve().parent
Vector = dict[str, Any]


def vectors() -> list[Vector]:
    """All vectors, by file."""
    found = []
    for path in sorted((HERE / "vectors").glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text().splitlines()]
    return found


def known_failing() -> dict[str, list[str]]:
    """The vectors that may fail, by language."""
    found: dict[str, list[str]] = json.loads((HERE / "known_failing.json").read_text())
    return found


@dataclass
class Report:
    """What came of the vectors in one language."""

    language: Language
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    features: dict[str, str] = field(default_factory=dict)
    """"yes", "no" (some vector failed) or "lacks", by feature that was looked at."""
    seconds: float = 0.0

    def add(self, vector: Vector, wrong: str) -> None:
        """Notes an outcome."""
        lacking = [name for name in vector["needs"] if name in self.language.lacks]
        if wrong:
            self.failures.append(f"{vector['name']}: {wrong}")
        else:
            self.passed += 1
        for name in lacking or vector["needs"]:
            now = "no" if wrong else "lacks" if lacking else "yes"
            if self.features.get(name) != "no":
                self.features[name] = now


def outcome(scenario: Scenario, vector: Vector, language: Language) -> str:
    """What is wrong with the outcome of a vector; empty: nothing."""
    lacking = [name for name in vector["needs"] if name in language.lacks]
    try:
        scenario.run(vector)
    except LackingError as lacks:
        return "" if str(lacks) in lacking else f"the driver lacks {lacks}, which language.json does not say"
    except (FailedError, DriverError) as error:
        return str(error)
    return f"language.json says that it lacks {', '.join(lacking)}, but it does this" if lacking else ""


def run_language(language: Language, chosen: list[Vector], servers: Servers, verbose: bool) -> Report:
    """Runs vectors in one language.

    Raises:
        AbsentError: its tool chain is not there.
    """
    report, may_fail = Report(language), known_failing().get(language.name, [])
    began = time.monotonic()
    scenario = Scenario(language, servers)
    try:
        hello = scenario.hello()
        print(f"{language.title} {hello['version']}, {hello['library']}", flush=True)
        for vector in chosen:
            start = time.monotonic()
            wrong = outcome(scenario, vector, language)
            if vector["name"] in may_fail:
                wrong = "" if wrong else "passes, but known_failing.json has it"
            report.add(vector, wrong)
            if wrong or verbose:
                said = f"{vector['name']} ({time.monotonic() - start:.2f} s)"
                told = f"  {language.title}: FAILED {said}: {wrong}" if wrong else f"  {language.title}: passed {said}"
                print(told, flush=True)
        code = scenario.stop()
        if code != 0:
            report.failures.append(f"the driver ended with {code}")
    except DriverError as error:
        report.failures.append(str(error))
        print(f"  {language.title}: FAILED {error}", flush=True)
    finally:
        scenario.kill()
    report.seconds = time.monotonic() - began
    return report


def run_alone(language: Language, chosen: list[Vector], verbose: bool) -> Report | None:
    """Runs vectors in one language with servers of its own. None: its tool chain is not there."""
    servers = Servers()
    try:
        return run_language(language, chosen, servers, verbose)
    except AbsentError as absent:
        print(f"{language.title}: skipped: {absent}", flush=True)
        return None
    finally:
        servers.stop()


def is_table_right(reports: list[Report], known: list[Language], write: bool) -> bool:
    """Writes the table of the docs, or says whether it holds what these reports found."""
    columns = {
        report.language.title: {name: table.CELLS[outcome] for name, outcome in report.features.items()}
        for report in reports
    }
    if write:
        table.write({**table.read(), **columns}, known)
        return True
    if not table.differs(columns, known):
        return True
    print(f"{table.PAGE.relative_to(HERE.parents[1])} says something else; run client/conformance/run.py --write-table")
    return False


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", action="append", default=[], help="run this language only; may be repeated")
    parser.add_argument("--only", default="*", help="run vectors whose names match this pattern only, such as 'sort/*'")
    parser.add_argument("--quick", action="store_true", help="leave out the vectors that take long")
    parser.add_argument("--jobs", type=int, default=3, help="languages at a time (default: 3)")
    parser.add_argument("--write-table", action="store_true", help="write the table of the docs instead of checking it")
    parser.add_argument("--verbose", action="store_true", help="print every vector")
    return parser.parse_args()


def main() -> int:
    """The command."""
    given = arguments()
    known = languages()
    unknown = set(given.language) - {language.name for language in known}
    if unknown:
        print(f"run.py: no driver of {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = [
        vector
        for vector in vectors()
        if fnmatch.fnmatchcase(vector["name"], given.only) and not (given.quick and vector.get("full"))
    ]
    if not chosen:
        print(f"run.py: no vector matches {given.only!r}", file=sys.stderr)
        return 2
    for name in list(os.environ):
        if name.startswith("CORANK_") and not name.startswith("CORANK_CONFORMANCE_"):
            del os.environ[name]  # neither servers nor clients take settings of the caller
    wanted = [language for language in known if not given.language or language.name in given.language]
    # Each in a process of its own: a driver waits for its server most of the time.
    with ProcessPoolExecutor(given.jobs) as pool:
        found = list(pool.map(partial(run_alone, chosen=chosen, verbose=given.verbose), wanted))
    reports = [report for report in found if report is not None]
    for report in reports:
        failed = len(report.failures)
        print(f"{report.language.title}: {report.passed} vectors passed, {failed} failed, {report.seconds:.0f} s")
    is_good = bool(reports) and not any(report.failures for report in reports)
    is_right = given.only != "*" or is_table_right(reports, known, given.write_table)
    return int(not (is_good and is_right))


if __name__ == "__main__":
    sys.exit(main())
