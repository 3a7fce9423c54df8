"""Compares answers of drivers with what vectors expect."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

POSITIONS = ("indices", "objects", "ranks", "positions", "firsts")
_INTEGER = re.compile(r"(u?)int(8|16|32|64)")


def mismatch(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """What an answer has that the vector does not expect; empty: nothing."""
    if "error" in expected:
        return _error_mismatch(expected["error"], answer)
    if "ok" not in answer:
        return f"expected success, got {_short(answer)}"
    ok = answer["ok"]
    results, wrong = expected.get("results"), ""
    if isinstance(results, list):
        wrong = _operations_mismatch(results, ok.get("operations"))
    elif results is not None:
        wrong = _results_mismatch("results", results, ok.get("results"))
    return wrong or _within("ok", expected.get("ok", {}), ok)


def _error_mismatch(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    if "error" not in answer:
        return f"expected {expected.get('code', 'an error')}, got {_short(answer)}"
    error = answer["error"]
    if error["code"] not in expected["code"].split("|"):
        return f"code {error['code']}, expected {expected['code']}: {error['message']}"
    if not error["message"]:
        return "the error has no message"
    field = expected.get("field")
    if field is not None and not _is_field(error["field"], field):
        return f"field {error['field']!r}, expected {field!r}: {error['message']}"
    if "reason" in expected and error["reason"] not in expected["reason"].split("|"):
        return f"reason {error['reason']!r}, expected {expected['reason']!r}: {error['message']}"
    if "retry_after_s" in expected and not _is_near(error["retry_after_s"], expected["retry_after_s"]):
        return f"retry_after_s {error['retry_after_s']}, expected {expected['retry_after_s']}"
    if "rows" in expected and error.get("rows") != expected["rows"]:
        return f"rows {error.get('rows')}, expected {expected['rows']}"
    if "request_id" in expected and error["request_id"] != expected["request_id"]:
        return f"request_id {error['request_id']!r}, expected {expected['request_id']!r}"
    return ""


def _is_field(found: str, expected: str) -> bool:
    """Whether a field is the expected one, or a part of it."""
    return found == expected or (expected != "" and found.startswith((f"{expected}.", f"{expected}[")))


def _is_near(found: float | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is expected
    return abs(found - expected) < 1e-6


def _operations_mismatch(expected: list[Any], found: Any) -> str:
    if not isinstance(found, list) or len(found) != len(expected):
        return f"expected the results of {len(expected)} operations, got {_short(found)}"
    for at, (wanted, given) in enumerate(zip(expected, found, strict=True)):
        wrong = _results_mismatch(f"operations[{at}]", wanted, given)
        if wrong:
            return wrong
    return ""


def _results_mismatch(path: str, expected: Mapping[str, Any], found: Any) -> str:
    if not isinstance(found, dict) or set(found) != set(expected):
        return f"{path}: expected {sorted(expected)}, got {_short(found)}"
    for name, wanted in expected.items():
        wrong = _value_mismatch(f"{path}.{name}", name, wanted, found[name])
        if wrong:
            return wrong
    return ""


def _value_mismatch(path: str, name: str, expected: Any, found: Any) -> str:
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return f"{path}: expected {len(expected)}, got {_short(found)}"
        for at, (wanted, given) in enumerate(zip(expected, found, strict=True)):
            wrong = _results_mismatch(f"{path}[{at}]", wanted, given)
            if wrong:
                return wrong
        return ""
    if "kept" in expected:
        return _within(path, expected, found)
    if name in POSITIONS and expected.get("type") != "float64":  # mean ranks are floats
        if "sha256" in expected:
            return _within(path, {key: expected[key] for key in ("count", "sha256")}, found)
        wanted, given = integers(expected), integers(found)
        return "" if wanted == given else f"{path}: expected {_short(wanted)}, got {_short(given)}"
    count = {} if "data" not in expected else {"count": _count(expected)}
    return _within(path, {**expected, **count}, found)


def integers(array: Mapping[str, Any]) -> list[int] | None:
    """The numbers of an integer array; None if it is none."""
    match = _INTEGER.fullmatch(str(array.get("type")))
    if match is None or "data" not in array:
        return None
    width, data = int(match[2]) // 8, base64.b64decode(array["data"])
    pieces = [data[at : at + width] for at in range(0, len(data), width)]
    return [int.from_bytes(piece, "little", signed=not match[1]) for piece in pieces]


def _count(array: Mapping[str, Any]) -> int:
    width = array.get("record_bytes") or int(re.sub(r"\D", "", array["type"])) // 8
    return len(base64.b64decode(array["data"])) // width


def _within(path: str, expected: Any, found: Any) -> str:
    """What differs, looking only at the members that are expected."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name, wanted in expected.items():
            if name not in found:
                return f"{path}: {name} is missing in {_short(found)}"
            wrong = _within(f"{path}.{name}", wanted, found[name])
            if wrong:
                return wrong
        return ""
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return next(filter(None, (_within(f"{path}[]", *pair) for pair in zip(expected, found, strict=True))), "")
    return "" if expected == found else f"{path}: expected {_short(expected)}, got {_short(found)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:297]}..."
