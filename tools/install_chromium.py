"""Install Debian's chromium where that is possible: the tests of the page run in it, and are skipped without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def main() -> None:
    if shutil.which("chromium"):
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid():
        sys.exit("there is no chromium: install it (on Debian: apt-get install chromium) for the tests of the page")
    print("Installing chromium ...", flush=True)
    subprocess.run([apt, "update", "-qq"], check=True)  # noqa: S603 - no input
    subprocess.run([apt, "install", "-y", "-qq", "--no-install-recommends", "chromium"], check=True)  # noqa: S603 - no input


if __name__ == "__main__":
    main()
