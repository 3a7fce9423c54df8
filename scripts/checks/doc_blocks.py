#!/usr/bin/env python3
"""Runs the code blocks of the documents as a reader would.

Usage: doc_blocks.py [--root ROOT] [--bin FOLDER] [PAGE...]

Each page is one session, from top to bottom: its shell blocks share one bash and its Python blocks one interpreter,
both in a clean copy of the checkout's clients. FOLDER (build/bin) holds corankd and corank, which are on the PATH.

A block is a fence of three backticks. After its language may stand:

    title="NAME"                        the block is a file of the session, written as it is
    no-run reason="needs a GPU"         the block is shown, not run; the summary prints the reason
    needs="grpcurl"                     the block runs where these programs are installed
    fails                               the block is meant to fail (a Python exception, an exit code other than 0)
    output                              the block is what the last block printed; `...` stands for any text

Ports: pages say 127.0.0.1:50051. Here each page has free ports instead: blocks are rewritten, and CORANK_SERVER and
the environment of corankd name the same address. A page that starts no corankd of its own finds one running.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from doc_sessions import Bash, Interpreter, Session, SessionError

PAGES = (
    "README.md",
    "docs/index.md",
    "docs/tutorial.md",
    "docs/when-does-it-pay.md",
    "docs/guides/*.md",
    "docs/concepts/*.md",
    "client/*/README.md",
)
COPIED = ("client", "include", "proto", "examples", "cmake", "LICENSE", "README.md")
ADDRESS = "127.0.0.1:50051"
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)$")
OPTION = re.compile(r'([a-z-]+)(?:="([^"]*)")?')
KNOWN = {"title", "no-run", "reason", "needs", "fails", "output", "hl_lines", "linenums"}
SHELL, PYTHON = {"sh", "bash", "shell"}, {"python", "py"}
# pip installs from the checkout, without a network: all else is there.
PYTHON_PACKAGES = {
    "PYTHONPATH": next(path for path in sys.path if path.endswith("site-packages")),
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
START_SECONDS, BLOCK_SECONDS = 60, 300


class PageError(Exception):
    """A block that is not as it should be: `page:line: what`, and what it printed."""


@dataclass
class Block:
    """A fence of a page."""

    page: str
    line: int  # of its first line of text
    language: str
    options: dict[str, str]
    text: str

    @property
    def runs(self) -> bool:
        return self.language in SHELL | PYTHON and not {"title", "output", "no-run"} & self.options.keys()

    def fault(self, what: str, printed: str = "") -> PageError:
        return PageError(f"{self.page}:{self.line}: {what}" + (f"\n{printed.rstrip()}" if printed.strip() else ""))


@dataclass
class Counts:
    """What became of the blocks of one or more pages."""

    ran: int = 0
    skipped: list[tuple[str, int, str]] = field(default_factory=list)


def blocks(page: str, text: str) -> Iterator[Block]:
    """The fences of a page.

    Raises:
        PageError: a fence does not end, has an option that there is not, or is not run for no reason.
    """
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        at += 1
        if opened is None:
            continue
        indent, first = len(opened["indent"]), at
        while at < len(lines) and lines[at].strip() != "```":
            at += 1
        language, _, rest = opened["info"].strip().partition(" ")
        found = Block(page, first + 1, language, dict(OPTION.findall(rest)), "")
        if at == len(lines):
            raise found.fault("this fence does not end")
        found.text = "".join(line[indent:] + "\n" for line in lines[first:at])
        at += 1
        unknown = found.options.keys() - KNOWN
        if unknown:
            raise found.fault(f"a fence has no option {min(unknown)!r}; scripts/checks/doc_blocks.py lists them")
        if ("no-run" in found.options) != ("reason" in found.options):
            raise found.fault('say why this block does not run: no-run reason="..."')
        yield found


def matches(expected: str, printed: str) -> bool:
    """Whether a program printed this, where `...` stands for any text and blanks at the ends of lines do not count."""
    wanted, got = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (expected, printed))
    return re.fullmatch(".*".join(re.escape(part) for part in wanted.split("...")), got, re.DOTALL) is not None


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


def environment(programs: Path, venv: Path, home: Path) -> tuple[dict[str, str], str]:
    """What the sessions of one page see, and the address of its server."""
    grpc, metrics = free_ports(2)
    server = f"127.0.0.1:{grpc}"
    kept = {name: os.environ[name] for name in ("LANG", "TERM", "CCACHE_DIR") if name in os.environ}
    found = {
        **kept,
        **go_caches(),
        "HOME": str(home),
        "PATH": f"{venv / 'bin'}:{programs}:{os.environ['PATH']}",
        "CORANK_SERVER": server,
        "CORANK_LISTEN": server,
        "CORANK_METRICS_LISTEN": f"127.0.0.1:{metrics}",
        **PYTHON_PACKAGES,
        "PYTHONUNBUFFERED": "1",
    }
    return found, server


def go_caches() -> dict[str, str]:
    """Where Go keeps what it downloaded and compiled, which HOME moves otherwise."""
    if shutil.which("go") is None:
        return {}
    told = subprocess.run(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], check=True, capture_output=True, text=True)
    return dict(json.loads(told.stdout))


def clean_folder(root: Path, programs: Path, folder: Path) -> None:
    """What a reader has: the checkout's clients, and its programs in build/bin."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "--", *COPIED]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    for name in listed:
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    (folder / "build").mkdir()
    (folder / "build" / "bin").symlink_to(programs)


def make_venv(root: Path, folder: Path) -> None:
    """A fresh environment with the checkout's client; NumPy and gRPC are those of PYTHONPATH."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    source = folder / "source"
    clean_folder(root, folder, source)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    command = [*pip, str(source / "client" / "python")]
    subprocess.run(command, check=True, env={**os.environ, **PYTHON_PACKAGES})


def starts_server(page: list[Block]) -> bool:
    return any(block.runs and re.search(r"^\S*corankd\b.*&\s*(#.*)?$", block.text, re.MULTILINE) for block in page)


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    host, _, port = address.rpartition(":")
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise PageError(f"corankd did not serve within {START_SECONDS} s")


def run_block(block: Block, session: Session, address: str) -> str:
    """Runs a block and returns what it printed."""
    text = block.text.replace(ADDRESS, address)
    failed, printed = session.run(block.page, block.line, text, BLOCK_SECONDS, "fails" in block.options)
    printed = printed.replace(address, ADDRESS)
    if failed and "fails" not in block.options:
        raise block.fault("this block failed:", printed)
    if not failed and "fails" in block.options:
        raise block.fault("this block should have failed:", printed)
    return printed


def run_sessions(page: list[Block], folder: Path, variables: dict[str, str], address: str) -> Counts:
    counts = Counts()
    sessions: dict[str, Session] = {}
    last: tuple[Block, str] | None = None
    try:
        for block in page:
            missing = [name for name in block.options.get("needs", "").split() if not shutil.which(name)]
            if "no-run" in block.options or missing:
                reason = block.options.get("reason") or f"{', '.join(missing)} is not installed"
                counts.skipped.append((block.page, block.line, reason))
                last = None
            elif "title" in block.options:
                target = folder / block.options["title"]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text, encoding="utf-8")
            elif "output" in block.options:
                if last is not None and not matches(block.text, last[1]):
                    raise block.fault("the block before printed something else:", last[1])
            elif block.runs:
                kind = "python" if block.language in PYTHON else "sh"
                if kind not in sessions:
                    # Python is that of the environment that the page made.
                    made = {**variables, "PATH": f"{folder / 'venv' / 'bin'}:{variables['PATH']}"}
                    sessions[kind] = (Interpreter if kind == "python" else Bash)(folder, made)
                last = block, run_block(block, sessions[kind], address)
                counts.ran += 1
    except SessionError as error:
        raise block.fault(str(error)) from None
    finally:
        for session in sessions.values():
            session.close()
    return counts


def run_page(root: Path, programs: Path, venv: Path, name: str) -> Counts:
    """Runs one page.

    Raises:
        PageError: a block failed, or printed what the page does not say.
    """
    page = list(blocks(name, (root / name).read_text(encoding="utf-8")))
    if not any(block.runs for block in page):
        return Counts(
            0, [(block.page, block.line, block.options["reason"]) for block in page if "no-run" in block.options]
        )
    with tempfile.TemporaryDirectory(prefix="corank-docs-") as temporary:
        folder = Path(temporary) / "corank"
        folder.mkdir()
        clean_folder(root, programs, folder)
        variables, address = environment(programs, venv, Path(temporary))
        if starts_server(page):
            return run_sessions(page, folder, variables, address)
        with (Path(temporary) / "corankd.log").open("wb") as log:
            server = subprocess.Popen([str(programs / "corankd")], env=variables, stdout=log, stderr=log)
        try:
            wait_for(address, server)
            return run_sessions(page, folder, variables, address)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--bin", type=Path, help="the folder of corankd and corank (build/bin)")
    parser.add_argument("pages", nargs="*", help=f"default: {' '.join(PAGES)}")
    given = parser.parse_args()
    root = given.root.resolve()
    programs = (given.bin or root / "build" / "bin").resolve()
    names = given.pages or [str(path.relative_to(root)) for pattern in PAGES for path in sorted(root.glob(pattern))]
    counts, failed = Counts(), 0
    with tempfile.TemporaryDirectory(prefix="corank-docs-") as temporary:
        venv = Path(temporary) / "venv"
        make_venv(root, venv)
        for name in names:
            began = time.monotonic()
            try:
                of_page = run_page(root, programs, venv, name)
            except PageError as error:
                failed += 1
                print(f"doc_blocks: {error}", file=sys.stderr)
                continue
            print(f"doc_blocks: {name}: {of_page.ran} blocks ran in {time.monotonic() - began:.1f} s")
            counts.ran += of_page.ran
            counts.skipped += of_page.skipped
    for page, line, reason in counts.skipped:
        print(f"doc_blocks: not run: {page}:{line}: {reason}")
    print(f"doc_blocks: {counts.ran} blocks ran, {len(counts.skipped)} were not run, {failed} pages failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
