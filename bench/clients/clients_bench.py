#!/usr/bin/env python3
"""Times the client of each language beside an echo by the same language's gRPC library.

    bench/clients/clients_bench.py --corankd build/bin/corankd --out bench/results/h200/clients.json [LANGUAGE...]

Starts corankd and echo_server, which sends the same messages back unchanged, and for each language two processes of its
benchmark program: `client` calls corankd by the client library, `stub` calls echo_server by the generated stubs alone.
The two take turns. Languages whose program is not built are left out, with a line that says so.

A benchmark program is started as `PROGRAM client|stub ADDRESS`. It reads one JSON object a line and writes one:

    {"work": "calls", "n": 1024, "seconds": 2}         sorts n ascending u32 again and again, 64 calls in flight, by one
                                                       connection
    {"work": "stream", "n": 67108864, "seconds": 2}    sorts n ascending u32 by streams over 4 connections, one array
                                                       after the other, in the client's chunks
    -> {"value": 12345.6}                              calls a second, or bytes a second in one direction
    -> {"error": "why"}                                an answer was wrong, or a call failed

The arrays are in order already, so that the sort itself is short and the client weighs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "places"))
sys.path.insert(0, str(ROOT / "client" / "python" / "src"))

from corank.testing import LocalServer  # noqa: E402
from echo_server import echo_server  # noqa: E402
from places_bench import commit_of, quantiles, write_results  # noqa: E402

GOAL = 0.8
"""The least rate of the client beside the echo."""

PROGRAMS: dict[str, list[str]] = {
    "python": [sys.executable, "bench/clients/python_program.py"],
    "go": [".deps/clients/go-bench"],
    "java": ["client/java/bench/run", "client/java/target/classpath"],
    "node": ["node", "client/node/bench/program.mjs"],
    "rust": [".deps/clients/rust-bench"],
    "triton": [".deps/triton-venv/bin/python", "bench/clients/triton_program.py"],
}
"""What starts the program of each language, from the top of the repository."""

ONLY_CALLS = {"triton"}
"""Their protocol has no streams of large arrays."""

WORK = {"calls": ("Sort, 64 in flight", "calls/s"), "stream": ("Sort by streams", "bytes/s")}


class Program:
    """One process of a language's benchmark program."""

    def __init__(self, command: list[str], side: str, address: str) -> None:
        self._process = subprocess.Popen(
            [*command, side, address], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def rate(self, work: str, n: int, seconds: float) -> float:
        """The rate of this work. Raises RuntimeError with the program's reason."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # the program has ended; its last line may say why
            print(json.dumps({"work": work, "n": n, "seconds": seconds}), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": f"the program ended with {self._process.wait()}"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return float(answer["value"])


def is_built(command: list[str]) -> bool:
    files = [part for part in command if "/" in part]
    return all((ROOT / part).exists() for part in files)


def measure(
    language: str, work: str, n: int, client: Program, stub: Program, rounds: int, seconds: float
) -> dict[str, Any]:
    name, unit = WORK[work]
    ours: list[float] = []
    reference: list[float] = []
    row: dict[str, Any] = {
        "row": f"{name}: {language}",
        "type": "u32",
        "n": n,
        "distribution": "ascending",
        "ours": None,
        "reference": None,
        "reference_name": "an echo by the same gRPC library",
        "unit": unit,
        "better": "higher",
        "ratio": None,
        "spread": None,
        "goal": f">= {GOAL} of the echo",
        "met": False,
        "checked": True,
    }
    try:
        for side in (client, stub):
            side.rate(work, n, seconds / 2)  # warms up
        for _ in range(rounds):
            ours.append(client.rate(work, n, seconds))
            reference.append(stub.rate(work, n, seconds))
    except RuntimeError as error:
        return {**row, "error": str(error)}
    ratio = statistics.median(ours) / statistics.median(reference)
    spread = {"ours": quantiles(ours), "reference": quantiles(reference), "samples": rounds}
    return {
        **row,
        "ours": statistics.median(ours),
        "reference": statistics.median(reference),
        "ratio": ratio,
        "spread": spread,
        "met": ratio >= GOAL,
    }


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(PROGRAMS)}; default: all")
    parser.add_argument("--corankd", default=str(ROOT / "build" / "bin" / "corankd"))
    parser.add_argument("--out", help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round")
    parser.add_argument("--few", type=int, default=1024, help="keys of a call")
    parser.add_argument("--many", type=int, default=1 << 26, help="keys of a stream; 2^26 of them are 256 MiB")
    parser.add_argument("--commit", default="", help="the commit to name in the JSON; by default what git says")
    options = parser.parse_args()
    unknown = set(options.languages) - set(PROGRAMS)
    if unknown:
        parser.error(f"no program for {', '.join(sorted(unknown))}")

    rows = []
    with ExitStack() as stack:
        server = stack.enter_context(LocalServer(options.corankd))
        echo = stack.enter_context(echo_server(Path(options.corankd).with_name("echo_server"), "--hold"))
        for language in options.languages or PROGRAMS:
            command = PROGRAMS[language]
            if not is_built(command):
                print(f"{language}: left out, {command[-1]} is not built", flush=True)
                continue
            with Program(command, "client", server.address) as client, Program(command, "stub", echo) as stub:
                for work, n in (("calls", options.few), ("stream", options.many)):
                    if work == "stream" and language in ONLY_CALLS:
                        continue
                    row = measure(language, work, n, client, stub, options.rounds, options.seconds)
                    rows.append(row)
                    if row["ratio"] is None:
                        print(f"{row['row']:44} FAILED: {row['error']}", flush=True)
                        continue
                    verdict = "met" if row["met"] else "NOT MET"
                    print(
                        f"{row['row']:44} {row['ours']:15,.0f} {row['unit']}, {row['ratio']:.2f} of the echo "
                        f"[{row['goal']}: {verdict}]",
                        flush=True,
                    )
        with server.connect() as asking:
            device = asking.info().device
    if options.out and rows:
        Path(options.out).parent.mkdir(parents=True, exist_ok=True)
        write_results(Path(options.out), device, commit_of(options.commit), " ".join(map(os.fspath, sys.argv)), rows)
    return 0 if rows and all(row["ratio"] is not None for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
