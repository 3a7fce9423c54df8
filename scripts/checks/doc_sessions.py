"""The sessions in which doc_blocks.py runs the blocks of a page: a bash, and a Python interpreter."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

POLL_SECONDS = 0.02

# Reads a line "FILE LOG DONE" for each block, runs FILE, sends what it prints to LOG, and writes the outcome to DONE.
# A failing command ends the shell, and so the page: what comes after it may need it. Where a block is meant to fail,
# it runs in a subshell.
BASH = r"""
while read -r file log done mode; do
  exec 8>&1 9>&2 >"$log" 2>&1
  if [ "$mode" = fails ]; then
    if (set -eo pipefail; . "$file" </dev/null); then code=0; else code=$?; fi
  else
    trap 'echo $? >"$done.new"; mv "$done.new" "$done"' EXIT
    set -eo pipefail
    . "$file" </dev/null
    set +eo pipefail
    trap - EXIT
    code=0
  fi
  exec >&8 2>&9
  echo $code >"$done.new"; mv "$done.new" "$done"
done
"""
PYTHON = r"""
import contextlib, os, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    file, log, done, _ = line.split()
    code = 0
    with open(log, "w") as out, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            source = open(file).read()
            page = source.split("\n", 1)[0].removeprefix("# ")
            import linecache
            linecache.cache[page] = (len(source), None, source.splitlines(True), page)
            exec(compile(source, page, "exec"), names)
        except BaseException as error:
            code = 1
            frames = error.__traceback__.tb_next if error.__traceback__ else None
            traceback.print_exception(type(error), error, frames)
    with open(done + ".new", "w") as outcome:
        outcome.write(str(code))
    os.rename(done + ".new", done)
"""


class SessionError(Exception):
    """A block that did not come to an end."""


class Session:
    """A process that runs one block after the other and keeps what they defined."""

    command: tuple[str, ...]

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.scratch = folder.parent / self.command[0]
        self.scratch.mkdir()
        self.blocks = 0
        # A process group of its own, so that what a block left running ends with the page.
        self.process = subprocess.Popen(
            self.command, cwd=folder, env=variables, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def run(self, page: str, line: int, text: str, seconds: float, fails: bool) -> tuple[bool, str]:
        """Whether the block failed, and what it printed. Its lines have the numbers that they have in the page."""
        self.blocks += 1
        file, log, done = (self.scratch / f"{self.blocks}.{end}" for end in ("block", "log", "done"))
        file.write_text(f"# {page}" + "\n" * (line - 1) + text, encoding="utf-8")
        assert self.process.stdin is not None
        self.process.stdin.write(f"{file} {log} {done} {'fails' if fails else 'runs'}\n".encode())
        self.process.stdin.flush()
        end = time.monotonic() + seconds
        while not done.exists():
            if time.monotonic() > end:
                raise SessionError(f"this block took more than {seconds:g} s; it printed\n{self.printed(log)}")
            if self.process.poll() is not None and not done.exists():
                raise SessionError(f"this block ended its {self.command[0]}; it printed\n{self.printed(log)}")
            time.sleep(POLL_SECONDS)
        failed = done.read_text(encoding="utf-8").strip() != "0"
        return failed, self.printed(log).replace(str(file), page)

    @staticmethod
    def printed(log: Path) -> str:
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def close(self) -> None:
        """Ends the process and all that it started."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(5)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self.process.wait()


class Bash(Session):
    """Shell blocks. Each stops at the first command that fails."""

    command = ("bash", "-c", BASH)


class Interpreter(Session):
    """Python blocks."""

    command = ("python", "-c", PYTHON)
