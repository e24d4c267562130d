"""`kubesched run`: schedule the pods of a cluster, with kube-scheduler's flags and configuration file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kubesched.cli.flags import read_run_flags_or_exit
from kubesched.errors import ConfigurationError
from kubesched.telemetry.logging import adopt_library_logs, log

if TYPE_CHECKING:
    from kubesched.apps.run.lifecycle import RunSettings
    from kubesched.cli.run_flags.options import RunOptions
    from kubesched.config import KubeSchedulerConfiguration

app = typer.Typer(add_completion=False)

# Flags are read as Go's pflag reads them, not as Click does: they come through untouched.
_RAW = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(context_settings=_RAW, add_help_option=False)
def run_scheduler(context: typer.Context) -> None:
    """Schedule the pods of a cluster, with kube-scheduler's flags and configuration file."""
    options = read_run_flags_or_exit(context.args)
    log.configure(options.logs)
    adopt_library_logs(log)
    config = effective_config(options)
    for warning in options.warnings():
        log.warning(warning)
    if options.write_config_to:
        _write_config(options.write_config_to, config, options)
        return
    from kubesched.apps.run.lifecycle import run  # not at the top: --help and --version must not wait for it

    raise typer.Exit(run(settings_of(options, config)))


def effective_config(options: RunOptions) -> KubeSchedulerConfiguration:
    """The configuration file, or the defaults, with what the flags change; ConfigurationError with every problem."""
    from kubesched.config import complete_config, default_config
    from kubesched.config.load import check_config, read_text

    gates = options.feature_gates
    if options.config_file:
        config = complete_config(read_text(Path(options.config_file)), gates)
    else:
        config = default_config(gates)
    config = options.apply_to(config)
    check_config(config, gates)
    return config


def settings_of(options: RunOptions, config: KubeSchedulerConfiguration) -> RunSettings:
    from kubesched.apps.run.lifecycle import RunSettings
    from kubesched.apps.run.serving import EndpointOptions

    return RunSettings(
        config=config,
        gates=options.feature_gates,
        master=options.master,
        endpoints=EndpointOptions(
            serving=options.serving, authentication=options.authentication, authorization=options.authorization
        ),
        metric_policy=options.metric_policy,
        flags=options.flags.shown(),
        max_unschedulable=options.pod_max_in_unschedulable_pods_duration,
        plugin_folder=_plugin_folder(options),
        read_config=(lambda: effective_config(options)) if options.config_file else None,
        follows_files=options.reload,
        plugin_budget=options.plugin_time_budget,
        plugin_failure_limit=options.plugin_failure_limit,
        page=options.page,
    )


def _plugin_folder(options: RunOptions) -> Path | None:
    return Path(options.config_file).absolute().parent if options.config_file else None


def _write_config(file: str, config: KubeSchedulerConfiguration, options: RunOptions) -> None:
    """As kube-scheduler does, only what a scheduler can be made of is written: people use the flag as a check."""
    from kubesched.apps.run.trial import try_out
    from kubesched.config import dump_yaml

    try_out(config, options.feature_gates, _plugin_folder(options))
    try:
        Path(file).write_text(dump_yaml(config))
    except OSError as error:
        raise ConfigurationError([f"--write-config-to: {file}: {error.strerror}"]) from error
    log.info("Wrote configuration", file=file)
