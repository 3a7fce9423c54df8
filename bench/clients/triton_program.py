"""The benchmark program of Triton's client, which calls corankd by the Open Inference Protocol."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import grpc
import numpy as np
from python_program import SERVICE, Rate, calls_rate, serve
from tritonclient import grpc as triton
from tritonclient.grpc import service_pb2


def client_rate(address: str, work: str, n: int) -> Rate:
    client = triton.InferenceServerClient(address)
    x = np.arange(n, dtype=np.uint32)
    assert work == "calls"

    def start() -> Future[Any]:
        future: Future[Any] = Future()

        def finish(result: Any, error: Exception | None) -> None:
            if error is not None:
                future.set_exception(RuntimeError(str(error)))
            else:
                future.set_result(result.as_numpy("keys"))

        keys = triton.InferInput("keys", [n], "UINT32")
        keys.set_data_from_numpy(x)
        client.async_infer("sort_uint32", [keys], callback=finish)
        return future

    return calls_rate(start, lambda answer: np.array_equal(answer, x))


def stub_rate(address: str, work: str, n: int) -> Rate:
    options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    data = np.arange(n, dtype=np.uint32).tobytes()
    assert work == "calls"
    # A response in both directions: the echo changes nothing, and request and response differ in field numbers only.
    message = service_pb2.ModelInferResponse(model_name="sort_uint32", raw_output_contents=[data])
    message.outputs.add(name="keys", datatype="UINT32", shape=[n])
    echo: Any = grpc.insecure_channel(address, options).unary_unary(
        f"{SERVICE}/Sort",
        request_serializer=service_pb2.ModelInferResponse.SerializeToString,
        response_deserializer=service_pb2.ModelInferResponse.FromString,
    )
    return calls_rate(lambda: echo.future(message), lambda answer: answer.raw_output_contents[0] == data)


if __name__ == "__main__":
    serve(client_rate, stub_rate)
