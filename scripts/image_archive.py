#!/usr/bin/env python3
"""Packs a folder made by image_root.sh as a container image, without a container engine.

Usage: image_archive.py ROOT OUTPUT.tar --version VERSION [--revision COMMIT]

The archive holds an OCI image layout with one image: the C library in one layer, corank in the next, and the SBOM as an
artifact that refers to the image. Its manifest.json names the same blobs for `docker load` and `podman load`. The same
files give the same bytes. `skopeo copy oci-archive:OUTPUT.tar:VERSION docker://REGISTRY/NAME:TAG` publishes it.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import platform
import tarfile
from pathlib import Path
from typing import Any

SBOM = "opt/corank/share/doc/corank/sbom.spdx.json"
USER = 65532
SECOND = 10**9
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
CONFIG = {
    "User": f"{USER}:{USER}",
    "ExposedPorts": {"50051/tcp": {}, "50052/tcp": {}, "9464/tcp": {}},
    "Env": ["PATH=/opt/corank/bin", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"],
    "Entrypoint": [
        "corankd",
        "--listen=0.0.0.0:50051",
        "--metrics-listen=0.0.0.0:9464",
        "--health-listen=0.0.0.0:50052",
    ],
    "StopSignal": "SIGTERM",
    # Docker reads it; the OCI format has no field for it, and other engines ignore it. Times are in nanoseconds.
    "Healthcheck": {
        "Test": ["CMD", "corank", "health", "--server=127.0.0.1:50052", "--plaintext", "--deadline=4s"],
        "Interval": 10 * SECOND,
        "Timeout": 5 * SECOND,
        "StartPeriod": 30 * SECOND,
    },
}


class Layout:
    """An OCI image layout in the making."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.index: dict[str, Any] = {}
        self.docker: list[dict[str, Any]] = []

    def add(self, media_type: str, blob: bytes, **more: Any) -> dict[str, Any]:
        """Adds a blob and returns its descriptor."""
        digest = hashlib.sha256(blob).hexdigest()
        self.blobs[digest] = blob
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(blob), **more}

    def add_json(self, value: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Adds a JSON document, whose field mediaType says what it is."""
        return self.add(value["mediaType"], json.dumps(value, sort_keys=True).encode(), **more)


def as_root(entry: tarfile.TarInfo, epoch: int) -> tarfile.TarInfo:
    """An entry without the traces of this machine."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = epoch
    return entry


def layer(root: Path, wanted: bool, epoch: int) -> bytes:
    """A tar of what lies in /opt (wanted) or of everything else."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root)
            if (name.parts[0] == "opt") == wanted:
                tar.add(path, str(name), recursive=False, filter=lambda entry: as_root(entry, epoch))
    return made.getvalue()


def image(root: Path, version: str, revision: str, epoch: int) -> Layout:
    """The layout with its index."""
    layout = Layout()
    plain = [layer(root, wanted, epoch) for wanted in (False, True)]
    layers = [
        layout.add("application/vnd.oci.image.layer.v1.tar+gzip", gzip.compress(tar, 9, mtime=0)) for tar in plain
    ]
    created = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {
        "org.opencontainers.image.title": "corank",
        "org.opencontainers.image.description": "GPU sort, merge and interval-move as a gRPC service",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.created": created,
        **({"org.opencontainers.image.revision": revision} if revision else {}),
    }
    system = {"architecture": MACHINES[platform.machine()], "os": "linux"}
    config = {
        **system,
        "created": created,
        "config": {**CONFIG, "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in plain]},
    }
    manifest: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add("application/vnd.oci.image.config.v1+json", json.dumps(config, sort_keys=True).encode()),
        "layers": layers,
        "annotations": labels,
    }
    subject = layout.add_json(manifest)
    sbom = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/spdx+json",
        "config": layout.add("application/vnd.oci.empty.v1+json", b"{}"),
        "layers": [layout.add("application/spdx+json", (root / SBOM).read_bytes())],
        "subject": subject,
    }
    name = {"org.opencontainers.image.ref.name": version}
    layout.index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [
            {**subject, "platform": system, "annotations": name},
            layout.add_json(sbom, artifactType="application/spdx+json"),
        ],
    }
    layout.docker = [
        {
            "Config": blob_path(manifest["config"]["digest"]),
            "RepoTags": [f"corank:{version}"],
            "Layers": [blob_path(each["digest"]) for each in layers],
        }
    ]
    return layout


def blob_path(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def write(layout: Layout, output: Path, epoch: int) -> None:
    """Writes the layout as a tar."""
    files = {
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
        "index.json": json.dumps(layout.index, sort_keys=True).encode(),
        "manifest.json": json.dumps(layout.docker, sort_keys=True).encode(),
        **{blob_path(f"sha256:{digest}"): blob for digest, blob in sorted(layout.blobs.items())},
    }
    with tarfile.open(output, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, blob in files.items():
            entry = as_root(tarfile.TarInfo(name), epoch)
            entry.size = len(blob)
            tar.addfile(entry, io.BytesIO(blob))


def main() -> None:
    parser = argparse.ArgumentParser(description="Packs a folder as a container image.")
    parser.add_argument("root", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", default="")
    arguments = parser.parse_args()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    write(image(arguments.root, arguments.version, arguments.revision, epoch), arguments.output, epoch)


if __name__ == "__main__":
    main()
