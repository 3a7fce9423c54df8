"""`python -m corank`: asks a server what it is."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys

import corank
from corank._channels import DEFAULT_ADDRESS
from corank._errors import of_command

_EPILOG = """\
in Python:
  import numpy as np, corank
  client = corank.connect("127.0.0.1:50051")
  client.sort(np.random.default_rng(0).random(1_000_000))

start a server with `corankd`; help(corank.Client) has every operator.
"""


def main(arguments: list[str] | None = None) -> int:
    """Prints the server's GetServerInfo; returns 0, or 1 if no server answers."""
    parser = argparse.ArgumentParser(
        prog="python -m corank",
        description="Asks a corank server what it is.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--server", metavar="HOST:PORT", help=f"default: CORANK_SERVER, else {DEFAULT_ADDRESS}")
    parser.add_argument("--deadline", type=float, default=5.0, metavar="SECONDS", help="default: 5")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--version", action="version", version=f"corank {corank.__version__}")
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        try:
            client = stack.enter_context(corank.connect(given.server, deadline=given.deadline))
            info = client.info()
        except corank.CorankError as error:
            print(f"corank: {of_command(error)}", file=sys.stderr)
            return 1
        if given.json:
            print(json.dumps({"address": client.address, **dataclasses.asdict(info)}, indent=2))
            return 0
        print(f"{client.address}: {info}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
