"""Makes the messages of the package from the project's .proto files: descriptors, modules and type stubs.

Run it after a change of proto/ when you work in the source tree: `python client/python/generate.py`. `pip install`
and `python -m build` run it by themselves (setup.py).

The package holds serialized descriptors, not protoc's Python code. That code needs a protobuf runtime of its own major
version or the next one; descriptors load in every runtime from 4.25 on, whichever protoc wrote them.
"""

from __future__ import annotations

import pathlib
import re

_HERE = pathlib.Path(__file__).resolve().parent
_PROTOS = _HERE.parent.parent / "proto"
_SOURCE = _HERE / "src" / "corank"
_DESCRIPTORS = _SOURCE / "v1" / "descriptors.binpb"
_TYPES, _ASYNC_TYPES = _SOURCE / "_typed.pyi", _SOURCE / "_typed_aio.pyi"
_WITHOUT_MODULE = ("corank/wire/v1/rpc_status.proto",)
_MODULE = '''\
"""The messages of {proto}."""

from corank import _messages

_messages.publish("{proto}", globals())
'''


def is_repository() -> bool:
    """Whether the .proto files are here. A source archive holds what was made from them instead."""
    return (_PROTOS / "corank" / "v1").is_dir()


def _modules() -> list[str]:
    """The .proto files that get a Python module."""
    return sorted(path.relative_to(_PROTOS).as_posix() for path in (_PROTOS / "corank" / "v1").glob("*.proto"))


def _async_types(types: str) -> str:
    """The stub of AsyncOperators, of that of ArrayOperators: `async def` for `def`."""
    head, _, rest = types.partition("class ArrayOperators(Operators[NDArray[Any]]):\n")
    body = rest.partition("\nclass PendingOperators(")[0]
    operators = re.sub(r"^    def (?=[a-z])", "    async def ", body, flags=re.MULTILINE)
    return f"# Made from _typed.pyi by generate.py.\n{head}class AsyncOperators(Operators[Any]):\n{operators}"


def generate() -> None:
    """Writes the descriptors, a module and a type stub for each .proto file of corank.v1, and _typed_aio.pyi."""
    import grpc_tools
    from grpc_tools import protoc

    modules = _modules()
    common = ["protoc", f"-I{_PROTOS}", f"-I{pathlib.Path(grpc_tools.__file__).parent / '_proto'}"]
    for arguments in (
        ["--include_imports", f"--descriptor_set_out={_DESCRIPTORS}", *modules, *_WITHOUT_MODULE],
        [f"--pyi_out={_SOURCE.parent}", *modules],
    ):
        status = protoc.main([*common, *arguments])
        if status != 0:
            raise RuntimeError(f"protoc failed with exit code {status}")
    _ASYNC_TYPES.write_text(_async_types(_TYPES.read_text(encoding="utf-8")), encoding="utf-8")
    for proto in modules:
        module = _SOURCE.parent / proto.replace(".proto", "_pb2.py")
        module.write_text(_MODULE.format(proto=proto), encoding="utf-8")


def ensure() -> None:
    """Calls `generate` if the descriptors are missing or older than a .proto file or this one."""
    if not is_repository():
        return
    sources = [pathlib.Path(__file__), _TYPES, *(_PROTOS / proto for proto in (*_modules(), *_WITHOUT_MODULE))]
    if not _DESCRIPTORS.exists() or _DESCRIPTORS.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        generate()


if __name__ == "__main__":
    generate()
