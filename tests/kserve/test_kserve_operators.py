"""Group, sets, joins, selections and ranks with Triton's client. Only the answer tells the length of their outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kserve_support import RNG, SHARED_MEMORY_PREFIX, TYPES, raw, some_keys, tensor
from tritonclient import grpc as triton
from tritonclient.utils import InferenceServerException, shared_memory

EACH_TYPE = pytest.mark.parametrize("suffix", TYPES)


def shapes(result: triton.InferResult) -> dict[str, int]:
    """The length of each output of a response."""
    outputs = result.get_response().outputs
    assert all(len(output.shape) == 1 for output in outputs)
    return {output.name: output.shape[0] for output in outputs}


def only(*names: str) -> list[triton.InferRequestedOutput]:
    """Requests these outputs alone."""
    return [triton.InferRequestedOutput(name) for name in names]


def counted(keys: Any) -> dict[float, int]:
    """How often each number occurs."""
    numbers, counts = np.unique(keys.astype(np.float64), return_counts=True)
    return dict(zip(numbers.tolist(), counts.tolist(), strict=True))


@EACH_TYPE
def test_group(client: triton.InferenceServerClient, suffix: str) -> None:
    dtype = TYPES[suffix]
    keys, values = some_keys(dtype, 1000), some_keys(dtype, 1000)
    numbers, firsts, counts = np.unique(keys.astype(np.float64), return_index=True, return_counts=True)
    result = client.infer(f"group_{suffix}", [tensor("keys", keys)])
    assert shapes(result) == dict.fromkeys(("keys", "counts", "firsts"), len(numbers))
    assert raw(result, "keys", dtype).astype(np.float64).tolist() == numbers.tolist()
    assert np.array_equal(result.as_numpy("counts"), counts)
    assert np.array_equal(result.as_numpy("firsts"), firsts)

    result = client.infer(f"group_values_{suffix}", [tensor("keys", keys), tensor("values", values)])
    names = ("keys", "counts", "firsts", "sums", "minima", "maxima", "value_counts")
    assert shapes(result) == dict.fromkeys(names, len(numbers))
    assert np.array_equal(result.as_numpy("value_counts"), counts)
    mine = [values[keys.astype(np.float64) == number].astype(np.float64) for number in numbers]
    assert result.as_numpy("sums").tolist() == [each.sum() for each in mine]
    assert raw(result, "minima", dtype).astype(np.float64).tolist() == [each.min() for each in mine]
    assert raw(result, "maxima", dtype).astype(np.float64).tolist() == [each.max() for each in mine]
    described = {output.name: output.datatype for output in client.get_model_metadata(f"group_values_{suffix}").outputs}
    assert {output.name: output.datatype for output in result.get_response().outputs} == described


def test_group_of_runs_and_of_descending_keys(client: triton.InferenceServerClient) -> None:
    keys = tensor("keys", np.array([2, 2, 1, 2], np.int32))
    result = client.infer("group_int32", [keys], parameters={"input": "runs"}, outputs=only("keys", "counts"))
    assert result.as_numpy("keys").tolist() == [2, 1, 2]
    assert result.as_numpy("counts").tolist() == [2, 1, 1]
    result = client.infer("group_int32", [keys], parameters={"descending": True}, outputs=only("keys"))
    assert result.as_numpy("keys").tolist() == [2, 1]
    with pytest.raises(InferenceServerException, match=r"keys: not sorted .*index 3"):
        client.infer("group_int32", [keys], parameters={"input": "sorted", "descending": True})


def test_null_values_take_part_in_no_result(client: triton.InferenceServerClient) -> None:
    keys, values = np.array([2, 2, 1, 2], np.int32), np.array([5, 7, 9, 11], np.int32)
    validity = tensor("values_validity", np.array([0b1001], np.uint8))
    result = client.infer("group_values_int32", [tensor("keys", keys), tensor("values", values), validity])
    assert result.as_numpy("sums").tolist() == [0, 16]
    assert result.as_numpy("value_counts").tolist() == [0, 2]


def test_an_overflow_fails_only_who_wants_sums(client: triton.InferenceServerClient) -> None:
    large = np.full(2, np.iinfo(np.int64).max)
    inputs = [tensor("keys", np.zeros(2, np.int64)), tensor("values", large)]
    with pytest.raises(InferenceServerException, match="sum"):
        client.infer("group_values_int64", inputs)
    result = client.infer("group_values_int64", inputs, outputs=only("maxima"))
    assert result.as_numpy("maxima").tolist() == large[:1].tolist()


@EACH_TYPE
def test_combine_sets(client: triton.InferenceServerClient, suffix: str) -> None:
    dtype = TYPES[suffix]
    left, right = (some_keys(dtype, count) for count in (700, 500))
    left, right = (side[np.argsort(side.astype(np.float64), kind="stable")] for side in (left, right))
    mine, theirs = counted(left), counted(right)
    sides = [tensor("left", left), tensor("right", right)]
    combined: dict[str, Any] = {
        "union": max,
        "intersection": min,
        "difference": lambda a, b: max(a - b, 0),
        "symmetric_difference": lambda a, b: abs(a - b),
    }
    for operation, of_counts in combined.items():
        all_counts = {key: of_counts(mine.get(key, 0), theirs.get(key, 0)) for key in sorted({*mine, *theirs})}
        expected = [key for key, count in all_counts.items() for _ in range(count)]
        parameters = {"operation": operation}
        result = client.infer(f"combine_sets_{suffix}", sides, parameters=parameters)
        assert shapes(result) == {"keys": len(expected)}
        assert raw(result, "keys", dtype).astype(np.float64).tolist() == expected
        result = client.infer(f"count_sets_{suffix}", sides, parameters=parameters)
        assert result.as_numpy("count").tolist() == [len(expected)]

        values = np.arange(1200, dtype=np.int16)
        of_sides = [tensor("left_values", values[:700])]
        if operation in ("union", "symmetric_difference"):
            of_sides.append(tensor("right_values", values[700:]))
        result = client.infer(f"combine_sets_pairs_{suffix}", [*sides, *of_sides], parameters=parameters)
        assert shapes(result) == {"keys": len(expected), "values": len(expected)}
        found = result.as_numpy("values")
        assert np.concatenate([left, right])[found].astype(np.float64).tolist() == expected
        assert len(set(found.tolist())) == len(found)


@EACH_TYPE
def test_join(client: triton.InferenceServerClient, suffix: str) -> None:
    left, right = (some_keys(TYPES[suffix], count) for count in (90, 70))
    sides = [tensor("left", left), tensor("right", right)]
    equal = left.astype(np.float64)[:, None] == right.astype(np.float64)[None, :]
    inner = np.argwhere(equal).tolist()
    of_left = [[row, -1] for row in np.flatnonzero(~equal.any(1)).tolist()]
    of_right = [[-1, row] for row in np.flatnonzero(~equal.any(0)).tolist()]
    expected = {
        "inner": inner,
        "left": sorted(inner + of_left),
        "right": inner + of_right,
        "full": sorted(inner + of_left) + of_right,
    }
    for kind, rows in expected.items():
        result = client.infer(f"join_{suffix}", sides, parameters={"kind": kind, "max_rows": 7000})
        assert shapes(result) == {"left_rows": len(rows), "right_rows": len(rows)}
        assert np.stack([result.as_numpy("left_rows"), result.as_numpy("right_rows")], 1).tolist() == rows
        assert client.infer(f"count_join_{suffix}", sides, parameters={"kind": kind}).as_numpy("count") == [len(rows)]
    for kind, wanted in (("semi", True), ("anti", False)):
        result = client.infer(f"join_{suffix}", sides, parameters={"kind": kind})
        found = np.flatnonzero(equal.any(1) == wanted)
        assert shapes(result) == {"left_rows": len(found)}  # rows of the right are no result of it
        assert np.array_equal(result.as_numpy("left_rows"), found)


@EACH_TYPE
def test_select(client: triton.InferenceServerClient, suffix: str) -> None:
    dtype = TYPES[suffix]
    elements = some_keys(dtype, 1000)
    mask = RNG.random(1000) < 0.3
    given = tensor("elements", elements)
    predicates = {
        "flags": mask.astype(np.uint8) * 7,
        "bitmap": np.packbits(mask, bitorder="little"),
        "positions": RNG.permutation(np.flatnonzero(mask)),
    }
    for name, predicate in predicates.items():
        inputs = [given, tensor(name, predicate)]
        result = client.infer(f"select_{suffix}", inputs)
        count = int(mask.sum())
        assert shapes(result) == {"elements": count, "indices": count, "count": 1}
        assert raw(result, "elements", dtype).tobytes() == elements[mask].tobytes()
        assert np.array_equal(result.as_numpy("indices"), np.flatnonzero(mask))
        assert result.as_numpy("count").tolist() == [count]
        result = client.infer(f"select_{suffix}", inputs, parameters={"negate": True}, outputs=only("elements"))
        assert raw(result, "elements", dtype).tobytes() == elements[~mask].tobytes()

    values = np.arange(1000, dtype=np.float32)
    inputs = [given, tensor("values", values), tensor("flags", predicates["flags"])]
    result = client.infer(f"select_pairs_{suffix}", inputs, parameters={"partition": True})
    assert shapes(result) == {"elements": 1000, "values": 1000, "indices": 1000, "count": 1}
    order = np.concatenate([np.flatnonzero(mask), np.flatnonzero(~mask)])
    assert raw(result, "elements", dtype).tobytes() == elements[order].tobytes()
    assert np.array_equal(result.as_numpy("values"), values[order])

    inputs = [given, tensor("threshold", np.array([40], dtype))]
    numbers = elements.astype(np.float64)
    compared = {
        "less": numbers < 40,
        "less_or_equal": numbers <= 40,
        "equal": numbers == 40,
        "not_equal": numbers != 40,
        "greater": numbers > 40,
        "greater_or_equal": numbers >= 40,
    }
    for comparison, holds in compared.items():
        result = client.infer(f"select_{suffix}", inputs, parameters={"comparison": comparison})
        assert raw(result, "elements", dtype).tobytes() == elements[holds].tobytes()


@EACH_TYPE
def test_rank(client: triton.InferenceServerClient, suffix: str) -> None:
    keys = some_keys(TYPES[suffix], 500)
    numbers = keys.astype(np.float64)
    below = (numbers[None, :] < numbers[:, None]).sum(1)
    equal = (numbers[None, :] == numbers[:, None]).sum(1)
    ordinal = np.empty(500, np.int64)
    ordinal[np.argsort(numbers, kind="stable")] = np.arange(1, 501)
    expected = {
        "average": below + (equal + 1) / 2,
        "min": below + 1,
        "max": below + equal,
        "dense": np.unique(numbers, return_inverse=True)[1] + 1,
        "ordinal": ordinal,
    }
    for method, ranks in expected.items():
        result = client.infer(f"rank_{suffix}", [tensor("keys", keys)], parameters={"method": method})
        assert np.array_equal(result.as_numpy("ranks"), ranks)
    result = client.infer(f"rank_{suffix}", [tensor("keys", keys)])
    assert np.array_equal(result.as_numpy("ranks"), expected["average"])
    assert result.get_output("ranks").datatype == client.get_model_metadata(f"rank_{suffix}").outputs[0].datatype
    result = client.infer(f"rank_{suffix}", [tensor("keys", keys)], parameters={"method": "max", "descending": True})
    assert np.array_equal(result.as_numpy("ranks"), 500 - below)


@pytest.mark.parametrize(
    ("model", "inputs", "length"),
    [
        ("group_int32", {"keys": np.zeros(0, np.int32)}, 0),
        ("group_int32", {"keys": np.ones(4097, np.int32)}, 1),
        ("group_int32", {"keys": np.arange(300_001, dtype=np.int32)}, 300_001),
        ("select_int32", {"elements": np.zeros(0, np.int32), "flags": np.zeros(0, np.uint8)}, 0),
        ("select_int32", {"elements": np.arange(300_001, dtype=np.int32), "flags": np.zeros(300_001, np.uint8)}, 0),
    ],
)
def test_boundary_sizes(client: triton.InferenceServerClient, model: str, inputs: dict[str, Any], length: int) -> None:
    result = client.infer(model, [tensor(name, array) for name, array in inputs.items()])
    first = result.get_response().outputs[0]
    assert list(first.shape) == [length]
    assert len(result.get_response().raw_output_contents[0]) == 4 * length


def test_a_range_of_shared_memory_has_room_for_the_longest_output(client: triton.InferenceServerClient) -> None:
    elements, flags = np.arange(100, dtype=np.int32), (np.arange(100) % 4 == 0).astype(np.uint8)
    inputs = [tensor("elements", elements), tensor("flags", flags)]
    name = f"{SHARED_MEMORY_PREFIX}found"
    handle = shared_memory.create_shared_memory_region("found", name, 400)
    try:
        client.register_system_shared_memory("found", name, 400)
        output = triton.InferRequestedOutput("elements")
        output.set_shared_memory("found", 100)
        with pytest.raises(InferenceServerException, match=r"400 bytes.*shared_memory_byte_size"):
            client.infer("select_int32", inputs, outputs=[output])
        output.set_shared_memory("found", 400)
        result = client.infer("select_int32", inputs, outputs=[output])
        (answer,) = result.get_response().outputs
        assert list(answer.shape) == [25]
        assert answer.parameters["shared_memory_byte_size"].int64_param == 100
        assert np.array_equal(shared_memory.get_contents_as_numpy(handle, np.int32, [25]), elements[::4])
    finally:
        client.unregister_system_shared_memory("found")
        shared_memory.destroy_shared_memory_region(handle)


@pytest.mark.parametrize(
    ("model", "inputs", "parameters", "match"),
    [
        ("group_int32", {"keys": 2}, {"input": "heaps"}, r"parameters\[input\].*'unsorted'"),
        ("group_values_int32", {"keys": 2, "values": 1}, {}, "values.count"),
        ("group_values_int32", {"keys": 2}, {}, "values"),
        ("combine_sets_int32", {"left": 1, "right": 1}, {}, "operation"),
        ("combine_sets_int32", {"left": 1, "right": 1}, {"operation": "product"}, r"parameters\[operation\].*'union'"),
        ("combine_sets_pairs_int32", {"left": 1, "right": 1, "left_values": 1}, {"operation": "union"}, "right_values"),
        ("join_int32", {"left": 1, "right": 1}, {}, "kind"),
        ("join_int32", {"left": 1, "right": 1}, {"kind": "cross"}, r"parameters\[kind\].*'inner'"),
        ("join_int32", {"left": 3, "right": 3}, {"kind": "inner", "max_rows": 8}, "9 rows"),
        ("count_join_int32", {"left": 1, "right": 1}, {"kind": "inner", "max_rows": 1}, "not a parameter"),
        ("select_int32", {"elements": 2}, {}, "exactly one of flags"),
        ("select_int32", {"elements": 2, "threshold": 1}, {}, "comparison"),
        ("select_int32", {"elements": 2, "flags": 1}, {}, r"inputs\[1\].datatype.*UINT8"),
        ("rank_int32", {"keys": 2}, {"method": "least"}, r"parameters\[method\].*'average'"),
    ],
)
def test_errors_say_what_to_change(
    client: triton.InferenceServerClient,
    model: str,
    inputs: dict[str, int],
    parameters: dict[str, Any],
    match: str,
) -> None:
    given = [tensor(name, np.zeros(count, np.int32)) for name, count in inputs.items()]
    with pytest.raises(InferenceServerException, match=match) as refused:
        client.infer(model, given, parameters=parameters)
    assert refused.value.status() == "StatusCode.INVALID_ARGUMENT"
