"""A row of a results file, as bench/results/schema.json defines it, and the notation of its number of elements."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def count(n: int) -> str:
    """A number of elements, written as a power of two if it is one."""
    if n >= 1024 and n & (n - 1) == 0:
        return f"2^{n.bit_length() - 1}"
    return f"{n:,}"
