"""The list of metrics, as Markdown, from the help texts in server/observe."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "server" / "observe"
TEXT = r"((?:\"(?:[^\"\\]|\\.)*\"\s*)+)"
# A name, then its help, as arguments of one call or of a builder.
METRIC = re.compile(rf"\"((?:corank|process)_\w+)\"\s*(?:,|\)\s*\.Help\()\s*{TEXT}")
TYPES = {"Histogram": "histogram", "Counter": "counter", "gauge": "gauge", "Gauge": "gauge"}


def metrics() -> dict[str, tuple[str, str]]:
    """Type and help of each metric, by name.

    Raises:
        ValueError: a metric has no type that is known here.
    """
    found: dict[str, tuple[str, str]] = {}
    for file in sorted(FOLDER.glob("*.cc")):
        text = file.read_text(encoding="utf-8")
        for at in METRIC.finditer(text):
            words = "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", at[2])).replace('\\"', '"')
            made = list(re.finditer("|".join(TYPES), text[: at.start()]))
            if not made:
                raise ValueError(f"{file.name}: {at[1]} has no type")
            kind = "counter" if at[1].endswith("_total") else TYPES[made[-1][0]]
            found[at[1]] = kind, words
    return found


def markdown() -> str:
    rows = [f"| `{name}` | {kind} | {words} |" for name, (kind, words) in sorted(metrics().items())]
    return "\n".join(["| metric | type | help |", "| --- | --- | --- |", *rows])


if __name__ == "__main__":
    print(markdown())
