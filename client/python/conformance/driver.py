"""Drives the Python client for the conformance suite; client/conformance/README.md defines the protocol."""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import sys
import threading
from concurrent.futures import CancelledError
from typing import Any

import grpc
import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import corank

Json = dict[str, Any]
NUMBERS = {name: np.dtype(name) for name in corank.KEY_TYPES if name != "bfloat16"}
NUMBERS["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
NAMES = {dtype: name for name, dtype in NUMBERS.items()}
NANS = {"greatest": "greatest", "beside_nulls": "beside_null", "as_nulls": "null"}
CALL_OPTIONS = {
    "deadline_s": "deadline",
    "request_id": "request_id",
    "traceparent": "traceparent",
    "priority": "priority",
    "place": "place",
    "connections": "connections",
}
CONNECT_OPTIONS = {
    "token": "token",
    "token_file": "token_file",
    "deadline_s": "deadline",
    "retries": "retries",
    "traceparent": "traceparent",
    "connections": "connections",
}
TLS = {"ca": "tls_ca", "certificate": "tls_certificate", "key": "tls_key", "server_name": "tls_server_name"}
COMPARISONS = {
    "less": "<",
    "equal": "==",
    "less_or_equal": "<=",
    "greater": ">",
    "not_equal": "!=",
    "greater_or_equal": ">=",
}
INDICES = ("indices", "objects", "ranks", "positions", "firsts")


def dtype_of(array: Json) -> np.dtype[Any]:
    """The dtype of an array of a command."""
    return np.dtype(f"V{array['record_bytes']}") if array["type"] == "record" else NUMBERS[array["type"]]


def hashed(seed: int, size: int) -> NDArray[np.uint8]:
    """The bytes of the generator "hash"."""
    word = np.arange(seed, seed + (size + 3) // 4, dtype=np.uint64).astype(np.uint32)
    word ^= word >> 16
    word *= np.uint32(0x85EBCA6B)
    word ^= word >> 13
    word *= np.uint32(0xC2B2AE35)
    word ^= word >> 16
    return word.view(np.uint8)[:size]


def array_of(array: Json) -> NDArray[Any]:
    """The elements of an array of a command."""
    dtype = dtype_of(array)
    if "data" in array:
        return np.frombuffer(base64.b64decode(array["data"]), dtype)
    if array["generator"] == "ramp":
        return np.asarray(array["start"] + array["step"] * np.arange(array["count"])).astype(dtype)
    return hashed(array["seed"], array["count"] * dtype.itemsize).view(dtype)


def data_of(given: Json, is_index: bool, elements: NDArray[Any]) -> Json:
    """Elements as an answer holds them."""
    if is_index and given.get("digest") and elements.dtype.kind in "iu":
        elements = elements.astype(np.int64)
    record = elements.dtype.kind == "V" and elements.dtype not in NAMES
    found: Json = {"type": "record" if record else NAMES[elements.dtype], "count": len(elements)}
    if record:
        found["record_bytes"] = elements.dtype.itemsize
    data = elements.tobytes()
    if given.get("digest"):
        return {**found, "sha256": hashlib.sha256(data).hexdigest()}
    return {**found, "data": base64.b64encode(data).decode()}


def kept_json(array: corank.StoredArray) -> Json:
    """The handle of a kept array as an answer holds it."""
    record = array.dtype.kind == "V" and array.dtype not in NAMES
    named: Json = {"type": "record", "record_bytes": array.dtype.itemsize} if record else {"type": NAMES[array.dtype]}
    return {"kept": array.name, "count": array.count, "sharded": array.sharded, **named}


def given_name(command: Json, name: str) -> str:
    """The name of a result that a call keeps, as the client takes it."""
    return corank.Sharded(name) if command.get("sharded") else name


class Operators:
    """Calls the operators of a client or of a chain."""

    def __init__(self, target: Any, handles: Any, options: Json) -> None:
        self._target, self._handles, self._options = target, handles, options

    def run(self, operator: str, arguments: Json, keep: Json) -> Json:
        """The results by name."""
        given = {name: self._argument(value) for name, value in arguments.items()}
        if "order" in given:
            given["descending"] = given.pop("order") == "descending"
        if "algorithm" in given:
            given["algorithm"] = given["algorithm"].replace("_", "-")
        names, found = getattr(self, f"_{operator}")(given, {"keep": tuple(keep.values())} if keep else {})
        return dict(zip(names, found if len(names) > 1 else [found]))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._argument(each) for each in value]
        if not isinstance(value, dict) or "type" not in value:
            return value
        if "kept" in value or "result" in value:
            return self._handles(value)
        return array_of(value)

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self._target, name)(*arguments, **options, **self._options)

    def _sort(self, given: Json, keep: Json) -> Any:
        output, keys = given.pop("output", "keys"), given.pop("keys")
        if "segment_offsets" in given:
            given["segments"] = given.pop("segment_offsets")
        if output == "indices":
            return ["indices"], self._call("argsort", keys, **given, **keep)
        if output == "keys_and_indices":
            return ["keys", "indices"], self._call("sort_with_indices", keys, **given, **keep)
        return ["keys", "values"] if "values" in given else ["keys"], self._call("sort", keys, **given, **keep)

    def _sort_columns(self, given: Json, keep: Json) -> Any:
        columns = given.pop("columns")
        output = given.pop("output", "keys")
        rows = [self._column(column) for column in columns]
        given["descending"] = [column.get("order") == "descending" for column in columns]
        given["nulls"] = [column.get("nulls", "last") for column in columns]
        given["nan"] = [NANS[column.get("nans", "greatest")] for column in columns]
        for option, field in (("segments", "segment_offsets"), ("runs", "run_offsets")):
            if field in given:
                given[option] = given.pop(field)
        if output == "indices":
            return ["indices"], self._call("argsort_columns", rows, **given, **keep)
        if output == "ranks":
            return ["ranks"], self._call("rank_columns", rows, **given, **keep)
        if output == "keys_and_indices":
            ordered, indices = self._call("sort_columns_with_indices", rows, **given, **keep)
            return ["columns", "indices"], [[self._sorted(column, at) for column, at in zip(columns, ordered)], indices]
        found = self._call("sort_columns", rows, **given, **keep)
        ordered, *values = found if "values" in given else [found]
        ordered = [self._sorted(column, at) for column, at in zip(columns, ordered)]
        return ["columns", "values"] if values else ["columns"], [ordered, *values] if values else ordered

    def _column(self, column: Json) -> Any:
        data = self._argument(column["data"])
        if "offsets" in column:
            offsets, joined = self._argument(column["offsets"]).tolist(), data.tobytes()
            data = [joined[begin:end] for begin, end in zip(offsets, offsets[1:])]
        if "validity" not in column:
            return data
        bits = np.unpackbits(self._argument(column["validity"]), count=len(data), bitorder="little")
        return corank.Nullable(data, bits == 0)

    def _sorted(self, column: Json, found: Any) -> Json:
        if isinstance(found, corank.Nullable):
            bits = np.packbits(~found.mask, bitorder="little")
            return {**self._sorted(column, found.values), "validity": bits}
        if "offsets" not in column:
            return {"data": found}
        offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
        joined = b"".join(each if isinstance(each, bytes) else each.encode() for each in found)
        return {"data": np.frombuffer(joined, np.uint8), "offsets": offsets}

    def _merge(self, given: Json, keep: Json) -> Any:
        names = ["keys", "values"] if "values" in given else ["keys"]
        return names, self._call("merge", given.pop("keys"), **given, **keep)

    def _expand(self, given: Json, keep: Json) -> Any:
        return ["values"], self._call("expand", given["values"], given["counts"], **keep)

    def _move(self, given: Json, keep: Json) -> Any:
        return self._intervals("move", ("source", "source_offsets", "destination_offsets", "counts"), given, keep)

    def _scatter(self, given: Json, keep: Json) -> Any:
        return self._intervals("scatter", ("source", "destination_offsets", "counts"), given, keep)

    def _gather(self, given: Json, keep: Json) -> Any:
        return self._intervals("gather", ("source", "source_offsets", "counts"), given, keep)

    def _intervals(self, name: str, positional: tuple[str, ...], given: Json, keep: Json) -> Any:
        if "destination_count" in given:
            given["destination"] = given.pop("destination_count")
        arguments = [given.pop(each) for each in positional]
        return ["result"], self._call(name, *arguments, **given, **keep)

    def _load_balance(self, given: Json, keep: Json) -> Any:
        return ["objects", "ranks"], self._call("load_balance", given["counts"], **keep)

    def _search(self, given: Json, keep: Json) -> Any:
        given["side"] = {"lower": "left", "upper": "right"}[given.pop("bound", "lower")]
        return ["positions"], self._call("search", given.pop("haystack"), given.pop("needles"), **given, **keep)

    def _search_columns(self, given: Json, keep: Json) -> Any:
        haystack, needles = given.pop("haystack_columns"), given.pop("needle_columns")
        given["side"] = {"lower": "left", "upper": "right"}[given.pop("bound", "lower")]
        if haystack:
            given["descending"] = [column.get("order") == "descending" for column in haystack]
            given["nulls"] = [column.get("nulls", "last") for column in haystack]
            given["nan"] = [NANS[column.get("nans", "greatest")] for column in haystack]
        tables = [[self._column(column) for column in table] for table in (haystack, needles)]
        return ["positions"], self._call("search_columns", *tables, **given, **keep)

    def _group(self, given: Json, keep: Json) -> Any:
        names, keys = given.pop("outputs", None), given.pop("keys")
        arrangement = given.pop("input", "unsorted")
        if "values" not in given and (arrangement, names) == ("unsorted", ["keys"]):
            return names, self._call("unique", keys, **given, **keep)
        if not given and (arrangement, names) == ("runs", ["keys", "counts"]):
            return names, self._call("run_length_encode", keys, **keep)
        if names is not None:
            given["results"] = names
        found = self._call("group", keys, arrangement=arrangement, **given, **keep)
        named = {name: value for name, value in found._asdict().items() if value is not None}
        return list(named), list(named.values()) if len(named) > 1 else next(iter(named.values()))

    def _combine_sets(self, given: Json, keep: Json) -> Any:
        sides = [given.pop(name) for name in ("left", "right", "operation")]
        if given.pop("count_only", False):
            count = self._call("count_sets", *sides, **given, **keep)
            return ["count"], np.array([count], np.int64) if isinstance(count, int) else count
        names = ["keys", "values"] if "left_values" in given else ["keys"]
        return names, self._call("combine_sets", *sides, **given, **keep)

    def _join(self, given: Json, keep: Json) -> Any:
        sides = [given.pop(name) for name in ("left", "right", "kind")]
        if given.pop("count_only", False):
            count = self._call("count_join", *sides, **given, **keep)
            return ["count"], np.array([count], np.int64) if isinstance(count, int) else count
        names = ["left_rows"] if sides[-1] in ("semi", "anti") else ["left_rows", "right_rows"]
        return names, self._call("join", *sides, **given, **keep)

    def _select(self, given: Json, keep: Json) -> Any:
        output, elements = given.pop("output", "elements"), self._selection(given)
        if output == "indices":
            return ["indices"], self._call("argselect", elements, **given, **keep)
        names = ["elements", "values"] if "values" in given else ["elements"]
        return names, self._call("select", elements, **given, **keep)

    def _partition(self, given: Json, keep: Json) -> Any:
        *arrays, count = self._call("partition", self._selection(given), **given, **keep)
        count = np.array([count], np.int64) if isinstance(count, int) else count
        return ["elements", "values", "count"] if len(arrays) > 1 else ["elements", "count"], [*arrays, count]

    def _selection(self, given: Json) -> Any:
        if "threshold" in given:
            given["comparison"] = COMPARISONS[given["comparison"]]
        return given.pop("elements")

    def _remove(self, given: Json, keep: Json) -> Any:
        names = ["elements", "values"] if "values" in given else ["elements"]
        return names, self._call("remove", given.pop("elements"), given.pop("positions"), **given, **keep)

    def _insert(self, given: Json, keep: Json) -> Any:
        return ["result"], self._call("insert", given["elements"], given["positions"], given["inserted"], **keep)

    def _rank(self, given: Json, keep: Json) -> Any:
        if "segment_offsets" in given:
            given["segments"] = given.pop("segment_offsets")
        return ["ranks"], self._call("rank", given.pop("keys"), **given, **keep)


class Driver:
    """The commands."""

    def __init__(self) -> None:
        self.clients: dict[str, corank.Client] = {}
        # The client hands bfloat16 out as uint16; whoever stored the array knows better.
        self.bfloat16: set[str] = set()

    def answer(self, command: Json) -> Json:
        """The answer to a command, without its id."""
        try:
            return {"ok": getattr(self, f"_{command['command']}")(command) or {}}
        except corank.CorankError as error:
            return {"error": failure(error)}
        except CancelledError:
            return {"error": plain("CANCELLED", "cancelled")}
        except (TypeError, ValueError) as error:
            return {"error": plain("INVALID_ARGUMENT", str(error))}
        except RuntimeError as error:
            if "closed" not in str(error):
                raise
            return {"error": plain("CLOSED", str(error))}

    def _hello(self, command: Json) -> Json:
        return {"language": "python", "version": corank.__version__, "library": f"grpcio {grpc.__version__}"}

    def _connect(self, command: Json) -> None:
        options = dict(command.get("options", {}))
        address = options.pop("address", None)
        tls = {TLS[name]: value for name, value in options.pop("tls", {}).items()}
        given: Json = {CONNECT_OPTIONS[name]: value for name, value in options.items()}
        self.clients[command["client"]] = corank.connect(address, progress=False, **given, **tls)

    def _options(self, command: Json) -> Json:
        given = dict(command.get("options", {}))
        given.pop("progress", None)
        given.pop("cancel_after_ms", None)
        return {CALL_OPTIONS[name]: value for name, value in given.items()}

    def _call(self, command: Json) -> Json:
        options, client = command.get("options", {}), self.clients[command["client"]]
        stats: list[corank.Stats] = []
        progress: list[corank.Progress] = []
        given = {**self._options(command), "on_stats": stats.append}
        if options.get("progress"):
            given["progress"] = lambda each: progress.append(each)
        operators = Operators(client, lambda value: client.stored(value["kept"]), given)
        if "cancel_after_ms" in options:
            operators = Operators(_Submitting(client, options["cancel_after_ms"] / 1000), client.stored, given)
        keep = {name: given_name(command, kept) for name, kept in command.get("keep", {}).items()}
        results = operators.run(command["operator"], command["arguments"], keep)
        ok: Json = {"results": self._results(command, results)}
        told = stats[-1]
        ok["stats"] = {
            "request_id": told.request_id,
            "engine": told.engine,
            "algorithm": told.algorithm.replace("-", "_"),
        }
        if options.get("progress"):
            ok["progress"] = {"sent": progress[-1].sent, "received": progress[-1].received}
        return ok

    def _results(self, command: Json, results: Json) -> Json:
        return {name: self._result(command, name, value) for name, value in results.items()}

    def _result(self, command: Json, name: str, value: Any) -> Any:
        if isinstance(value, corank.StoredArray):
            return kept_json(value)
        if name == "columns":
            return [{key: data_of(command, False, each) for key, each in column.items()} for column in value]
        return data_of(command, name in INDICES, value)

    def _chain(self, command: Json) -> Json:
        client = self.clients[command["client"]]
        made: list[Json] = []

        def handle(value: Json) -> Any:
            return client.stored(value["kept"]) if "kept" in value else made[value["of"]][value["result"]]

        with client.chain(**self._options(command)) as chain:
            for each in command["operations"]:
                operators = Operators(chain, handle, {})
                made.append(operators.run(each["operator"], each["arguments"], each.get("keep", {})))
        taken = {
            (value["of"], value["result"])
            for each in command["operations"]
            for argument in each["arguments"].values()
            for value in (argument if isinstance(argument, list) else [argument])
            if isinstance(value, dict) and "result" in value
        }
        found = [
            {name: value.result() for name, value in results.items() if (at, name) not in taken}
            for at, results in enumerate(made)
        ]
        return {"operations": [self._results(command, results) for results in found]}

    def _store(self, command: Json) -> Json:
        client = self.clients[command["client"]]
        given = self._options(command)
        if command["array"]["type"] == "bfloat16":
            self.bfloat16.add(command["name"])
        given["sharded"] = command.get("sharded", False)
        return kept_json(
            client.store(command["name"], array_of(command["array"]), expires=command.get("expires_s"), **given)
        )

    def _fetch(self, command: Json) -> Json:
        client = self.clients[command["client"]]
        elements = client.stored(command["name"]).fetch(**self._options(command))
        if command["name"] in self.bfloat16 and elements.dtype == np.uint16:
            elements = elements.view(NUMBERS["bfloat16"])
        return {"array": data_of(command, False, elements)}

    def _list(self, command: Json) -> Json:
        found = self.clients[command["client"]].arrays()
        return {
            "arrays": [kept_json(array) for array in found.arrays],
            "used_bytes": found.used_bytes,
            "quota_bytes": found.quota_bytes,
        }

    def _delete(self, command: Json) -> None:
        self.clients[command["client"]].delete(command["name"])

    def _info(self, command: Json) -> Json:
        info = self.clients[command["client"]].info(**self._options(command))
        limits = {name: getattr(info.limits, name) for name in ("max_request_bytes", "max_chunk_bytes", "max_parts")}
        return {"version": info.version, "engine": info.engine, "places": list(info.places), **limits}

    def _health(self, command: Json) -> Json:
        return {"status": self.clients[command["client"]].health(command["service"]).lower()}

    def _close(self, command: Json) -> None:
        self.clients[command["client"]].close()

    def _resources(self, command: Json) -> None:
        gc.collect()


class _Submitting:
    """A client whose calls are cancelled after some seconds."""

    def __init__(self, client: corank.Client, seconds: float) -> None:
        self._client, self._seconds = client, seconds

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            future = self._client.submit(name, *arguments, **options)
            timer = threading.Timer(self._seconds, future.cancel)
            timer.start()
            try:
                return future.result()
            finally:
                timer.cancel()

        return call


def plain(code: str, message: str) -> Json:
    """An error of this process."""
    return {"code": code, "reason": "", "field": "", "retry_after_s": None, "request_id": "", "message": message}


def failure(error: corank.CorankError) -> Json:
    """A failed call."""
    found = plain(error.code, error.message)
    found["reason"] = error.reason
    found["field"] = getattr(error, "field", "")
    found["retry_after_s"] = getattr(error, "retry_after", None)
    found["request_id"] = error.request_id
    if error.rows is not None:
        found["rows"] = error.rows
    return found


def main() -> None:
    """Answers the commands of stdin."""
    driver = Driver()
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps({"id": command["id"], **driver.answer(command)}), flush=True)


if __name__ == "__main__":
    main()
