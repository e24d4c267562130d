"""A picture of `kubesched up` as a terminal shows it, drawn from a cluster that really runs.

python tools/screenshot.py docs/pictures/up.svg --demo preemption --after 10
"""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from kubesched.apps.up.cluster import ClusterOptions
from kubesched.apps.up.lifecycle import Up, UpSettings, run_up
from kubesched.cli.up_view import REFRESH_SECONDS, Headline, screen
from kubesched.config import FeatureGates, default_config

WIDTH, HEIGHT = 110, 27


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw kubesched up as SVG.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--demo", default="preemption")
    parser.add_argument("--after", type=float, default=10, metavar="SECONDS")
    arguments = parser.parse_args()

    async def draw(up: Up) -> None:
        until = up.clock.monotonic() + arguments.after
        while up.clock.monotonic() < until:
            up.monitor.picture()  # decisions per second are counted from one picture to the next
            await up.clock.sleep(REFRESH_SECONDS)
        console = Console(record=True, width=WIDTH, height=HEIGHT, file=io.StringIO(), force_terminal=True)
        shown = replace(up, address="https://127.0.0.1:8001", kubeconfig=Path("$PWD/.kubesched/kubeconfig"))
        console.print(screen(shown, Headline(), console))
        title = f"kubesched up --demo {arguments.demo}"
        arguments.file.write_text(_without_fonts(console.export_svg(title=title, unique_id="up")), encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder:
        cluster = ClusterOptions(port=0, demo=arguments.demo, kubeconfig=f"{folder}/kubeconfig")
        gates = FeatureGates()
        asyncio.run(run_up(UpSettings(cluster=cluster, config=default_config(gates), gates=gates), draw))


def _without_fonts(svg: str) -> str:
    """Whoever shows a picture inside a page loads no fonts for it."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "monospace")


if __name__ == "__main__":
    main()
