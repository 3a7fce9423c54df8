"""The reference of the C++ client, as Markdown, from its public headers.

Headers are written to be read: a section is the head comment of one, then its declarations as they stand there, with
their comments, less what is private or internal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "include" / "corank"
# In the order in which a reader needs them. client.h includes them.
HEADERS = (
    "client.h",
    "client_options.h",
    "operators.h",
    "element.h",
    "columns.h",
    "groups.h",
    "sets.h",
    "join.h",
    "select.h",
    "rank.h",
    "insert.h",
    "chain.h",
    "shared_memory.h",
    "memory.h",
    "cancellation.h",
    "errors.h",
    "types.h",
    "null_order.h",
)
NAMED = re.compile(
    r"^(?:class|struct|enum class) (\w+)\b(?! *;)|^using (\w+) =|^(?:[\w:<>&*, ]+?) [*&]*(\w+)\(", re.MULTILINE
)
NAMESPACE = re.compile(r"^namespace corank[\w:]* \{\n(.*?)^\}  // namespace [\w:]*$", re.MULTILINE | re.DOTALL)
INTERNAL = re.compile(r"^namespace internal \{\n.*?^\}  // namespace internal\n", re.MULTILINE | re.DOTALL)
PRIVATE = re.compile(r"\n*^ private:\n.*?(?=^\};)", re.MULTILINE | re.DOTALL)


def head_comment(text: str) -> list[str]:
    """The comment that a header begins with. Indented lines are code."""
    out: list[str] = []
    code = False
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        words = line.removeprefix("//").removeprefix(" ")
        if words and words.startswith("  ") != code:
            out += ["```", ""] if code else ["", "```cpp"]
            code = not code
        out.append(words.removeprefix("  ") if code else words)
    return [*out, "```"] if code else out


def declarations(text: str) -> list[str]:
    """What a header declares for callers: each with its comment, up to the line that closes it."""
    inside = "\n".join(part for part in NAMESPACE.findall(INTERNAL.sub("", text)))
    found, begun, depth = [], list[str](), 0
    for line in PRIVATE.sub("\n", inside).splitlines():
        if not line and not depth:
            if begun:
                found.append("\n".join(begun))
            begun = []
            continue
        begun.append(line)
        code = re.sub(r'//.*|"(?:\\.|[^"])*"', "", line)
        depth += code.count("{") - code.count("}")
    if begun:
        found.append("\n".join(begun))
    forward = re.compile(r"^(?:(?:class|struct) \w+;\n?)+$")
    only_comment = re.compile(r"^(?:\s*//.*\n?)+$")
    return [each for each in found if not forward.match(each) and not only_comment.match(each)]


def lines_of(header: Path) -> Iterable[str]:
    text = header.read_text(encoding="utf-8")
    yield from (f"## {header.name}", "", *head_comment(text), "")
    seen: set[str] = set()
    for declared in declarations(text):
        named = NAMED.search(declared)
        name = next((group for group in named.groups() if group), "") if named else ""
        if name and name not in seen:
            yield from (f"### {name}", "")
            seen.add(name)
        yield from ("```cpp", declared, "```", "")


def markdown() -> str:
    return "\n".join(line for name in HEADERS for line in lines_of(FOLDER / name))


if __name__ == "__main__":
    print(markdown())
