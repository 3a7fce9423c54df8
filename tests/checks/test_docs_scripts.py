"""The references of the site hold all that the sources declare, and pages come to MkDocs as it can read them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "docs"))

import cpp_headers  # noqa: E402
import hooks  # noqa: E402
import metrics  # noqa: E402
import programs  # noqa: E402
import protocol  # noqa: E402


def test_the_protocol_page_has_every_message_field_and_value() -> None:
    page = protocol.markdown()
    for file in (ROOT / "proto" / "corank" / "v1").glob("*.proto"):
        text = re.sub(r"//.*", "", file.read_text(encoding="utf-8"))
        for name in re.findall(r"^(?:message|enum|service) (\w+)", text, re.MULTILINE):
            assert f"\n### {name}\n" in page
        for name in re.findall(r"^\s+rpc (\w+)", text, re.MULTILINE):
            assert f"\n#### {name}\n" in page
        for field, number in re.findall(r"^\s+(?:repeated |optional )?[\w.]+ (\w+) = (\d+);", text, re.MULTILINE):
            assert f"| `{field}` = {number} |" in page
        for value, number in re.findall(r"^\s+([A-Z][A-Z0-9_]+) = (\d+);", text, re.MULTILINE):
            assert f"| `{value}` | {number} |" in page
    assert not re.search(r"^\| `.*\|\s*\|\s*$", page, re.MULTILINE), "a field or value has no comment"


def test_a_comment_in_columns_is_a_table() -> None:
    comment = " Codes:\n   OK      It works.\n   NOT_OK  It does not,\n           yet.\n"
    assert protocol.prose(comment) == [
        "Codes:", "", "|  |  |", "| --- | --- |", "| OK | It works. |", "| NOT_OK | It does not, yet. |", "",
    ]  # fmt: skip


def test_the_cpp_page_has_the_public_declarations_and_no_others() -> None:
    page = cpp_headers.markdown()
    for name in ("Client", "ClientOptions", "CallOptions", "RequestStats", "SharedMemory", "ArrayView", "ViewOf"):
        assert f"\n### {name}\n" in page
    assert " private:" not in page
    assert "namespace internal" not in page
    assert page.count("```") % 2 == 0


def test_the_python_page_has_every_public_class() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    package = (ROOT / "client" / "python" / "src" / "corank" / "__init__.py").read_text(encoding="utf-8")
    public = re.findall(r'^    "([A-Z][a-z]\w+)",$', package, re.MULTILINE)
    assert len(public) > 10
    assert [name for name in public if f"::: corank.{name}\n" not in page] == []


def test_the_metrics_page_has_what_the_monitoring_page_explains() -> None:
    explained = (ROOT / "docs" / "operations" / "monitor.md").read_text(encoding="utf-8")
    names = set(re.findall(r"^- `((?:corank|process)_\w+)`", explained, re.MULTILINE))
    assert set(metrics.metrics()) == names


def a_page(path: str) -> Any:
    """A page as MkDocs passes it."""
    return SimpleNamespace(file=SimpleNamespace(src_uri=path), meta={})


def test_search_shows_guides_before_decisions() -> None:
    boosts = []
    for path in ("guides/cli.md", "architecture.md", "decisions/0001-one-engine-interface.md"):
        assert (ROOT / "docs" / path).exists()
        page = a_page(path)
        hooks.on_page_markdown("", page)
        boosts.append(page.meta.get("search", {"boost": 1})["boost"])
    assert boosts == sorted(boosts, reverse=True)
    assert len(set(boosts)) == 3


def test_fences_lose_what_only_the_check_reads() -> None:
    page = '```sh no-run reason="a GPU"\nx\n```\n```python fails\n```\n```text output\n```\n```cpp title="a.cc"\n```\n'
    plain = '```sh\nx\n```\n```python\n```\n```text\n```\n```cpp title="a.cc"\n```\n'
    assert hooks.on_page_markdown(page, a_page("guides/x.md")) == plain


def test_help_becomes_pages(tmp_path: Path) -> None:
    corankd = tmp_path / "corankd"
    corankd.write_text(
        "#!/bin/sh\ncat <<END\ncorankd: serves.\n\nQueue (--help=queue)\n"
        "  --bytes (default: 1GiB)\n      How\n      many.\n  --name (default: empty)\n      A|B.\nEND\n",
        encoding="utf-8",
    )
    corankd.chmod(0o755)
    page = programs.flags_page(corankd)
    assert "## Queue\n" in page
    assert "| `--bytes` | `1GiB` | How many. |\n| `--name` |  | A\\|B. |" in page


def test_tables_and_plots_are_those_of_the_results() -> None:
    command = [sys.executable, str(ROOT / "bench" / "report" / "pays.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pictures_are_those_of_the_script(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "docs" / "pictures.py", tmp_path], check=True)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    folder = ROOT / "docs" / "concepts" / "pictures"
    assert drawn == {path.name: path.read_bytes() for path in folder.iterdir()}
