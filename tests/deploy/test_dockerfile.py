"""Checks the Dockerfile without building it (`make image` builds it)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="stages")
def fixture_stages() -> list[str]:
    """The text of each stage, with continued lines joined and comments removed."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]


def test_image_starts_from_nothing(stages: list[str]) -> None:
    """So it has no shell and no package manager."""
    first, final = stages
    assert first.startswith("${BASE_IMAGE} AS builder\n")
    assert final.startswith("scratch\n")


def test_final_stage_runs_nothing_and_copies_only_what_runs(stages: list[str]) -> None:
    final = stages[-1]
    assert "\nRUN " not in final
    assert re.findall(r"^COPY (.*)$", final, flags=re.MULTILINE) == ["--from=builder /image /"]


def test_the_image_carries_the_licenses_of_what_it_holds(stages: list[str]) -> None:
    assert "scripts/image_root.sh /image build" in stages[0]
    script = (ROOT / "scripts" / "image_root.sh").read_text(encoding="utf-8")
    assert 'scripts/notices.sh "$root/opt/corank/share/doc/corank" "$build" corankd corank' in script
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {"!LICENSE", "!NOTICE"} <= set(allowed)  # scripts/notices.sh copies both


def test_final_stage_is_not_root_and_stops_with_sigterm(stages: list[str]) -> None:
    assert "\nUSER 65532:65532\n" in stages[-1]
    assert "\nSTOPSIGNAL SIGTERM\n" in stages[-1]


def test_every_copied_path_exists_and_passes_dockerignore(stages: list[str]) -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in ignore
    allowed = {line[1:] for line in ignore if line.startswith("!")}
    for arguments in re.findall(r"^COPY (.*)$", stages[0], flags=re.MULTILINE):
        for source in arguments.split()[:-1]:
            if source == ".":
                continue
            assert (ROOT / source).is_file()
            assert source.split("/")[0] in allowed
    for folder in re.findall(r"^add_subdirectory\((\w+)\)", (ROOT / "CMakeLists.txt").read_text("utf-8"), re.MULTILINE):
        assert folder in allowed


def test_nothing_of_one_machine_is_in_the_recipe(stages: list[str]) -> None:
    recipe = "\n".join(stages)
    assert not re.search(r"https?://|/etc/apt|pip\.conf|proxy", recipe, flags=re.IGNORECASE)
