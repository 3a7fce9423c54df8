#!/usr/bin/env python3
"""Shows that the tests notice a wrong kernel: breaks one comparison or one bound at a time and runs the tests.

    scripts/mutate.py list                 every mutation, and whether its text is still in the code
    scripts/mutate.py run [NAME...]        build and test mutants on this machine (unit tests; GPU tests on a GPU)
    scripts/mutate.py pack FOLDER [NAME...]
                                           build mutants into a tree that runs on a bare GPU machine: FOLDER/run.sh

The mutations are in tests/mutations.toml. The script applies each to a copy of the last commit. A test program kills a
mutant by failing: an abort, a wrong answer or a timeout. The exit status is 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 300

RUN_SH = """#!/usr/bin/env bash
# Runs every mutant's tests: each must fail. Exit status 1 when a mutant survives or a test was skipped.
cd "$(dirname "$0")" || exit 1
survivors=0
for mutant in mutants/*/; do
  [ "$mutant" != mutants/lib/ ] || continue
  name=$(basename "$mutant")
  killed=
  for test in "$mutant"*; do
    timeout %d "$test" --gtest_brief=1 --gtest_fail_fast >"log-$name" 2>&1
    code=$?
    if [ $code -ne 0 ]; then killed="$(basename "$test"), exit $code"; break; fi
  done
  if [ -n "$killed" ]; then echo "killed    $name ($killed)"; else
    echo "SURVIVED  $name"; survivors=$((survivors + 1)); fi
done
echo "mutants that survived: $survivors"
exit $((survivors > 0))
"""


@dataclass(frozen=True)
class Mutation:
    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]
    gpu: bool

    def stands(self, root: Path) -> bool:
        """Whether the file contains the text to replace exactly once."""
        path = root / self.file
        return path.is_file() and path.read_text(encoding="utf-8").count(self.find) == 1

    def apply(self, root: Path) -> str:
        """Breaks the file and returns its previous contents."""
        path = root / self.file
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole.replace(self.find, self.replace), encoding="utf-8")
        return whole


def mutations(root: Path) -> list[Mutation]:
    table = tomllib.loads((root / "tests" / "mutations.toml").read_text(encoding="utf-8"))
    return [
        Mutation(name, entry["file"], entry["find"], entry["replace"], tuple(entry["tests"]), entry.get("gpu", False))
        for name, entry in table.items()
    ]


def chosen(root: Path, names: list[str]) -> list[Mutation]:
    every = mutations(root)
    unknown = set(names) - {mutation.name for mutation in every}
    if unknown:
        sys.exit(f"mutate: no such mutation: {', '.join(sorted(unknown))}")
    return [mutation for mutation in every if not names or mutation.name in names]


def copy_of_last_commit(folder: Path) -> Path:
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    if (ROOT / ".deps").exists() and not (tree / ".deps").exists():
        (tree / ".deps").symlink_to(ROOT / ".deps")
    return tree


def build(tree: Path, mutation: Mutation) -> bool:
    """Builds the test programs of a mutant; returns False if it does not compile."""
    command = [str(tree / "scripts" / "build.sh"), "build", "-DCORANK_WERROR=OFF", "--", *mutation.tests]
    done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"mutate: {mutation.name} does not build:\n{done.stdout[-2000:]}{done.stderr[-2000:]}", file=sys.stderr)
    return done.returncode == 0


def survives(tree: Path, mutation: Mutation) -> bool:
    for test in mutation.tests:
        command = [str(tree / "build" / "bin" / test), "--gtest_brief=1", "--gtest_fail_fast"]
        try:
            done = subprocess.run(command, check=False, capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0:
            return False
    return True


def list_mutations() -> int:
    gone = [mutation.name for mutation in mutations(ROOT) if not mutation.stands(ROOT)]
    for mutation in mutations(ROOT):
        state = "text is gone" if mutation.name in gone else "gpu" if mutation.gpu else "unit"
        print(f"{mutation.name:40} {state:12} {mutation.file}: {' '.join(mutation.tests)}")
    return int(bool(gone))


def mutate(options: argparse.Namespace, folder: Path) -> int:
    tree = copy_of_last_commit(folder)
    failures = 0
    for mutation in chosen(tree, options.names):
        if options.verb == "run" and mutation.gpu and not shutil.which("nvidia-smi"):
            print(f"skipped   {mutation.name} (needs a GPU)")
            continue
        if options.verb == "pack" and not mutation.gpu:
            continue
        whole = mutation.apply(tree)
        built = build(tree, mutation)
        if not built:
            failures += 1
        elif options.verb == "pack":
            place = options.folder / "mutants" / mutation.name
            place.mkdir(parents=True, exist_ok=True)
            programs = [tree / "build" / "bin" / test for test in mutation.tests]
            subprocess.run([tree / "scripts" / "bundle.sh", folder / "bundle", *programs], check=True, cwd=tree)
            for program in programs:
                shutil.move(folder / "bundle" / "bin" / program.name, place / program.name)
            print(f"packed    {mutation.name}")
        else:
            survived = survives(tree, mutation)
            failures += survived
            print(f"{'SURVIVED' if survived else 'killed':9} {mutation.name}")
        (tree / mutation.file).write_text(whole, encoding="utf-8")
    if options.verb == "pack":
        # A program looks for its libraries in ../lib, relative to its own folder.
        shutil.copytree(folder / "bundle" / "lib", options.folder / "mutants" / "lib", dirs_exist_ok=True)
        (options.folder / "run.sh").write_text(RUN_SH % TIMEOUT_S, encoding="utf-8")
        os.chmod(options.folder / "run.sh", 0o755)
    return int(failures > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list")
    run = verbs.add_parser("run")
    run.add_argument("names", nargs="*")
    pack = verbs.add_parser("pack")
    pack.add_argument("folder", type=Path)
    pack.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.verb == "list":
        return list_mutations()
    # Kept between runs, so that only the files that a mutation touches are compiled again.
    return mutate(options, ROOT / "build-mutants")


if __name__ == "__main__":
    sys.exit(main())
