"""Runs the server as its pods do: as the manifests' user, without capabilities, on a read-only root file system.

Needs root and mount namespaces; skipped, with the reason, elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_manifests import container, deployment

sys.path.append(str(Path(__file__).resolve().parents[1] / "e2e"))

import e2e_paths  # noqa: F401
from e2e_support import binary
from waiting import wait_until

POD = deployment("cpu")["spec"]["template"]["spec"]["securityContext"]
USER = ["setpriv", f"--reuid={POD['runAsUser']}", f"--regid={POD['runAsGroup']}", "--clear-groups", "--no-new-privs"]
USER += ["--bounding-set=-all", "--inh-caps=-all"]
# Makes every mount read-only except /proc and a fresh /dev/shm like a container's.
READ_ONLY = """
set -eu
for target in $(findmnt -rn -o TARGET | sort -u); do
  case $target in /proc | /proc/*) ;; *) mount -o remount,bind,ro "$target" ;; esac
done
mount -t tmpfs -o mode=1777,nosuid,nodev,noexec,size=64m shm /dev/shm
exec "$@"
"""
CONFINED = ["unshare", "--mount", "--propagation=private", "sh", "-c", READ_ONLY, "sh", *USER]
KEYS = np.random.default_rng(4).integers(0, 2**32, 1_000_000, dtype=np.uint32)

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(name="start")
def fixture_start(tmp_path: Path) -> Iterator[Start]:
    """start(flags...) is a confined corankd with the manifests' flags and these; its log is the file tmp_path/log."""
    corankd = binary("CORANKD")
    if os.geteuid() != 0:
        pytest.skip("root is needed to mount")
    probe = subprocess.run([*CONFINED, "true"], capture_output=True, text=True, check=False, timeout=60)
    if probe.returncode != 0:
        pytest.skip(f"no read-only file system here: {probe.stderr.strip()}")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CORANK")}
    ports = [f"--{name}=127.0.0.1:0" for name in ("listen", "metrics-listen", "health-listen")]
    with contextlib.ExitStack() as stack:

        def started(*flags: str) -> subprocess.Popen[bytes]:
            # A file that was opened outside stays writable inside.
            log = stack.enter_context((tmp_path / "log").open("wb"))
            command = [*CONFINED, str(corankd), *ports, *container("cpu")["args"], *flags]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=clean)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield started


def ready(process: subprocess.Popen[bytes], log: Path) -> dict[str, Any]:
    """The `ready` line of the server's log."""
    found: list[dict[str, Any]] = []

    def has_said() -> bool:
        said = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        found.extend(line for line in said if line["event"] == "ready")
        assert found or process.poll() is None, log.read_text(encoding="utf-8")
        return bool(found)

    wait_until(has_said, "the server starts", 60)
    return found[0]


def sort(process: subprocess.Popen[bytes], address: str, place: str) -> str:
    """Sorts with the command line, as the server's user; returns the place of the keys. The answer must be right."""
    inside = ["nsenter", f"--target={process.pid}", "--mount", *USER, str(binary("CORANK"))]
    words = ["sort", "-", "--type=u32", "--output=/dev/shm/sorted.bin", "--force", f"--server={address}"]
    answer = subprocess.run(
        [*inside, *words, f"--place={place}", "--json"],
        input=KEYS.tobytes(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr.decode()
    sorted_keys = Path(f"/proc/{process.pid}/root/dev/shm/sorted.bin")
    np.testing.assert_array_equal(np.frombuffer(sorted_keys.read_bytes(), np.uint32), np.sort(KEYS))
    return str(json.loads(answer.stdout)["place"])


def mounted(process: subprocess.Popen[bytes]) -> set[str]:
    """The mount points of the process, except /proc."""
    targets = {line.split()[1] for line in Path(f"/proc/{process.pid}/mounts").read_text().splitlines()}
    return {where for where in targets if not where.startswith("/proc")}


def is_read_only(process: subprocess.Popen[bytes], where: str) -> bool:
    """Whether the process cannot write there."""
    return bool(os.statvfs(f"/proc/{process.pid}/root{where}").f_flag & os.ST_RDONLY)


def test_server_sorts_and_ends_well_without_any_rights(start: Start, tmp_path: Path) -> None:
    process = start("--shared-memory=/corank-")
    address = ready(process, tmp_path / "log")["grpc"]
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    assert set(status["Uid"].split()) == {str(POD["runAsUser"])}
    assert set(status["Gid"].split()) == {str(POD["runAsGroup"])}
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert {where for where in mounted(process) if not is_read_only(process, where)} == {"/dev/shm"}
    for place in ("inline", "shared-memory"):
        assert sort(process, address, place) == place
    assert [path.name for path in Path(f"/proc/{process.pid}/root/dev/shm").iterdir()] == ["sorted.bin"]
    process.terminate()
    assert process.wait(60) == 0, (tmp_path / "log").read_text(encoding="utf-8")


def test_server_that_writes_a_file_does_not_start(start: Start, tmp_path: Path) -> None:
    """Anybody may write to an ordinary /tmp, so the failure shows that the other test's file system is read-only."""
    process = start(f"--ports-file=/tmp/corankd-ports-{os.getpid()}")
    assert process.wait(60) == 1
    assert "Read-only file system" in (tmp_path / "log").read_text(encoding="utf-8")
