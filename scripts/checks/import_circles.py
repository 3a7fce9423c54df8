#!/usr/bin/env python3
"""Fails if modules of the Python client import each other in a circle.

Usage: import_circles.py [ROOT]

An import inside a function or under TYPE_CHECKING counts as well: a module that needs another's types depends on it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

PACKAGE = "corank"
SOURCES = Path("client") / "python" / "src"


def modules(sources: Path) -> dict[str, Path]:
    """The package's modules by full name, without the generated messages."""
    named = {}
    for path in sorted((sources / PACKAGE).rglob("*.py")):
        parts = path.relative_to(sources).with_suffix("").parts
        if not path.stem.endswith(("_pb2", "_pb2_grpc")):
            named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[tuple[str, int]]:
    """Each module of the package that a module imports, and the line."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # `from corank import _retry` needs the module, `from corank import Client` the package itself.
            targets = [
                f"{origin}.{alias.name}" if f"{origin}.{alias.name}" in known else origin for alias in node.names
            ]
        else:
            continue
        yield from ((target, node.lineno) for target in targets if target in known)


def circle(root: Path) -> tuple[list[str], int]:
    """The imports of one circle below root, as `file:line: imports module`, and the number of modules read."""
    known = modules(root / SOURCES)
    lines = {name: dict(imported(name, path, known)) for name, path in known.items()}
    try:
        TopologicalSorter({name: set(targets) for name, targets in lines.items()}).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1][::-1]  # graphlib names a module before the one that imports it
        steps = [
            f"{known[one].relative_to(root)}:{lines[one][other]}: imports {other}" for one, other in pairwise(ring)
        ]
        return steps, len(known)
    return [], len(known)


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    found, files = circle(root)
    for line in found:
        print(line, file=sys.stderr)
    print(f"import circles: {files} modules of the Python client, {'a circle' if found else 'no circle'}")
    if files == 0:
        print("import circles: no module found: wrong root?", file=sys.stderr)
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
