"""The reference of the protocol, as Markdown, from the comments of the contract in proto/."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grpc_tools
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[2]
# The order in which a reader needs them.
FILES = (
    *("corank_service", "operators", "group", "sets", "join", "select", "rank"),
    *("array", "memory_service", "error_reason"),
)
# Field numbers of descriptor.proto, of which the paths of comments are made.
MESSAGES, ENUMS, SERVICES, FIELDS, VALUES, METHODS, SYNTAX = 4, 5, 6, 2, 2, 2, 12
SCALARS = {number: name[5:].lower() for name, number in FieldDescriptorProto.Type.items()}

# Types of others, by full name.
FOREIGN = {"google.protobuf.Duration": "https://protobuf.dev/reference/protobuf/google.protobuf/#duration"}

Comments = dict[tuple[int, ...], str]


def descriptors() -> list[FileDescriptorProto]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "set"
        names = [f"corank/v1/{name}.proto" for name in FILES]
        include = Path(grpc_tools.__file__).parent / "_proto"
        command = ["protoc", f"-I{ROOT / 'proto'}", f"-I{include}", f"--descriptor_set_out={target}"]
        if protoc.main([*command, "--include_source_info", *names]):
            raise RuntimeError("protoc refuses proto/")
        found = {each.name: each for each in FileDescriptorSet.FromString(target.read_bytes()).file}
    return [found[name] for name in names]


def table(lines: list[str]) -> list[str] | None:
    """What a comment lays out in columns, as a table; None where it is something else.

    Columns begin where they begin in the first line. A line without a first column continues the row before it.
    """
    starts = [at.start() for at in re.finditer(r"(?<=\s\s)\S", lines[0])]
    if len(starts) < 2:
        return None
    rows: list[list[str]] = []
    for line in lines:
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        if line[: starts[0]].strip() or any(line[at - 1 : at].strip() for at in starts[1:]):
            return None
        if cells[0]:
            rows.append(cells)
        elif rows:
            rows[-1] = [f"{before} {more}".strip() for before, more in zip(rows[-1], cells, strict=True)]
    head = rows.pop(0) if len(starts) > 2 else [""] * len(starts)
    shown = [" | ".join(map(cell, row)) for row in rows]
    return [f"| {' | '.join(head)} |", "|" + " --- |" * len(starts), *(f"| {row} |" for row in shown)]


def prose(comment: str) -> list[str]:
    """A comment as Markdown: what is laid out in columns is a table or keeps its form."""
    lines = [line.removeprefix(" ").rstrip() for line in comment.strip("\n").splitlines()]
    out: list[str] = []
    columns: list[str] = []
    in_item = False
    for line in [*lines, "end"]:
        in_item = line.startswith("- ") or (in_item and line.startswith(" "))
        if line.startswith("  ") and not in_item:
            columns.append(line)
            continue
        if columns:
            out += ["", *(table(columns) or ["```text", *columns, "```"]), ""]
            columns = []
        out.append(escape(line))
    return out[:-1]


def escape(line: str) -> str:
    return re.sub(r"(?<!`)<(?=[A-Za-z/])", "&lt;", line)


def cell(comment: str) -> str:
    return escape(" ".join(comment.split())).replace("|", "\\|")


def type_of(field: Any) -> str:
    """The type of a field, a link where it is one of the contract."""
    name = SCALARS[field.type]
    if field.type_name:
        full, short = field.type_name[1:], field.type_name.rsplit(".", 1)[1]
        name = f"[{short}]({FOREIGN.get(full, f'#{short.lower()}')})"
    else:
        name = f"`{name}`"
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"repeated {name}"
    return f"optional {name}" if field.proto3_optional else name


def method_lines(method: Any, comment: str) -> Iterable[str]:
    def side(type_name: str, streams: bool) -> str:
        short = type_name.rsplit(".", 1)[1]
        return f"{'stream ' if streams else ''}[{short}](#{short.lower()})"

    taken = side(method.input_type, method.client_streaming)
    given = side(method.output_type, method.server_streaming)
    yield from (f"#### {method.name}", "", f"{taken} → {given}", "", *prose(comment), "")


def message_lines(message: Any, path: tuple[int, ...], comments: Comments) -> Iterable[str]:
    yield from (f"### {message.name}", "", *prose(comments.get(path, "")), "")
    if not message.field:
        yield from ("It has no fields.", "")
        return
    yield from ("| field | type | meaning |", "| --- | --- | --- |")
    for at, field in enumerate(message.field):
        meaning = cell(comments.get((*path, FIELDS, at), ""))
        if field.HasField("oneof_index") and not field.proto3_optional:
            meaning = f"*One of `{message.oneof_decl[field.oneof_index].name}`.* {meaning}"
        yield f"| `{field.name}` = {field.number} | {type_of(field)} | {meaning} |"
    yield ""


def enum_lines(enum: Any, path: tuple[int, ...], comments: Comments) -> Iterable[str]:
    yield from (f"### {enum.name}", "", *prose(comments.get(path, "")), "")
    yield from ("| value | number | meaning |", "| --- | ---: | --- |")
    for at, value in enumerate(enum.value):
        yield f"| `{value.name}` | {value.number} | {cell(comments.get((*path, VALUES, at), ''))} |"
    yield ""


def file_lines(file: FileDescriptorProto) -> Iterable[str]:
    located = file.source_code_info.location
    comments = {tuple(at.path): at.leading_comments for at in located if at.leading_comments}
    head = "\n".join([*(comment for at in located for comment in at.leading_detached_comments if at.path == [SYNTAX]),
                      comments.get((SYNTAX,), "")])  # fmt: skip
    yield from (f"## {Path(file.name).name}", "", *prose(head), "")
    for at, service in enumerate(file.service):
        yield from (f"### {service.name}", "", *prose(comments.get((SERVICES, at), "")), "")
        for number, method in enumerate(service.method):
            yield from method_lines(method, comments.get((SERVICES, at, METHODS, number), ""))
    for at, message in enumerate(file.message_type):
        yield from message_lines(message, (MESSAGES, at), comments)
    for at, enum in enumerate(file.enum_type):
        yield from enum_lines(enum, (ENUMS, at), comments)


def markdown() -> str:
    return "\n".join(line for file in descriptors() for line in file_lines(file))


if __name__ == "__main__":
    print(markdown())
