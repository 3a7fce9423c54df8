"""The image that scripts/image_archive.py packs: whole, labelled, the same each time, and as Docker wants it too."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
NOTICES = """Software of other authors in this distribution of corank, with its copyright notices and licenses.

  abseil 20220623.1-1+deb12u2
  grpc 1.51.1-3
  NVIDIA CUDA runtime and CUDA C++ Core Libraries (CCCL)

======================================
abseil 20220623.1-1+deb12u2 (libabsl_base.a)
"""


@pytest.fixture(name="root")
def fixture_root(tmp_path: Path) -> Path:
    """A folder as image_root.sh lays it out, with its SBOM."""
    root = tmp_path / "root"
    documents = root / "opt" / "corank" / "share" / "doc" / "corank"
    documents.mkdir(parents=True)
    (documents / "THIRD_PARTY_NOTICES.txt").write_text(NOTICES, encoding="utf-8")
    (root / "opt" / "corank" / "bin").mkdir()
    (root / "opt" / "corank" / "bin" / "corankd").write_bytes(b"program")
    (root / "opt" / "corank" / "bin" / "corankd").chmod(0o755)
    (root / "etc").mkdir()
    (root / "etc" / "passwd").write_text("corank:x:65532:65532::/:\n", encoding="utf-8")
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    run("sbom.py", str(documents), "--version", "1.2.3", "--package", "glibc=2.36-9")
    return root


def run(script: str, *arguments: str) -> None:
    subprocess.run([sys.executable, str(SCRIPTS / script), *arguments], check=True, timeout=60)


def pack(root: Path, output: Path) -> dict[str, bytes]:
    """The files of the archive, by name."""
    run("image_archive.py", str(root), str(output), "--version", "1.2.3", "--revision", "abc")
    with tarfile.open(output) as tar:
        files = {}
        for entry in tar.getmembers():
            file = tar.extractfile(entry)
            assert file
            files[entry.name] = file.read()
    return files


def blob(files: dict[str, bytes], descriptor: dict[str, Any]) -> bytes:
    """The blob of a descriptor, which must have its size and digest."""
    found = files["blobs/" + descriptor["digest"].replace(":", "/")]
    assert len(found) == descriptor["size"]
    assert f"sha256:{hashlib.sha256(found).hexdigest()}" == descriptor["digest"]
    return found


def opened(root: Path, tmp_path: Path) -> tuple[dict[str, bytes], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Files, image manifest, image configuration and SBOM manifest of an archive."""
    files = pack(root, tmp_path / "image.tar")
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    image, sbom = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(files, image))
    return files, manifest, json.loads(blob(files, manifest["config"])), json.loads(blob(files, sbom))


def test_layers_hold_the_files_as_root_and_in_order(root: Path, tmp_path: Path) -> None:
    files, manifest, config, _ = opened(root, tmp_path)
    names = []
    for descriptor, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        plain = gzip.decompress(blob(files, descriptor))
        assert f"sha256:{hashlib.sha256(plain).hexdigest()}" == diff
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            entries = tar.getmembers()
        assert all((entry.uid, entry.gid, entry.mtime) == (0, 0, 0) for entry in entries)
        names.append({entry.name: entry.mode for entry in entries})
    system, corank = names
    assert system["tmp"] & 0o7777 == 0o1777
    assert "etc/passwd" in system
    assert corank["opt/corank/bin/corankd"] & 0o7777 == 0o755
    assert not set(system) & set(corank)


def test_configuration_is_the_dockerfiles(root: Path, tmp_path: Path) -> None:
    _, _, config, _ = opened(root, tmp_path)
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    (entrypoint,) = re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)
    assert config["config"]["Entrypoint"] == json.loads(entrypoint)
    assert re.search(rf"^USER {config['config']['User']}$", dockerfile, re.MULTILINE)
    (ports,) = re.findall(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)
    assert {f"{port}/tcp" for port in ports.split()} == set(config["config"]["ExposedPorts"])
    (environment,) = re.findall(r"^ENV (.*)$", dockerfile, re.MULTILINE)
    assert environment.split() == config["config"]["Env"]
    labels = dict(re.findall(r'(org\.opencontainers\.image\.\w+)="([^"]*)"', dockerfile))
    ours = config["config"]["Labels"]
    assert set(ours) == {*labels, "org.opencontainers.image.created"}
    for name in ("title", "description", "licenses"):
        assert ours[f"org.opencontainers.image.{name}"] == labels[f"org.opencontainers.image.{name}"]
    assert ours["org.opencontainers.image.version"] == "1.2.3"


def test_health_check_is_the_dockerfiles(root: Path, tmp_path: Path) -> None:
    _, _, config, _ = opened(root, tmp_path)
    check = config["config"]["Healthcheck"]
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^HEALTHCHECK (.*)$", dockerfile, re.MULTILINE)
    options, _, command = line.partition("CMD ")
    assert check["Test"] == ["CMD", *json.loads(command)]
    seconds = {name: int(value) for name, value in re.findall(r"--([a-z-]+)=(\d+)s", options)}
    times = {"interval": "Interval", "timeout": "Timeout", "start-period": "StartPeriod"}
    assert {times[name]: value * 10**9 for name, value in seconds.items()} == {
        name: value for name, value in check.items() if name != "Test"
    }


def test_docker_finds_the_blobs_of_the_layout(root: Path, tmp_path: Path) -> None:
    files, manifest, _, _ = opened(root, tmp_path)
    (image,) = json.loads(files["manifest.json"])
    path = {each["digest"]: "blobs/" + each["digest"].replace(":", "/") for each in manifest["layers"]}
    assert image["RepoTags"] == ["corank:1.2.3"]
    assert image["Layers"] == list(path.values())
    assert files[image["Config"]] == blob(files, manifest["config"])


def test_sbom_names_every_package_and_refers_to_the_image(root: Path, tmp_path: Path) -> None:
    files, _, _, sbom = opened(root, tmp_path)
    assert sbom["subject"]["digest"] == json.loads(files["index.json"])["manifests"][0]["digest"]
    document = json.loads(blob(files, sbom["layers"][0]))
    versions = {package["name"]: package.get("versionInfo") for package in document["packages"]}
    assert versions == {
        "corank": "1.2.3",
        "abseil": "20220623.1-1+deb12u2",
        "grpc": "1.51.1-3",
        "NVIDIA CUDA runtime and CUDA C++ Core Libraries (CCCL)": None,
        "glibc": "2.36-9",
    }
    contained = [each["relatedSpdxElement"] for each in document["relationships"][1:]]
    assert sorted(contained) == sorted(package["SPDXID"] for package in document["packages"][1:])


def test_same_files_give_the_same_archive(root: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    pack(root, first)
    (root / "etc" / "passwd").touch()  # a new time alone changes nothing
    pack(root, second)
    assert first.read_bytes() == second.read_bytes()


def test_notices_without_packages_make_no_sbom(tmp_path: Path) -> None:
    (tmp_path / "THIRD_PARTY_NOTICES.txt").write_text("nothing\n", encoding="utf-8")
    command = [sys.executable, str(SCRIPTS / "sbom.py"), str(tmp_path), "--version", "1"]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert made.returncode != 0
    assert "lists no packages" in made.stderr
