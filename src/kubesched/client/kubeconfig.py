"""Kubeconfig files as kubectl reads them: `KUBECONFIG` lists, merging, contexts, relative paths.

What is wrong comes as one `ConfigurationError` whose lines name the file and the field.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from kubesched.errors import ConfigurationError
from kubesched.objects.yaml_text import load_yaml, yaml_problem

KUBECONFIG_VARIABLE: Final = "KUBECONFIG"


class ConfigEntry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A part of a kubeconfig. Fields that we do not know are skipped, as kubectl does."""


class NamedExtension(ConfigEntry, frozen=True):
    name: str
    extension: Any = None


class Cluster(ConfigEntry, frozen=True):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[NamedExtension, ...] = ()


class ExecEnvVar(ConfigEntry, frozen=True):
    name: str = ""
    value: str = ""


class ExecConfig(ConfigEntry, frozen=True, rename="camel"):
    """How to run a credential plugin."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecEnvVar, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class User(ConfigEntry, frozen=True):
    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: tuple[str, ...] = msgspec.field(name="as-groups", default=())
    impersonate_extra: dict[str, tuple[str, ...]] = msgspec.field(name="as-user-extra", default_factory=dict)
    username: str = ""
    password: str = ""
    auth_provider: Any = None
    exec: ExecConfig | None = None


class Context(ConfigEntry, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(ConfigEntry, frozen=True):
    name: str = ""
    cluster: Cluster = Cluster()


class _NamedUser(ConfigEntry, frozen=True):
    name: str = ""
    user: User = User()


class _NamedContext(ConfigEntry, frozen=True):
    name: str = ""
    context: Context = Context()


class _File(ConfigEntry, frozen=True):
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()
    current_context: str = ""


class Kubeconfig(msgspec.Struct, frozen=True, kw_only=True):
    """One or more merged files; paths in it are absolute. `files` are those that were read."""

    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    current_context: str = ""
    files: tuple[str, ...] = ()

    def select(self, context_name: str = "") -> tuple[Cluster, User, Context]:
        """The cluster and user of a context (the current one unless named); ConfigurationError where one is missing."""
        name = context_name or self.current_context
        where = ", ".join(self.files) or "kubeconfig"
        if not name:
            raise ConfigurationError([f"{where}: current-context is not set"])
        context = self.contexts.get(name)
        if context is None:
            raise ConfigurationError([f'{where}: context "{name}" does not exist'])
        problems = []
        if context.cluster not in self.clusters:
            problems.append(f'{where}: cluster "{context.cluster}" of context "{name}" does not exist')
        if context.user and context.user not in self.users:
            problems.append(f'{where}: user "{context.user}" of context "{name}" does not exist')
        if problems:
            raise ConfigurationError(problems)
        return self.clusters[context.cluster], self.users.get(context.user, User()), context


def load(explicit_path: str = "", *, environ: Mapping[str, str] = os.environ) -> Kubeconfig:
    """The explicit file alone, or else the files of `KUBECONFIG`, or else `~/.kube/config`.

    An explicit file must exist; of a list, missing files are skipped, as long as one is there.
    """
    if explicit_path:
        return merge([_read(Path(explicit_path))])
    listed = environ.get(KUBECONFIG_VARIABLE, "")
    paths = [Path(part) for part in dict.fromkeys(listed.split(os.pathsep)) if part]
    if not paths:
        paths = [Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"]
    existing = [path for path in paths if path.exists()]
    if not existing:
        raise ConfigurationError([f"no kubeconfig found: {', '.join(map(str, paths))} does not exist"])
    return merge([_read(path) for path in existing])


def merge(configs: Sequence[Kubeconfig]) -> Kubeconfig:
    """The first file that names a cluster, user, context or current context wins; entries are never mixed."""
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    for config in configs:
        _add_missing(clusters, config.clusters)
        _add_missing(users, config.users)
        _add_missing(contexts, config.contexts)
    return Kubeconfig(
        clusters=clusters,
        users=users,
        contexts=contexts,
        current_context=next((config.current_context for config in configs if config.current_context), ""),
        files=tuple(file for config in configs for file in config.files),
    )


_V = TypeVar("_V")


def _add_missing(into: dict[str, _V], more: Mapping[str, _V]) -> None:
    for name, value in more.items():
        into.setdefault(name, value)


def _read(path: Path) -> Kubeconfig:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise ConfigurationError([f"cannot read kubeconfig {path}: {reason}"]) from error
    try:
        document = load_yaml(text, _Loader)
        # null stands for "not set", as in Go.
        file = msgspec.convert(_without_nulls(document or {}), _File)
    except yaml.YAMLError as error:
        raise ConfigurationError([f"kubeconfig {path}: {yaml_problem(error)}"]) from error
    except msgspec.ValidationError as error:
        raise ConfigurationError([f"kubeconfig {path}: {_with_plain_path(str(error))}"]) from error
    folder = path.absolute().parent
    return Kubeconfig(
        clusters=_first_of_each({entry.name: _cluster_paths(entry.cluster, folder)} for entry in file.clusters),
        users=_first_of_each({entry.name: _user_paths(entry.user, folder)} for entry in file.users),
        contexts=_first_of_each({entry.name: entry.context} for entry in file.contexts),
        current_context=file.current_context,
        files=(str(path),),
    )


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # chosen at run time
    """The C loader where PyYAML has it; times stay strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _first_of_each(entries: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for entry in entries:
        _add_missing(merged, entry)
    return merged


def _cluster_paths(cluster: Cluster, folder: Path) -> Cluster:
    return msgspec.structs.replace(cluster, certificate_authority=_absolute(cluster.certificate_authority, folder))


def _user_paths(user: User, folder: Path) -> User:
    plugin = user.exec
    if plugin is not None and os.sep in plugin.command:  # a bare name is looked up in PATH
        plugin = msgspec.structs.replace(plugin, command=_absolute(plugin.command, folder))
    return msgspec.structs.replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=plugin,
    )


def _absolute(path: str, folder: Path) -> str:
    return str(folder / path) if path else ""


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _with_plain_path(message: str) -> str:
    """msgspec's message with the path in front, as a reader of the file counts it."""
    problem, _, path = message.partition(" - at `$")
    return f"{path.strip('.`')}: {problem}" if path else problem
