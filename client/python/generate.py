"""Makes src/corank/v1/*_pb2.py and *_pb2.pyi from the project's .proto files.

Run it after a change of proto/ when you work in the source tree: `python client/python/generate.py`. `pip install`
and `pip wheel` run it by themselves (setup.py).
"""

from __future__ import annotations

import pathlib
import sys

_HERE = pathlib.Path(__file__).resolve().parent


def proto_root() -> pathlib.Path:
    """The folder that holds corank/v1/*.proto: beside this file in a source archive, else that of the repository."""
    for root in (_HERE / "proto", _HERE.parent.parent / "proto"):
        if (root / "corank" / "v1").is_dir():
            return root
    raise FileNotFoundError("no proto/corank/v1 beside client/python/generate.py or at the top of the repository")


def generate(output: pathlib.Path) -> None:
    """Writes the messages as corank/v1/*_pb2.py and .pyi under `output`."""
    from grpc_tools import protoc

    root = proto_root()
    protos = sorted(str(path.relative_to(root)) for path in (root / "corank" / "v1").glob("*.proto"))
    output.mkdir(parents=True, exist_ok=True)
    status = protoc.main(["protoc", f"-I{root}", f"--python_out={output}", f"--pyi_out={output}", *protos])
    if status != 0:
        raise RuntimeError(f"protoc failed with exit code {status}")


def ensure(output: pathlib.Path = _HERE / "src") -> None:
    """Calls `generate` unless every message file is there and newer than its .proto file."""
    for proto in (proto_root() / "corank" / "v1").glob("*.proto"):
        made = output / "corank" / "v1" / f"{proto.stem}_pb2.py"
        if not made.exists() or made.stat().st_mtime < proto.stat().st_mtime:
            generate(output)
            return


if __name__ == "__main__":
    generate(_HERE / "src")
    sys.exit(0)
