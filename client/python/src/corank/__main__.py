"""`python -m corank`: asks a server what it is."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys

import corank
from corank._channels import DEFAULT_ADDRESS

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
            print(f"corank: {error}", file=sys.stderr)
            return 1
        if given.json:
            print(json.dumps({"address": client.address, **dataclasses.asdict(info)}, indent=2))
            return 0
        rows = {
            "server": f"{client.address}, corankd {info.version}, up {info.uptime_seconds:,} s",
            "engine": f"{info.engine}: {info.device}, {info.device_memory_bytes / 2**30:.1f} GiB",
            "why": info.engine_reason,
            "lanes": str(info.lanes),
            "places": ", ".join(info.places),
            "largest request": f"{info.limits.max_request_bytes / 2**20:,.0f} MiB",
            "streams": f"chunks of {info.limits.max_chunk_bytes / 2**20:,.0f} MiB, {info.limits.max_parts} connections",
            "shared memory": ", ".join(info.shared_memory_prefixes) or "off",
            "queue": f"{info.limits.max_queued_requests:,} requests, {info.limits.max_queued_bytes / 2**20:,.0f} MiB",
        }
        for device in info.devices if len(info.devices) > 1 else ():
            state = "" if device.up else ", down"
            rows[f"device {device.ordinal}"] = f"{device.name}, {device.memory_bytes / 2**30:.1f} GiB{state}"
        for name, value in rows.items():
            print(f"{name:16} {value}")
        for setting in info.settings:
            if setting.source != "default":
                value = "(hidden)" if setting.hidden else setting.value or '""'
                print(f"{setting.name:24} {value} ({setting.source})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
