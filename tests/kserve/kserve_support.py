"""What the tests with Triton's client share."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from tritonclient import grpc as triton

SHARED_MEMORY_PREFIX = "/corank-kserve-"
TYPES = {
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
}
RNG = np.random.default_rng(2873)


def some_keys(dtype: Any, count: int) -> Any:
    """Random keys with ties, of any type."""
    return RNG.integers(0, 100, count).astype(dtype)


def tensor(name: str, array: Any) -> triton.InferInput:
    """An input with raw contents."""
    suffix = {np.dtype(dtype): key for key, dtype in TYPES.items()}[array.dtype]
    made = triton.InferInput(name, list(array.shape), suffix.upper())
    if suffix == "bf16":
        made._raw_content = array.tobytes()  # set_data_from_numpy takes FP32 only for BF16
    else:
        made.set_data_from_numpy(array)
    return made


def raw(result: triton.InferResult, name: str, dtype: Any) -> Any:
    """An output's bytes as an array; as_numpy has no BF16."""
    response = result.get_response()
    names = [output.name for output in response.outputs]
    return np.frombuffer(response.raw_output_contents[names.index(name)], dtype)
