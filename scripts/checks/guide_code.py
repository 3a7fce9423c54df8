#!/usr/bin/env python3
"""Writes one program of all code blocks in a language's pages, which the language's check.sh compiles and runs.

Usage: guide_code.py TEMPLATE PAGE... >PROGRAM

TEMPLATE is scripts/checks/guides/guide.go, Guide.java or guide.rs. It declares what the blocks take for granted, as
`client` and `keys`, and holds two marked regions:

    // each block: begin … end     a function named NAME around the line BLOCK
    // each call: begin … end      the call of NAME, left out for a block with `no-run`, which is only compiled

The blocks are fences of the template's language. One with a title is a program of its own and is left out.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import doc_blocks

LANGUAGES = {".go": "go", ".java": "java", ".rs": "rust"}
REGION = r"^[ \t]*// each {}: begin\n(.*?)^[ \t]*// each {}: end\n"
BLOCK = re.compile(r"^([ \t]*)BLOCK\n", re.MULTILINE)
DECLARED = re.compile(r"^([\w, ]+?) :=")
SET = re.compile(r"^(?:[\w, ]+, )?err :?= ")


def go_block(text: str) -> str:
    """The block, with a check of each error and a use of each variable, both of which Go demands."""
    names: set[str] = set()
    lines = []
    depth, sets_error = 0, False
    for line in text.splitlines():
        lines.append(line)
        if depth == 0:
            sets_error = SET.match(line) is not None
            if declared := DECLARED.match(line):
                names.update(declared[1].split(", "))
        depth += sum(line.count(mark) for mark in "({[") - sum(line.count(mark) for mark in ")}]")
        if depth == 0 and sets_error:
            lines.append("check(err)")
            sets_error = False
    lines += [f"_ = {name}" for name in sorted(names - {"_"})]
    return "".join(f"{line}\n" for line in lines)


def fill(template: str, kind: str, copies: list[str]) -> str:
    """The template with copies in the place of a region."""
    found = re.search(REGION.format(kind, kind), template, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"guide_code: the template has no region '// each {kind}: begin'")
    return template[: found.start()] + "".join(copies) + template[found.end() :]


def region(template: str, kind: str) -> str:
    found = re.search(REGION.format(kind, kind), template, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def program(template: str, language: str, found: list[doc_blocks.Block]) -> str:
    """A program that holds each block in a function, and calls those that run."""
    functions, calls = [], []
    for block in found:
        name = "block_" + re.sub(r"\W", "_", block.page.lower()) + f"_{block.line}"
        text = block.text.replace(doc_blocks.ADDRESS, "")  # CORANK_SERVER
        if language == "go":
            text = go_block(text)
        function = region(template, "block").replace("NAME", name)

        def body(mark: re.Match[str], text: str = text) -> str:
            return "".join(mark[1] + line for line in text.splitlines(keepends=True))

        functions.append(BLOCK.sub(body, function))
        if "no-run" not in block.options:
            calls.append(region(template, "call").replace("NAME", name))
    return fill(fill(template, "block", functions), "call", calls)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("template", type=Path)
    parser.add_argument("pages", nargs="+", metavar="PAGE", help="relative to the root")
    given = parser.parse_args()
    language = LANGUAGES[given.template.suffix]
    found = []
    for page in given.pages:
        try:
            of_page = list(doc_blocks.blocks(page, (given.root / page).read_text(encoding="utf-8")))
        except doc_blocks.PageError as error:
            raise SystemExit(f"guide_code: {error}") from None
        here = [block for block in of_page if block.language == language and "title" not in block.options]
        if not here:
            raise SystemExit(f"guide_code: {page} has no block of {language}")
        found += here
    sys.stdout.write(program(given.template.read_text(encoding="utf-8"), language, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
