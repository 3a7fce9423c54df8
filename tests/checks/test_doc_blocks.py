"""The code blocks of documents run as printed; a failing block names its page, its line and its output."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

CHECKS = Path(__file__).resolve().parents[2] / "scripts" / "checks"
sys.path.insert(0, str(CHECKS))

import doc_blocks  # noqa: E402

# Serves nothing, but takes connections as corankd does.
SERVER = """#!{python}
import os, socket, time
host, port = os.environ["CORANK_LISTEN"].split(":")
with socket.create_server((host, int(port))):
    time.sleep(60)
open({ended!r}, "w").close()
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "corankd").write_text(
        SERVER.format(python=sys.executable, ended=str(tmp_path / "ended")), encoding="utf-8"
    )
    (programs / "corankd").chmod(0o755)
    (tmp_path / "client").mkdir()
    (tmp_path / "client" / "file").write_text("of the checkout\n", encoding="utf-8")
    return tmp_path


def is_running(pid: int) -> bool:
    """Whether the process lives; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def run(checkout: Path, text: str) -> doc_blocks.Counts:
    (checkout / "page.md").write_text(text, encoding="utf-8")
    venv = Path(sys.prefix)
    return doc_blocks.run_page(checkout, checkout / "bin", venv, "page.md")


def fence(info: str, *lines: str) -> str:
    return "\n".join([f"```{info}", *lines, "```", ""])


def test_blocks_of_a_language_share_a_session(checkout: Path) -> None:
    page = [
        fence("sh", "name=value", "cd client"),
        fence("python", "x = 1"),
        fence("sh", 'test "$name" = value && cat file'),
        fence("text output", "of the checkout"),
        fence("python", "print(x + 1)"),
        fence("text output", "2"),
    ]
    assert run(checkout, "".join(page)).ran == 4


@pytest.mark.parametrize(
    ("info", "line", "printed"),
    [
        ("sh", "echo before; false; echo after", "before"),
        ("sh", "false | cat", ""),
        ("python", "raise ValueError('why')", "ValueError: why"),
        ("sh fails", "true", ""),
        ("python fails", "x = 1", ""),
    ],
)
def test_a_failing_block_names_page_line_and_output(checkout: Path, info: str, line: str, printed: str) -> None:
    with pytest.raises(doc_blocks.PageError, match=r"^page\.md:4: this block ") as raised:
        run(checkout, "# A page\n\n" + fence(info, line))
    assert str(raised.value).endswith(printed)


def test_a_traceback_has_the_lines_of_the_page(checkout: Path) -> None:
    with pytest.raises(doc_blocks.PageError, match=r'File "page\.md", line 6') as raised:
        run(checkout, "# A page\n\n" + fence("python", "x = 1", "", "x / 0"))
    assert "x / 0" in str(raised.value)


def test_a_block_that_fails_as_it_should_leaves_the_session(checkout: Path) -> None:
    page = [
        fence("sh", "x=1"),
        fence("sh fails", "echo wrong >&2; exit 2"),
        fence("text output", "wrong"),
        fence("sh", "echo $x"),
        fence("text output", "1"),
    ]
    assert run(checkout, "".join(page)).ran == 3


def test_other_output_fails(checkout: Path) -> None:
    with pytest.raises(doc_blocks.PageError, match="printed something else"):
        run(checkout, fence("sh", "echo 1") + fence("text output", "2"))


def test_dots_stand_for_any_output(checkout: Path) -> None:
    run(checkout, fence("sh", "echo took 12 ms; echo done") + fence("text output", "took ... ms", "done"))


def test_blocks_with_a_title_are_files(checkout: Path) -> None:
    page = fence('sh title="folder/script.sh"', "echo from a file") + fence("sh", "sh folder/script.sh")
    assert run(checkout, page + fence("text output", "from a file")).ran == 1


def test_a_block_that_is_not_run_says_why(checkout: Path) -> None:
    page = fence('sh no-run reason="needs a GPU"', "false") + fence('sh needs="no-such-program"', "false")
    counts = run(checkout, page)
    assert [reason for _, _, reason in counts.skipped] == ["needs a GPU", "no-such-program is not installed"]
    assert counts.ran == 0


@pytest.mark.parametrize("info", ["sh no-run", 'sh reason="none"', "sh norun", 'sh reasons="x"'])
def test_a_wrong_fence_is_refused(checkout: Path, info: str) -> None:
    with pytest.raises(doc_blocks.PageError, match=r"^page\.md:2: "):
        run(checkout, fence(info, "true"))


def test_the_port_of_the_page_is_that_of_its_server(checkout: Path) -> None:
    lines = [
        "import os, socket",
        "host, port = '127.0.0.1:50051'.split(':')",
        "assert os.environ['CORANK_SERVER'] == host + ':' + port",
        "socket.create_connection((host, int(port))).close()",
        "print(host + ':' + port)",
    ]
    assert run(checkout, fence("python", *lines) + fence("text output", "127.0.0.1:50051")).ran == 1


def test_what_a_page_left_running_ends_with_it(checkout: Path) -> None:
    run(checkout, fence("sh", "corankd &", "echo $! >client/pid", f"cp client/pid {checkout}/pid"))
    pid = int((checkout / "pid").read_text())
    while is_running(pid):
        time.sleep(0.01)
    assert not (checkout / "ended").exists(), "the server ended by itself, a minute later"
