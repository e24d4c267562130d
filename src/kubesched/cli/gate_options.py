"""Options about feature gates, the same for every command that puts a scheduler together."""

from __future__ import annotations

from typing import Annotated

import typer

GateList = Annotated[
    str, typer.Option("--feature-gates", metavar="A=true,B=false", help="Feature gates that differ from the default.")
]
EmulatedVersion = Annotated[
    str, typer.Option("--emulated-version", metavar="VERSION", help="Take the defaults of an older version: 1.33–1.36.")
]
