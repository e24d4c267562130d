"""The recorder of scheduler-plugins' decisions: found in the cache folder, or built (Go module registry).

python tools/schedulerplugins/install.py        prints where it is
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VERSION: Final = "v0.34.7"
HERE: Final = Path(__file__).parent


def install(environ: Mapping[str, str] = os.environ) -> Path:
    """The program; RuntimeError where it can neither be found nor built. A first build takes some ten minutes."""
    root = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    program = Path(root) / "kubesched" / f"schedulerplugins-{VERSION}" / "recorder"
    newest = max(file.stat().st_mtime for file in (HERE / "go.mod", *HERE.glob("recorder/*.go")))
    if program.exists() and program.stat().st_mtime >= newest:
        return program
    go = shutil.which("go")
    if go is None:
        raise RuntimeError(f"there is no {program}, and no Go toolchain to build it")
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [go, "build", "-trimpath", "-ldflags", "-s -w", "-o", str(program), "./recorder"]
    built = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)  # noqa: S603 - our own go.mod
    if built.returncode != 0:
        raise RuntimeError(f"the recorder cannot be built: {built.stderr.strip()}")
    return program


if __name__ == "__main__":
    try:
        print(install())
    except RuntimeError as error:
        sys.exit(f"error: {error}")
