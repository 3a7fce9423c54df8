"""Sizes, times and tables for people."""

from __future__ import annotations

import html
from collections.abc import Mapping


def size(count: float) -> str:
    """Bytes, such as "1.5 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} EiB"


def duration(nanoseconds: float) -> str:
    """A time, such as "1.2 ms"."""
    for unit in ("ns", "µs", "ms"):
        if nanoseconds < 1000:
            return f"{nanoseconds:.0f} {unit}" if unit == "ns" else f"{nanoseconds:.3g} {unit}"
        nanoseconds /= 1000
    return f"{nanoseconds:.3g} s"


def table(title: str, rows: Mapping[str, str]) -> str:
    """Lines: a title, then a name and its value on each."""
    width = max(map(len, rows), default=0)
    return "\n".join([title, *(f"  {name:{width}}  {value}" for name, value in rows.items())])


def html_table(title: str, rows: Mapping[str, str]) -> str:
    """Such a table as HTML, for a notebook."""
    body = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption style='text-align:left'>{html.escape(title)}</caption>{body}</table>"
