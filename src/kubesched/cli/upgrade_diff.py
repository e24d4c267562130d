"""`kubesched upgrade-diff`: would an upgrade of Kubernetes place any pod otherwise?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from kubesched.apps.upgrade_diff import as_data, as_text
from kubesched.apps.upgrade_diff import upgrade_diff as find_out
from kubesched.cli.options import (
    ConfigFile,
    GateList,
    KubeconfigFile,
    Moment,
    ObjectFiles,
    Output,
    OutputFormat,
    objects_of,
    policy_of,
)
from kubesched.config import FeatureGates
from kubesched.config.versions import CURRENT_VERSION, Version
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False, help="Compare the decisions of two versions of Kubernetes.")
BEFORE = str(Version(CURRENT_VERSION.major, CURRENT_VERSION.minor - 1))


@app.command()
def upgrade_diff(
    old: Annotated[str, typer.Option("--from", metavar="VERSION", help="The version that runs now.")] = BEFORE,
    new: Annotated[str, typer.Option("--to", metavar="VERSION", help="The one to upgrade to.")] = str(CURRENT_VERSION),
    kubeconfig: KubeconfigFile = "",
    manifests: ObjectFiles = None,
    at: Moment = "",
    config: ConfigFile = None,
    feature_gates: GateList = "",
    output: OutputFormat = Output.TEXT,
) -> None:
    """Say which pods of a cluster the newer version would place otherwise, or no longer, and by which change.

    Every pod is decided as if it were not placed yet, with the same configuration by both versions; nothing is changed
    in the cluster. Exit code 1 if there is any difference.
    """
    policy = policy_of(config, feature_gates, "", kubeconfig=kubeconfig, is_live=not manifests)
    before, after = (FeatureGates.parse(policy.feature_gates, emulated_version=version) for version in (old, new))
    if before.version >= after.version:
        raise ConfigurationError([f"--from {old} must be older than --to {new}"])
    objects = objects_of(manifests, kubeconfig, after, at=at)
    diff = find_out(objects, before, after, policy.config)
    typer.echo(json.dumps(as_data(diff), indent=2) if output is Output.JSON else as_text(diff))
    if diff.differences:
        raise typer.Exit(1)
