"""`kubesched config`: show, check and convert scheduler configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import yaml

from kubesched.apps.inputs.objects import read_standard_input
from kubesched.apps.inputs.traces import STANDARD_INPUT
from kubesched.cli.options import EmulatedVersion, GateList
from kubesched.config import FeatureGates, apply_defaults, default_config, dump_yaml, load_config
from kubesched.config.load import check_config, read_text, translate
from kubesched.config.model import KubeSchedulerConfiguration
from kubesched.config.providers import profile_of_provider
from kubesched.errors import ConfigurationError

app = typer.Typer(add_completion=False, help="Show, check and convert scheduler configurations.")

ConfigFile = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A KubeSchedulerConfiguration or an old Policy, YAML or JSON; - is stdin."),
]


@app.command()
def default(feature_gates: GateList = "", emulated_version: EmulatedVersion = "") -> None:
    """Print the configuration of a scheduler that is started without a file."""
    gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
    _print(default_config(gates))


@app.command()
def validate(file: ConfigFile, feature_gates: GateList = "", emulated_version: EmulatedVersion = "") -> None:
    """Check a configuration and load its plugins; every problem is one line, and the exit code is 1 if there is any."""
    from kubesched.apps.run.trial import likely_mistakes, try_out  # not at the top: other commands need no scheduler

    gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
    config, folder = load_config(_read(file), gates), None if file == "-" else Path(file).absolute().parent
    try_out(config, gates, folder)
    if mistakes := likely_mistakes(config, folder):
        raise ConfigurationError(mistakes)
    typer.echo(f"{_name(file)} is valid", err=True)


@app.command()
def show(file: ConfigFile, feature_gates: GateList = "", emulated_version: EmulatedVersion = "") -> None:
    """Print a configuration as the scheduler sees it, defaults included."""
    _print(_load(file, feature_gates, emulated_version))


@app.command()
def rbac(
    file: ConfigFile,
    service_account: Annotated[
        str, typer.Option("--service-account", metavar="NAMESPACE/NAME", help="Who runs the scheduler.")
    ] = "kube-system/kubesched",
    feature_gates: GateList = "",
    emulated_version: EmulatedVersion = "",
) -> None:
    """Print the RBAC that a configuration needs: kube-scheduler's roles, the lease, and what plugins read and write."""
    from kubesched.apps.run.rbac import rbac_manifests
    from kubesched.apps.run.trial import try_out

    namespace, separator, name = service_account.partition("/")
    if not (namespace and separator and name):
        raise ConfigurationError([f"--service-account must be NAMESPACE/NAME, not {service_account!r}"])
    gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
    config, folder = load_config(_read(file), gates), None if file == "-" else Path(file).absolute().parent
    manifests = rbac_manifests(config, try_out(config, gates, folder), namespace, name)
    typer.echo(yaml.safe_dump_all(manifests, sort_keys=False), nl=False)


@app.command()
def convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An old configuration or Policy; - is stdin.")] = "",
    algorithm_provider: Annotated[
        str, typer.Option("--algorithm-provider", metavar="NAME", help="DefaultProvider or ClusterAutoscalerProvider.")
    ] = "",
) -> None:
    """Translate a Policy file, or the name of an old algorithm provider, to a KubeSchedulerConfiguration."""
    if bool(file) == bool(algorithm_provider):
        raise ConfigurationError(["give either a FILE or --algorithm-provider"])
    if algorithm_provider:
        _print(KubeSchedulerConfiguration(profiles=(profile_of_provider(algorithm_provider),)))
        return
    translation = translate(_read(file))
    gates = FeatureGates()
    check_config(apply_defaults(translation.config, gates), gates)  # what would not start is no help
    for note in translation.notes:
        typer.echo(f"note: {note}", err=True)
    _print(translation.config)


def _load(file: str, feature_gates: str, emulated_version: str) -> KubeSchedulerConfiguration:
    gates = FeatureGates.parse(feature_gates, emulated_version=emulated_version)
    return load_config(_read(file), gates)


def _read(file: str) -> str:
    return read_standard_input() if file == "-" else read_text(Path(file))


def _name(file: str) -> str:
    return STANDARD_INPUT if file == "-" else file


def _print(config: KubeSchedulerConfiguration) -> None:
    typer.echo(dump_yaml(config), nl=False)
