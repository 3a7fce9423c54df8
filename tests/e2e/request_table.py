"""Reads tests/requests.json, the requests that tests of all layers share; tests/server/request_table.h has its form."""

from __future__ import annotations

import base64
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from corank.v1 import group_pb2, join_pb2, operators_pb2, rank_pb2, select_pb2, sets_pb2
from google.protobuf import json_format

_TABLE = json.loads((pathlib.Path(__file__).resolve().parents[1] / "requests.json").read_text(encoding="utf-8"))
MOST_BYTES = 65_536
"""The limit of requests and of responses that the table assumes."""


class BadRequest(NamedTuple):
    """A request that the server refuses, and how."""

    name: str
    operator: str
    """The method of CorankService."""
    request: Any
    code: str
    field: str


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _expanded(value: Any) -> Any:
    """Protobuf's JSON for that of the table."""
    if isinstance(value, list):
        repeated = [
            [each["of"]] * each["times"] if isinstance(each, dict) and "times" in each else [each] for each in value
        ]
        return [_expanded(each) for some in repeated for each in some]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, only),) = value.items()
        if name == "text":
            return _base64(only.encode())
        if name == "bytes":
            return _base64(b"x" * only)
        if re.fullmatch(r"u?int\d+", name):
            numbers = np.array([int(each) for each in _expanded(only)], name)
            return {"type": f"ELEMENT_TYPE_{name.upper()}", "inlineData": _base64(numbers.tobytes())}
    return {name: _expanded(each) for name, each in value.items()}


def _patch(change: Any, json_value: Any) -> Any:
    """A value after a change."""
    if not isinstance(change, dict):
        return change
    made = dict(json_value) if isinstance(json_value, dict) else {}
    for name, value in change.items():
        element = re.fullmatch(r"(\w+)\[(\d+)\]", name)
        if element:
            items = list(made[element[1]])
            items[int(element[2])] = _patch(value, items[int(element[2])])
            made[element[1]] = items
        elif value is None:
            made.pop(name, None)
        else:
            made[name] = _patch(value, made.get(name))
    return made


def _message(good: str, value: Any) -> tuple[str, Any]:
    operator = good.removeprefix("Column")
    messages = {
        "Group": group_pb2,
        "CombineSets": sets_pb2,
        "Join": join_pb2,
        "Select": select_pb2,
        "Rank": rank_pb2,
    }.get(operator, operators_pb2)
    return operator, json_format.ParseDict(value, getattr(messages, f"{operator}Request")())


def good_requests() -> Iterator[tuple[str, Any]]:
    """The good requests and their operators."""
    return (_message(name, _expanded(value)) for name, value in _TABLE["good"].items())


def bad_requests() -> Iterator[BadRequest]:
    """All rows of the table."""
    for good, rows in _TABLE["bad"].items():
        for row in rows:
            value = _patch(_expanded(row["change"]), _expanded(_TABLE["good"][good]))
            yield BadRequest(row["name"], *_message(good, value), row.get("code", "INVALID_ARGUMENT"), row["field"])
