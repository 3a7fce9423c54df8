"""Builds the package; what it is and needs is in pyproject.toml. This adds the messages made from proto/."""

from __future__ import annotations

import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import generate

_HERE = pathlib.Path(__file__).resolve().parent


class BuildWithMessages(build_py):
    """build_py that makes the messages first."""

    def run(self) -> None:
        """Builds."""
        generate.ensure()
        super().run()


class SdistWithMessages(sdist):
    """sdist that makes the messages first, so that the archive builds without protoc."""

    def run(self) -> None:
        """Makes the archive."""
        generate.ensure()
        super().run()


if generate.is_repository():
    # A license file must lie beside pyproject.toml.
    shutil.copyfile(_HERE.parent.parent / "LICENSE", _HERE / "LICENSE")

setup(
    cmdclass={"build_py": BuildWithMessages, "sdist": SdistWithMessages},
    # For protoc; an archive holds what protoc made.
    setup_requires=["grpcio-tools>=1.60"] if generate.is_repository() else [],
)
