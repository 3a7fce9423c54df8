#!/usr/bin/env python3
"""Writes sbom.spdx.json beside a THIRD_PARTY_NOTICES.txt: corank and every package in it, as SPDX 2.3.

Usage: sbom.py FOLDER --version VERSION [--package SOURCE=VERSION]...

The head of THIRD_PARTY_NOTICES.txt lists the Debian source packages and their versions; --package adds others.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

CUDA = "NVIDIA CUDA runtime and CUDA C++ Core Libraries (CCCL)"


def packages(notices: str) -> list[tuple[str, str]]:
    """(source package, version) of each entry in the head of the notices; the CUDA runtime has no version there."""
    head = notices.split("\n=====", 1)[0]
    found = re.findall(r"^  (\S+) (\d\S*)$", head, re.MULTILINE)
    return found + ([(CUDA, "")] if f"  {CUDA}\n" in head else [])


def document(version: str, contents: list[tuple[str, str]], created: str) -> dict[str, Any]:
    """The SPDX document."""

    def entry(name: str, release: str, license_name: str) -> dict[str, Any]:
        debian = bool(release) and name != "corank"
        locator = f"pkg:deb/debian/{name}@{release}?arch=source"
        return {
            "SPDXID": f"SPDXRef-{re.sub('[^A-Za-z0-9.-]', '-', name)}",
            "name": name,
            **({"versionInfo": release} if release else {}),
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": license_name,
            "licenseDeclared": license_name,
            "copyrightText": "NOASSERTION",
            **(
                {
                    "externalRefs": [
                        {
                            "referenceCategory": "PACKAGE-MANAGER",
                            "referenceType": "purl",
                            "referenceLocator": locator,
                        }
                    ]
                }
                if debian
                else {}
            ),
        }

    entries = [entry("corank", version, "Apache-2.0"), *(entry(*each, "NOASSERTION") for each in contents)]
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"corank-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/corank-{version}-{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: corank-sbom"]},
        "packages": entries,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": "SPDXRef-corank",
            },
            *(
                {
                    "spdxElementId": "SPDXRef-corank",
                    "relationshipType": "CONTAINS",
                    "relatedSpdxElement": each["SPDXID"],
                }
                for each in entries[1:]
            ),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes sbom.spdx.json beside a THIRD_PARTY_NOTICES.txt.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--package", action="append", default=[], metavar="SOURCE=VERSION")
    arguments = parser.parse_args()
    notices = (arguments.folder / "THIRD_PARTY_NOTICES.txt").read_text("utf-8")
    contents = packages(notices)
    if not contents:
        parser.error(f"{arguments.folder}/THIRD_PARTY_NOTICES.txt lists no packages")
    contents += [(name, version) for name, _, version in (each.partition("=") for each in arguments.package)]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = json.dumps(document(arguments.version, contents, created), indent=1)
    (arguments.folder / "sbom.spdx.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
