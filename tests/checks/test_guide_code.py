"""The blocks of a language's pages become one program, each in a function of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "scripts" / "checks"
sys.path.insert(0, str(CHECKS))

import guide_code  # noqa: E402

TEMPLATE = """\
// each block: begin
function NAME {
  BLOCK
}
// each block: end
main {
  // each call: begin
  NAME
  // each call: end
}
"""


def generate(folder: Path, suffix: str, page: str) -> subprocess.CompletedProcess[str]:
    template = folder / f"guide{suffix}"
    template.write_text(TEMPLATE, encoding="utf-8")
    (folder / "page.md").write_text(page, encoding="utf-8")
    command = [sys.executable, str(CHECKS / "guide_code.py"), "--root", str(folder), str(template), "page.md"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_each_block_has_a_function_and_a_call(tmp_path: Path) -> None:
    page = (
        '```rust\nconnect("127.0.0.1:50051");\n```\n```sh\nls\n```\n'
        '```rust no-run reason="why"\na;\nb;\n```\n```rust title="main.rs"\nc;\n```\n'
    )
    assert generate(tmp_path, ".rs", page).stdout == (
        'function block_page_md_2 {\n  connect("");\n}\n'
        "function block_page_md_8 {\n  a;\n  b;\n}\n"
        "main {\n  block_page_md_2\n}\n"
    )


@pytest.mark.parametrize("page", ["no block\n", "```go\nx\n```\n", "```rust\nx\n", "```rust norun\nx\n```\n"])
def test_a_page_without_a_good_block_is_refused(tmp_path: Path, page: str) -> None:
    done = generate(tmp_path, ".rs", page)
    assert done.returncode != 0
    assert "guide_code: page.md" in done.stderr


def test_each_error_of_go_is_checked_where_its_statement_ends() -> None:
    text = "a, err := f(g{\n    x,\n})\nerr = h()\nb := err\n"
    assert guide_code.go_block(text) == (
        "a, err := f(g{\n    x,\n})\ncheck(err)\nerr = h()\ncheck(err)\nb := err\n_ = a\n_ = b\n_ = err\n"
    )
