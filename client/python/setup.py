"""Builds the package: makes the protobuf messages, and asks for the protobuf runtime that they need."""

from __future__ import annotations

import pathlib
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import generate


class BuildWithMessages(build_py):
    """build_py, and the generated messages beside the modules."""

    def run(self) -> None:
        """Builds. Editable installs run from src/, so the messages go there."""
        generate.generate(pathlib.Path("src") if self.editable_mode else pathlib.Path(self.build_lib))
        super().run()


class SdistWithProtos(sdist):
    """sdist, and the .proto files, so that the archive builds on its own."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copies proto/ into the release tree."""
        super().make_release_tree(base_dir, files)
        target = pathlib.Path(base_dir)
        shutil.copytree(generate.proto_root() / "corank", target / "proto" / "corank", dirs_exist_ok=True)
        shutil.copy2("generate.py", target / "generate.py")


def protobuf_requirement() -> str:
    """Generated messages run on the protobuf release that made them and later ones."""
    import google.protobuf

    return f"protobuf>={google.protobuf.__version__}"


setup(
    cmdclass={"build_py": BuildWithMessages, "sdist": SdistWithProtos},
    install_requires=[
        "numpy>=1.22",
        "grpcio>=1.60",
        protobuf_requirement(),
        "googleapis-common-protos>=1.63",
    ],
)
