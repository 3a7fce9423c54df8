"""Messages that are no requests, and callers that leave, do not harm the server."""

from __future__ import annotations

import pathlib
import random
import threading
from typing import Any

import grpc
import numpy as np
from corank.testing import LocalServer
from google.protobuf.message import DecodeError
from kserve_support import some_keys, tensor
from tritonclient import grpc as triton
from tritonclient.grpc import service_pb2

SERVICE = "/inference.GRPCInferenceService"
ALLOWED = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
REQUESTS = 2000


def a_request() -> bytes:
    """A request with typed and raw contents, parameters and outputs."""
    request = service_pb2.ModelInferRequest(model_name="sort_pairs_int32", id="7")
    request.parameters["limit"].int64_param = 3
    keys = request.inputs.add(name="keys", datatype="INT32", shape=[4])
    keys.contents.int_contents.extend([3, 1, 2, 1])
    request.inputs.add(name="values", datatype="FP64", shape=[4])
    request.raw_input_contents.append(np.arange(4.0).tobytes())
    request.outputs.add(name="keys")
    request.outputs.add(name="values")
    return bytes(request.SerializeToString())


def mutated(message: bytes, chance: random.Random) -> bytes:
    """The message with a few bytes changed, removed or repeated."""
    changed = bytearray(message)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed))
        kind = chance.randrange(3)
        if kind == 0:
            changed[at] = chance.randrange(256)
        elif kind == 1:
            del changed[at : at + chance.randint(1, 8)]
        else:
            changed[at:at] = changed[at : at + chance.randint(1, 8)]
        if not changed:
            return b""
    return bytes(changed)


def outcome(call: Any, message: bytes) -> tuple[grpc.StatusCode | None, bytes]:
    """The code of an error, or None, and the answer."""
    try:
        return None, call(message)
    except grpc.RpcError as error:
        return error.code(), b""


def test_mutated_requests_are_answered_as_protobuf_reads_them(server: LocalServer) -> None:
    chance = random.Random(5)
    message = a_request()
    answered = 0
    with grpc.insecure_channel(server.address) as channel:
        infer: Any = channel.unary_unary(f"{SERVICE}/ModelInfer")
        assert len(service_pb2.ModelInferResponse.FromString(infer(message)).outputs) == 2
        for _ in range(REQUESTS):
            sent = mutated(message, chance)
            try:
                service_pb2.ModelInferRequest.FromString(sent)
                is_message = True
            except DecodeError:
                is_message = False
            code, answer = outcome(infer, sent)
            if code is not None:
                assert code in ALLOWED, (sent, code)
                continue
            response = service_pb2.ModelInferResponse.FromString(answer)
            assert is_message, sent
            assert len(response.outputs) == len(response.raw_output_contents)
            answered += 1
    assert 0 < answered < REQUESTS


def test_small_calls_refuse_what_is_no_message(server: LocalServer) -> None:
    calls = ["ModelReady", "ServerMetadata", "ModelMetadata", "ModelConfig", "ModelStatistics", "RepositoryIndex"]
    for kind in ("System", "Cuda"):
        calls += [f"{kind}SharedMemory{what}" for what in ("Status", "Register", "Unregister")]
    with grpc.insecure_channel(server.address) as channel:
        for call in calls:
            code, _ = outcome(channel.unary_unary(f"{SERVICE}/{call}"), b"\x0a\xff")
            assert code == grpc.StatusCode.INVALID_ARGUMENT, call


def test_a_draining_server_does_not_wait_for_an_idle_stream(corankd: pathlib.Path) -> None:
    server = LocalServer(corankd, ["--engine=cpu"], stop_seconds=20)
    server.start()
    with triton.InferenceServerClient(server.address) as client:
        answered = threading.Event()
        client.start_stream(callback=lambda result, error: answered.set())
        client.async_stream_infer("sort_int32", [tensor("keys", some_keys(np.int32, 10))])
        assert answered.wait(60)
        assert server.stop() == 0
        client.stop_stream(cancel_requests=True)


def test_callers_that_vanish_leave_no_calls(corankd: pathlib.Path) -> None:
    with LocalServer(corankd, ["--engine=cpu"]) as server:
        keys = np.random.default_rng(3).integers(0, 2**31, 300_000).astype(np.int32)
        for i in range(20):
            client = triton.InferenceServerClient(server.address)
            client.start_stream(callback=lambda result, error: None)
            for _ in range(3):
                client.async_stream_infer("sort_int32", [tensor("keys", keys)])
            if i % 2 == 0:
                client.async_infer("sort_int32", [tensor("keys", keys)], callback=lambda result, error: None)
            client.stop_stream(cancel_requests=True)
            client.close()
        with triton.InferenceServerClient(server.address) as client:
            answer = client.infer("sort_int32", [tensor("keys", keys)])
            assert np.array_equal(answer.as_numpy("keys"), np.sort(keys))
        assert server.stop() == 0
