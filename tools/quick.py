"""The tests that a change needs: `make quick`, at most half a minute.

What changed since main (or `--since REV`), committed or not, is mapped to test folders: `tests/unit` mirrors
`src/kubesched`, so `scheduler/plugins/node_name.py` asks for `tests/unit/scheduler/plugins/test_node_name*.py` or, if
there is no such file, for all of `tests/unit/scheduler/plugins`. A changed test file asks for itself. Names of
packages can be given instead: `make quick IN="scheduler/engine client"`.

Recorded decisions and the property tests are not part of it: `make test` before you hand in.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = Path("src/kubesched")
UNIT: Final = Path("tests/unit")


def changed_files(since: str) -> list[Path]:
    """Files that differ from where this branch left `since`, with those that git does not track yet."""
    base = _git("merge-base", "HEAD", since)[0]
    names = [*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")]
    return [Path(name) for name in dict.fromkeys(names)]


def wanted_tests(files: Iterable[Path], root: Path = ROOT) -> list[Path]:
    """The test files and folders that these files ask for, each once, none inside another."""
    wanted: set[Path] = set()
    for file in files:
        if file.suffix == ".md" or file.parts[0] in ("docs", "examples"):
            wanted.add(UNIT / "docs")
        elif file.suffix != ".py":
            continue
        elif file.is_relative_to("tests"):
            wanted.add(_test_target(file, root))
        elif file.is_relative_to(SOURCE):
            wanted |= _mirrored(file.relative_to(SOURCE), root)
    existing = sorted(path for path in wanted if (root / path).exists())
    return [path for path in existing if not any(other in path.parents for other in existing)]


def _mirrored(module: Path, root: Path) -> set[Path]:
    """`scheduler/plugins/node_name.py` -> its own test files, else the nearest folder that mirrors its package."""
    named = sorted((root / UNIT / module.parent).glob(f"test_{module.stem}*.py"))
    if named:
        return {path.relative_to(root) for path in named}
    for package in module.parents:
        folder = UNIT / package
        if package != Path() and (root / folder).is_dir():
            return {folder}
    return set()


def _test_target(file: Path, root: Path) -> Path:
    """A test file stands for itself; a helper beside test files, for its folder."""
    return file if file.name.startswith("test_") and (root / file).exists() else file.parent


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603 - our own questions
    return run.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="packages below src/kubesched; what changed, if none is given")
    parser.add_argument("--since", default="main", metavar="REV", help="what counts as changed (default: main)")
    options = parser.parse_args()
    if options.packages:
        targets = [UNIT / package for package in options.packages]
        if missing := [str(target) for target in targets if not (ROOT / target).exists()]:
            print(f"error: there is no {', '.join(missing)}", file=sys.stderr)
            return 2
    else:
        targets = wanted_tests(changed_files(options.since))
    if not targets:
        print("nothing changed that has tests of its own")
        return 0
    print("testing", *targets)
    command = [sys.executable, "-m", "pytest", "-m", "not e2e and not slow", *map(str, targets)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 - our own tests


if __name__ == "__main__":
    sys.exit(main())
