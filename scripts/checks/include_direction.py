#!/usr/bin/env python3
"""Fails if an #include points against the layers of corank.

Usage: include_direction.py [ROOT]

Each layer may include only itself and the layers it depends on:

    kernels/common <- kernels/engine <- kernels/cpu, kernels/cuda <- server/run, server (main)
    server: kserve -> rpc -> plan -> schedule -> run, forwards only
    the rooms beside them, of which each may use those before it, and every stage all of them:
    base, model, observe, security, memory
    server/wire uses base and observe; rpc and kserve use it; nothing in server/ includes gRPC's C++ library
    server/config (flags, environment, file) depends on server.h and every stage; only main.cc may use it
    kernels/include (the public headers of the kernels) -> kernels/common, kernels/cpu, kernels/cuda
    client -> include/corank (the public headers), proto -> kernels/common
    include/corank depends on Abseil only: it is installed, and the rest of the tree is not
    spelling and version are for server and client; they use Abseil only

Of the kernels, only the engines use Abseil: other projects link the kernels without it.

Messages (corank/v1, corank/wire, inference, proto) are for kserve, rpc, plan, run, model, memory, base and client.
bench and tests are free.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

SOURCES = {".cc", ".h", ".cu", ".cuh"}
SKIPPED = re.compile(r"^(build.*|dist|\.deps|\.git|bench|tests)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# kserve is another door to rpc.
STAGES = ["kserve", "rpc", "plan", "schedule", "run"]
ROOMS = ["base", "model", "observe", "security", "memory"]
MESSAGES = re.compile(r"^(corank/(v1|wire)/|inference/|proto/)")
RPC_LIBRARIES = re.compile(r"^(grpc|grpcpp|google/protobuf)/")
# The messages of grpc.health and grpc.reflection are the protocol's, not the library's.
GRPC_LIBRARY = re.compile(r"^(grpcpp/|grpc/(?!health/|reflection/)|.*\.grpc\.pb\.h$)")
PROMETHEUS = re.compile(r"^prometheus/")
PUBLIC = re.compile(r"^corank/(?!v1/|wire/)")
PUBLIC_OF_KERNELS = re.compile(r"^corank/(types\.h|internal/key_traits\.h|span\.h|operands\.h|cpu\.h|cuda\.h|cuda/.*)$")


class Violation(NamedTuple):
    path: str
    line: int
    include: str
    rule: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: includes "{self.include}": {self.rule}'


def kernels_rule(parts: tuple[str, ...], include: str) -> str | None:
    layer = parts[1]
    if MESSAGES.match(include) or RPC_LIBRARIES.match(include) or PROMETHEUS.match(include):
        return "kernels/ knows nothing of gRPC, protobuf or Prometheus"
    if include.startswith("absl/") and "engine" not in parts[1:-1] and not parts[-1].endswith("_engine.h"):
        return "of kernels/, only the engines use Abseil"
    if layer == "include":
        allowed = PUBLIC_OF_KERNELS.match(include) or not include.startswith(("server/", "client/", "corank/", "absl/"))
        return None if allowed else "public headers of kernels/ may include only each other and kernels/"
    if include.startswith(("server/", "client/")) or (PUBLIC.match(include) and include != "corank/types.h"):
        return "kernels/ knows nothing of server/ and client/"
    below = {"common": {"common"}, "engine": {"common", "engine"}}.get(layer, {"common", "engine", layer})
    if include.startswith("kernels/") and include.split("/")[1] not in below:
        return f"kernels/{layer} may include only kernels/ of {', '.join(sorted(below))}"
    return None


def server_rule(stage: str, include: str) -> str | None:
    if include.startswith("client/") or PUBLIC.match(include):
        return "server/ knows nothing of client/"
    if GRPC_LIBRARY.match(include):
        return "the server speaks gRPC through server/wire, not through gRPC's C++ library"
    if stage.endswith((".cc", ".h")) or stage == "config":  # assembles and configures the stages
        return None
    if PROMETHEUS.match(include) and stage != "observe":
        return "only server/observe knows Prometheus"
    if MESSAGES.match(include) and stage not in {"kserve", "rpc", "plan", "run", "model", "memory", "base"}:
        return "messages stay in rpc, plan, run, model, memory and base"
    if include.startswith(("kernels/cpu/", "kernels/cuda/")) and stage != "run":
        return "a stage works through kernels/engine; only run chooses an engine"
    if not include.startswith("server/"):
        return None
    target = include.split("/")[1]
    if target == stage:
        return None
    if stage == "wire":
        return None if target in {"base", "observe"} else "server/wire knows of no operator"
    if target == "wire":
        return None if stage in {"kserve", "rpc"} else "only rpc and kserve know the wire"
    if stage in ROOMS:
        below = ROOMS[: ROOMS.index(stage)]
        return None if target in below else f"server/{stage} may include only {', '.join(below) or 'itself'}"
    if target in ROOMS:
        return None
    if target not in STAGES or STAGES.index(target) < STAGES.index(stage):
        return f"a request flows {' -> '.join(STAGES)}; server/{stage} may include only what stands after it"
    return None


def client_rule(include: str) -> str | None:
    if include.startswith("server/"):
        return "client/ knows nothing of server/"
    if include.startswith("kernels/") and not include.startswith("kernels/common/"):
        return "client/ may use only the types of kernels/common"
    return None


def proto_rule(include: str) -> str | None:
    if include.startswith(("server/", "client/")) or PUBLIC.match(include):
        return "proto/ knows nothing of server/ and client/"
    if include.startswith("kernels/") and not include.startswith("kernels/common/"):
        return "proto/ may use only the types of kernels/common"
    return None


def public_rule(include: str) -> str | None:
    if MESSAGES.match(include) or not re.match(r"^(absl/|corank/|[a-z_/]+$)", include):
        return "public headers may include only the standard library, Abseil and each other"
    return None


def shared_rule(room: str, include: str) -> str | None:
    if include.startswith(("absl/", f"{room}/")) or "/" not in include:
        return None
    return f"{room}/ may include only the standard library and Abseil"


def rule_broken(parts: tuple[str, ...], include: str) -> str | None:
    """The rule that a file at `parts` breaks by this include, or None."""
    if parts[0] == "kernels":
        return kernels_rule(parts, include)
    if parts[0] == "server":
        return server_rule(parts[1], include)
    if parts[0] == "client":
        return client_rule(include)
    if parts[0] == "proto":
        return proto_rule(include)
    if parts[0] == "include":
        return public_rule(include)
    if parts[0] in {"spelling", "version"}:
        return shared_rule(parts[0], include)
    return None


def violations(root: Path) -> tuple[list[Violation], int]:
    """Every include in the wrong direction below root, and the number of files read."""
    found: list[Violation] = []
    files = 0
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.suffix not in SOURCES or SKIPPED.match(parts[0]) or len(parts) < 2 or not path.is_file():
            continue
        files += 1
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            if not match:
                continue
            rule = rule_broken(parts, match[1])
            if rule:
                found.append(Violation("/".join(parts), number, match[1], rule))
    return found, files


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found, files = violations(root)
    for violation in found:
        print(violation, file=sys.stderr)
    print(f"include direction: {files} files, {len(found)} wrong includes")
    if files == 0:
        print("include direction: no source file found: wrong root?", file=sys.stderr)
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
