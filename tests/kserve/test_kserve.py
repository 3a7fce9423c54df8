"""Triton's unmodified client against corankd: every call, operator, type and place of the Open Inference Protocol."""

from __future__ import annotations

import asyncio
import hashlib
import pathlib
import queue
import urllib.request
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from corank.testing import LocalServer
from kserve_support import RNG, TYPES, raw, some_keys, tensor
from tritonclient import grpc as triton
from tritonclient.grpc import aio as triton_aio
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException


@pytest.fixture
def stub(server: LocalServer) -> Iterator[service_pb2_grpc.GRPCInferenceServiceStub]:
    """The generated stub, for requests that the client cannot make."""
    with grpc.insecure_channel(server.address) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def test_server_is_live_ready_and_described(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    metadata = client.get_server_metadata()
    assert metadata.name == "corank"
    assert metadata.version
    assert {"statistics", "model_configuration", "system_shared_memory"} <= set(metadata.extensions)
    assert "cuda_shared_memory" not in metadata.extensions  # the CPU engine


def test_every_model_is_listed_ready_and_described(client: triton.InferenceServerClient) -> None:
    names = [model.name for model in client.get_model_repository_index().models]
    assert len(set(names)) == len(names) == 20 * len(TYPES) + 1
    for name in names:
        assert client.is_model_ready(name)
        assert client.is_model_ready(name, "1")
        metadata = client.get_model_metadata(name)
        config = client.get_model_config(name).config
        assert metadata.name == config.name == name
        assert metadata.versions == ["1"]
        assert config.max_batch_size == 0
        assert not config.model_transaction_policy.decoupled
        described = [(t.name, "TYPE_" + t.datatype, list(t.shape)) for t in [*metadata.inputs, *metadata.outputs]]
        data_type = service_pb2.model__config__pb2.DataType if hasattr(service_pb2, "model__config__pb2") else None
        configured = [(t.name, list(t.dims)) for t in [*config.input, *config.output]]
        assert [(name, shape) for name, _, shape in described] == configured
        if data_type is not None:
            types = [data_type.Name(t.data_type) for t in [*config.input, *config.output]]
            assert types == [datatype for _, datatype, _ in described]


def test_an_unknown_model_is_not_found(client: triton.InferenceServerClient) -> None:
    for call in (client.get_model_metadata, client.get_model_config, client.get_inference_statistics):
        with pytest.raises(InferenceServerException) as refused:
            call("sort_int33")
        assert refused.value.status() == "StatusCode.NOT_FOUND"
        assert "sort_int33" in refused.value.message()
    with pytest.raises(InferenceServerException, match="version 1 only"):
        client.infer("sort_int32", [tensor("keys", np.zeros(1, np.int32))], model_version="2")


@pytest.mark.parametrize("suffix", TYPES)
def test_operators_of_each_type(client: triton.InferenceServerClient, suffix: str) -> None:
    dtype = TYPES[suffix]
    keys = some_keys(dtype, 1000)
    order = np.argsort(keys.astype(np.float64), kind="stable")

    result = client.infer(f"sort_{suffix}", [tensor("keys", keys)])
    assert result.get_output("keys").datatype == suffix.upper()
    assert raw(result, "keys", dtype).tobytes() == keys[order].tobytes()
    result = client.infer(f"argsort_{suffix}", [tensor("keys", keys)])
    assert np.array_equal(result.as_numpy("indices"), order)
    assert [output.name for output in result.get_response().outputs] == ["indices"]

    values = np.arange(1000, dtype=np.int64)
    result = client.infer(f"sort_pairs_{suffix}", [tensor("keys", keys), tensor("values", values)])
    assert raw(result, "keys", dtype).tobytes() == keys[order].tobytes()
    assert np.array_equal(result.as_numpy("values"), values[order])

    ordered = keys[order]
    a, b, c = ordered[::3].copy(), ordered[1::3].copy(), ordered[2::3].copy()
    result = client.infer(f"merge_{suffix}", [tensor("keys_0", a), tensor("keys_1", b), tensor("keys_2", c)])
    assert raw(result, "keys", dtype).tobytes() == ordered.tobytes()
    result = client.infer(
        f"merge_pairs_{suffix}",
        [
            tensor("values_1", values[: len(b)]),  # inputs may come in any order
            tensor("keys_0", a),
            tensor("keys_1", b),
            tensor("values_0", values[: len(a)]),
        ],
    )
    both = np.concatenate([a, b]).astype(np.float64)
    expected = np.concatenate([values[: len(a)], values[: len(b)]])[np.argsort(both, kind="stable")]
    assert np.array_equal(result.as_numpy("values"), expected)

    needles = some_keys(dtype, 77)
    found = np.searchsorted(ordered.astype(np.float64), needles.astype(np.float64))
    result = client.infer(f"search_{suffix}", [tensor("haystack", ordered), tensor("needles", needles)])
    assert np.array_equal(result.as_numpy("positions"), found)

    counts = RNG.integers(0, 4, 1000)
    result = client.infer(f"expand_{suffix}", [tensor("values", keys), tensor("counts", counts)])
    assert raw(result, "values", dtype).tobytes() == np.repeat(keys, counts).tobytes()

    offsets, lengths = np.array([10, 500, 3]), np.array([5, 0, 7])
    pieces = np.concatenate([keys[o : o + n] for o, n in zip(offsets, lengths, strict=False)])
    inputs = [tensor("source", keys), tensor("source_offsets", offsets), tensor("counts", lengths)]
    result = client.infer(f"gather_{suffix}", inputs)
    assert raw(result, "result", dtype).tobytes() == pieces.tobytes()

    target = np.array([20, 0, 4])
    expected = np.zeros(30, dtype)
    expected[20:25], expected[4:11] = pieces[:5], pieces[5:]
    inputs = [tensor("source", pieces), tensor("destination_offsets", target), tensor("counts", lengths)]
    result = client.infer(f"scatter_{suffix}", inputs, parameters={"destination_count": 30})
    assert raw(result, "result", dtype).tobytes() == expected.tobytes()
    result = client.infer(
        f"move_{suffix}",
        [
            tensor("source", keys),
            tensor("source_offsets", offsets),
            tensor("destination_offsets", target),
            tensor("counts", lengths),
            tensor("destination", np.ones(30, dtype)),
        ],
    )
    expected = np.ones(30, dtype)
    expected[20:25], expected[4:11] = pieces[:5], pieces[5:]
    assert raw(result, "result", dtype).tobytes() == expected.tobytes()


def test_load_balance(client: triton.InferenceServerClient) -> None:
    result = client.infer("load_balance_int64", [tensor("counts", np.array([2, 0, 3]))])
    assert result.as_numpy("objects").tolist() == [0, 0, 2, 2, 2]
    assert result.as_numpy("ranks").tolist() == [0, 1, 0, 1, 2]


def test_parameters_reach_the_operator(client: triton.InferenceServerClient) -> None:
    keys = some_keys(np.int32, 1000)
    result = client.infer("sort_int32", [tensor("keys", keys)], parameters={"descending": True, "limit": 10})
    assert np.array_equal(result.as_numpy("keys"), np.sort(keys)[::-1][:10])
    result = client.infer("sort_int32", [tensor("keys", keys)], parameters={"offset": 500, "limit": 10})
    assert np.array_equal(result.as_numpy("keys"), np.sort(keys)[500:510])
    result = client.infer("sort_int32", [tensor("keys", keys)], parameters={"algorithm": "odd_even_mergesort"})
    assert np.array_equal(result.as_numpy("keys"), np.sort(keys))
    result = client.infer(
        "search_int32",
        [tensor("haystack", np.sort(keys)), tensor("needles", keys)],
        parameters={"bound": "upper"},
    )
    assert np.array_equal(result.as_numpy("positions"), np.searchsorted(np.sort(keys), keys, side="right"))
    offsets = np.array([0, 400, 1000])
    result = client.infer("sort_int32", [tensor("keys", keys), tensor("segment_offsets", offsets)])
    expected = np.concatenate([np.sort(keys[:400]), np.sort(keys[400:])])
    assert np.array_equal(result.as_numpy("keys"), expected)
    result = client.infer(
        "sort_int32", [tensor("keys", keys), tensor("segment_offsets", offsets)], parameters={"limit": 500}
    )
    assert np.array_equal(result.as_numpy("keys"), expected[:900])
    result = client.infer(
        "rank_int32", [tensor("keys", keys), tensor("segment_offsets", offsets)], parameters={"method": "ordinal"}
    )
    ranks = [np.argsort(np.argsort(piece, kind="stable")) + 1 for piece in (keys[:400], keys[400:])]
    assert np.array_equal(result.as_numpy("ranks"), np.concatenate(ranks))


def test_requested_outputs_alone_are_sent(client: triton.InferenceServerClient) -> None:
    keys, values = some_keys(np.int32, 50), np.arange(50, dtype=np.float32)
    result = client.infer(
        "sort_pairs_int32",
        [tensor("keys", keys), tensor("values", values)],
        outputs=[triton.InferRequestedOutput("values")],
    )
    assert [output.name for output in result.get_response().outputs] == ["values"]
    assert len(result.get_response().raw_output_contents) == 1
    assert np.array_equal(result.as_numpy("values"), values[np.argsort(keys, kind="stable")])


def test_sizes_from_none_to_megabytes(client: triton.InferenceServerClient) -> None:
    for count in (0, 1, 2, 4095, 4097, 65_537, 3_000_001):
        keys = RNG.integers(-(2**31), 2**31, count).astype(np.int32)
        result = client.infer("sort_int32", [tensor("keys", keys)], request_id=f"n{count}")
        assert np.array_equal(result.as_numpy("keys"), np.sort(keys))
        assert result.get_response().id == f"n{count}"
        assert result.get_response().model_version == "1"


@pytest.mark.parametrize(
    ("suffix", "field"),
    [
        ("int8", "int_contents"),
        ("int16", "int_contents"),
        ("int32", "int_contents"),
        ("int64", "int64_contents"),
        ("uint8", "uint_contents"),
        ("uint16", "uint_contents"),
        ("uint32", "uint_contents"),
        ("uint64", "uint64_contents"),
        ("fp32", "fp32_contents"),
        ("fp64", "fp64_contents"),
    ],
)
def test_typed_contents(stub: service_pb2_grpc.GRPCInferenceServiceStub, suffix: str, field: str) -> None:
    keys = some_keys(TYPES[suffix], 100)
    request = service_pb2.ModelInferRequest(model_name=f"sort_{suffix}")
    request.inputs.add(name="keys", datatype=suffix.upper(), shape=[100])
    getattr(request.inputs[0].contents, field).extend(keys.tolist())
    response = stub.ModelInfer(request)
    assert np.array_equal(np.frombuffer(response.raw_output_contents[0], TYPES[suffix]), np.sort(keys))


def test_wrong_requests_name_what_to_change(
    client: triton.InferenceServerClient, stub: service_pb2_grpc.GRPCInferenceServiceStub
) -> None:
    def refused(match: str, model: str = "sort_int32", **changes: Any) -> None:
        request = service_pb2.ModelInferRequest(model_name=model)
        request.inputs.add(name="keys", datatype="INT32", shape=[2])
        request.raw_input_contents.append(bytes(8))
        for name, change in changes.items():
            change(getattr(request, name))
        with pytest.raises(grpc.RpcError, match=match) as error:
            stub.ModelInfer(request)
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT

    def typed_int8(inputs: Any) -> None:
        inputs[0].datatype = "INT8"
        inputs[0].contents.int_contents.extend([1, 300])

    refused(r"raw_input_contents\[0\].* missing", raw_input_contents=lambda raw: raw.pop())
    refused("raw_input_contents.* 2 entries", raw_input_contents=lambda raw: raw.append(b""))
    refused(r"raw_input_contents\[0\].* 4 bytes", raw_input_contents=lambda raw: raw.__setitem__(0, bytes(4)))
    refused(r"inputs\[0\].datatype.*INT32", inputs=lambda inputs: setattr(inputs[0], "datatype", "FP32"))
    refused(r"inputs\[0\].datatype", inputs=lambda inputs: setattr(inputs[0], "datatype", "BYTES"))
    refused(r"inputs\[0\].shape.*one dimension", inputs=lambda inputs: inputs[0].shape.append(1))
    refused(r"inputs\[0\].shape", inputs=lambda inputs: inputs[0].shape.__setitem__(0, -1))
    refused(r"inputs\[0\].name.*not an input.*keys", inputs=lambda inputs: setattr(inputs[0], "name", "INPUT0"))
    refused(r"inputs\[1\].name.*twice", inputs=lambda inputs: inputs.append(inputs[0]))
    refused("keys", inputs=lambda inputs: inputs.pop(), raw_input_contents=lambda raw: raw.pop())
    refused(r"outputs\[0\].name", outputs=lambda outputs: outputs.add(name="OUTPUT0"))
    refused(r"parameters\[limits\].*limit", parameters=lambda all_: setattr(all_["limits"], "int64_param", 1))
    refused(r"parameters\[limit\].*integer", parameters=lambda all_: setattr(all_["limit"], "string_param", "1"))
    refused(r"parameters\[algorithm\].*auto", parameters=lambda all_: setattr(all_["algorithm"], "string_param", "x"))
    refused(
        r"inputs\[0\].contents.*does not fit in INT8",
        model="sort_int8",
        inputs=typed_int8,
        raw_input_contents=lambda raw: raw.pop(),
    )
    with pytest.raises(InferenceServerException) as unsorted:
        client.infer(
            "merge_int32", [tensor("keys_0", np.array([2, 1], np.int32)), tensor("keys_1", np.zeros(1, np.int32))]
        )
    assert unsorted.value.status() == "StatusCode.INVALID_ARGUMENT"
    assert "keys[0]" in unsorted.value.message()


def test_timeouts_and_priorities(client: triton.InferenceServerClient) -> None:
    keys = some_keys(np.int32, 100)
    for priority in (1, 2, 3):
        result = client.infer("sort_int32", [tensor("keys", keys)], priority=priority, timeout=60_000_000)
        assert np.array_equal(result.as_numpy("keys"), np.sort(keys))
    large = RNG.integers(0, 2**31, 4_000_000).astype(np.int32)
    with pytest.raises(InferenceServerException) as late:
        client.infer("sort_int32", [tensor("keys", large)], timeout=1)
    assert late.value.status() == "StatusCode.DEADLINE_EXCEEDED"


def test_async_infer(client: triton.InferenceServerClient) -> None:
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    sent = {f"r{i}": some_keys(np.int32, 100 + i) for i in range(20)}
    for name, keys in sent.items():
        client.async_infer(
            "sort_int32",
            [tensor("keys", keys)],
            callback=lambda result, error: answers.put((result, error)),
            request_id=name,
        )
    for _ in range(20):
        result, error = answers.get(timeout=60)
        assert error is None
        assert np.array_equal(result.as_numpy("keys"), np.sort(sent.pop(result.get_response().id)))
    assert not sent


def test_aio_client(server: LocalServer) -> None:
    async def run() -> None:
        async with triton_aio.InferenceServerClient(server.address) as client:
            assert await client.is_server_ready()
            keys = some_keys(np.float32, 5000)
            results = await asyncio.gather(*(client.infer("sort_fp32", [tensor("keys", keys)]) for _ in range(8)))
            for result in results:
                assert np.array_equal(result.as_numpy("keys"), np.sort(keys))

            async def requests() -> Any:
                for i in range(5):
                    yield {"model_name": "sort_fp32", "inputs": [tensor("keys", keys)], "request_id": str(i)}

            seen = []
            async for result, error in client.stream_infer(requests()):
                assert error is None
                assert np.array_equal(result.as_numpy("keys"), np.sort(keys))
                seen.append(result.get_response().id)
            assert seen == ["0", "1", "2", "3", "4"]

    asyncio.run(run())


def test_stream_answers_each_request_in_order(client: triton.InferenceServerClient) -> None:
    answers: queue.Queue[tuple[Any, Any]] = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    sizes = [10, 400_000, 0, 3, 70_000, 5]
    sent = [RNG.integers(0, 2**31, count).astype(np.int32) for count in sizes]
    for i, keys in enumerate(sent):
        client.async_stream_infer(
            "sort_int32", [tensor("keys", keys)], request_id=f"s{i}", enable_empty_final_response=i % 2 == 1
        )
    client.async_stream_infer("sort_int99", [tensor("keys", sent[0])], request_id="bad")
    client.async_stream_infer("sort_int32", [tensor("keys", sent[0])], request_id="last")
    for i, keys in enumerate(sent):
        result, error = answers.get(timeout=60)
        assert error is None
        assert result.get_response().id == f"s{i}"
        assert np.array_equal(result.as_numpy("keys"), np.sort(keys))
        assert ("triton_final_response" in result.get_response().parameters) == (i % 2 == 1)
    result, error = answers.get(timeout=60)
    assert result is None
    assert "sort_int99" in str(error)
    result, error = answers.get(timeout=60)  # the stream outlives an error
    assert error is None
    assert result.get_response().id == "last"
    client.stop_stream()
    assert answers.empty()  # one response for each request


def test_a_cancelled_stream_leaves_the_server_idle(client: triton.InferenceServerClient, server: LocalServer) -> None:
    client.start_stream(callback=lambda result, error: None)
    keys = RNG.integers(0, 2**31, 2_000_000).astype(np.int32)
    for _ in range(4):
        client.async_stream_infer("sort_int32", [tensor("keys", keys)], parameters={"algorithm": "odd_even_mergesort"})
    client.stop_stream(cancel_requests=True)
    with triton.InferenceServerClient(server.address) as other:
        assert np.array_equal(other.infer("sort_int32", [tensor("keys", keys)]).as_numpy("keys"), np.sort(keys))


def statistics(client: triton.InferenceServerClient, model: str) -> Any:
    """The statistics of one model."""
    (found,) = client.get_inference_statistics(model).model_stats
    return found


def test_statistics_grow_and_agree(client: triton.InferenceServerClient) -> None:
    before = statistics(client, "search_uint16")
    haystack = np.arange(100, dtype=np.uint16)
    for _ in range(7):
        client.infer("search_uint16", [tensor("haystack", haystack), tensor("needles", haystack)])
    for _ in range(3):
        with pytest.raises(InferenceServerException):
            client.infer("search_uint16", [tensor("haystack", haystack[::-1].copy()), tensor("needles", haystack)])
    after = statistics(client, "search_uint16")
    assert after.inference_count - before.inference_count == 7
    assert after.execution_count - before.execution_count == 7
    stats = after.inference_stats
    for part in (stats.success, stats.queue, stats.compute_input, stats.compute_infer, stats.compute_output):
        assert part.count == after.inference_count
    assert stats.fail.count - before.inference_stats.fail.count == 3
    assert after.last_inference > before.last_inference
    parts = stats.queue.ns + stats.compute_input.ns + stats.compute_infer.ns + stats.compute_output.ns
    assert 0 < parts <= stats.success.ns
    assert [(batch.batch_size, batch.compute_infer.count) for batch in after.batch_stats] == [
        (1, after.inference_count)
    ]
    assert "search_uint16" in [model.name for model in client.get_inference_statistics().model_stats]


def test_requests_are_ordinary_ones_in_the_metrics(client: triton.InferenceServerClient, server: LocalServer) -> None:
    def sorts() -> float:
        with urllib.request.urlopen(f"http://{server.metrics_address}/metrics") as page:
            lines = page.read().decode().splitlines()
        found = [line for line in lines if line.startswith('corank_requests_total{code="OK",operator="sort"}')]
        return float(found[0].split()[-1]) if found else 0.0

    before = sorts()
    for _ in range(5):
        client.infer("argsort_int8", [tensor("keys", some_keys(np.int8, 10))])
    assert sorts() - before == 5


def test_tokens(corankd: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tokens = tmp_path / "tokens"
    digest = hashlib.sha256(b"secret").hexdigest()
    tokens.write_text(f"alice {digest} search\n")
    tokens.chmod(0o600)
    with (
        LocalServer(corankd, ["--engine=cpu", f"--tokens-file={tokens}"]) as server,
        triton.InferenceServerClient(server.address) as client,
    ):
        assert client.is_server_live()
        assert client.is_server_ready()
        keys = tensor("keys", np.zeros(1, np.int32))
        with pytest.raises(InferenceServerException) as stranger:
            client.infer("sort_int32", [keys])
        assert stranger.value.status() == "StatusCode.UNAUTHENTICATED"
        with pytest.raises(InferenceServerException):
            client.get_server_metadata()
        headers = {"authorization": "Bearer secret"}
        with pytest.raises(InferenceServerException, match="'sort'") as forbidden:
            client.infer("sort_int32", [keys], headers=headers)
        assert forbidden.value.status() == "StatusCode.PERMISSION_DENIED"
        array = np.arange(5, dtype=np.int32)
        found = client.infer("search_int32", [tensor("haystack", array), tensor("needles", array)], headers=headers)
        assert found.as_numpy("positions").tolist() == [0, 1, 2, 3, 4]


def test_the_door_can_be_closed(corankd: pathlib.Path) -> None:
    with LocalServer(corankd, ["--engine=cpu", "--kserve=false"]) as server:
        with triton.InferenceServerClient(server.address) as client, pytest.raises(InferenceServerException) as closed:
            client.get_server_metadata()
        assert closed.value.status() == "StatusCode.UNIMPLEMENTED"
