"""Which configuration the scheduler of a cluster runs with, as far as the cluster's objects say.

Schedulers are looked for where people run them: kubeadm's static pods, Deployments in kube-system, and anything that
goes by the labels of our manifests, of Kubernetes' own example or of the scheduler-plugins chart. The file behind their
`--config` is read if it is in a ConfigMap. A ConfigMap of kube-system that holds a KubeSchedulerConfiguration is the
last resort. Everything is only read, and a read that is forbidden is a scheduler that was not found.

Nothing that a cluster names is executed: plugins of one's own (`module:Class`) are left out, with a note.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import msgspec
import yaml

from kubesched.apps.inputs.live_cluster import connected
from kubesched.client.rest import RestClient
from kubesched.config import FeatureGates, load_config
from kubesched.config.model import KIND
from kubesched.config.versions import CURRENT_VERSION, OLDEST_EMULATED_VERSION, Version
from kubesched.errors import ApiStatusError, ClientError, ConfigurationError
from kubesched.scheduler.plugin_loading import is_installed, plugin_names

SYSTEM: Final = "kube-system"
LABELS: Final = ("component in (kube-scheduler,scheduler)", "app.kubernetes.io/name in (kubesched,kube-scheduler)")
PROGRAMS: Final = ("kube-scheduler", "kubesched")
FLAGS: Final = "flags"
"""The key beside a configuration in a ConfigMap for flags that matter to decisions: `kubesched up` writes it."""
MOST: Final = 100
"""Objects of a list: a cluster has few schedulers."""
DEFAULT_SCHEDULER: Final = "default-scheduler"
DEFAULT: Final = "default configuration"
NOT_FOUND: Final = f"{DEFAULT}: the cluster does not say which one its scheduler has; give that with --config"

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPolicy:
    """What a scheduler of the cluster decides by."""

    source: str
    """Which configuration that is, as in `configuration of the ConfigMap kube-system/kubesched (config.yaml)`."""
    config: str = ""
    """Its configuration as text; empty: the defaults."""
    feature_gates: str = ""
    emulated_version: str = ""
    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    notes: tuple[str, ...] = ()
    """What could not be found out or taken over."""


async def look_up_policy(kubeconfig: str, pod: str = "") -> FoundPolicy:
    """The policy of a pod's scheduler (`namespace/name`), or of the default one; the default policy if none is found.

    A cluster that does not answer is not reported here (the `source` is empty then): whoever asks it next will do so.
    ConfigurationError if there is no kubeconfig.
    """
    async with connected(kubeconfig) as rest:
        try:
            namespace, _, name = pod.partition("/")
            asked = await _get(rest, f"/api/v1/namespaces/{namespace}/pods/{name}") if pod else None
            scheduler_name = ((asked or {}).get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER
            return await find_policy(rest, scheduler_name) or FoundPolicy(source=NOT_FOUND)
        except ClientError:
            return FoundPolicy(source="")


async def find_policy(rest: RestClient, scheduler_name: str = DEFAULT_SCHEDULER) -> FoundPolicy | None:
    """The policy of the scheduler with a profile of this name; None if there is none to be found."""
    for look in (_of_pods, _of_config_maps):
        for found in await look(rest):
            if scheduler_name in found.scheduler_names:
                return found
    return None


async def _of_pods(rest: RestClient) -> list[FoundPolicy]:
    """Of schedulers that run in the cluster; replicas of one count once."""
    paths = [f"/api/v1/pods?limit={MOST}&labelSelector={quote(labels)}" for labels in LABELS]
    lists = await asyncio.gather(
        *(_items(rest, path) for path in paths),
        _items(rest, f"/apis/apps/v1/namespaces/{SYSTEM}/deployments?limit={MOST}"),
    )
    specs = [
        *((f"pod {_key(pod)}", _namespace(pod), pod.get("spec") or {}) for pods in lists[:-1] for pod in pods),
        *((f"Deployment {_key(each)}", _namespace(each), _template_spec(each)) for each in lists[-1]),
    ]
    found: dict[tuple[str, str, str, tuple[str, ...]], FoundPolicy] = {}
    for owner, namespace, spec in specs:
        for container in spec.get("containers") or ():
            policy = await _of_container(rest, owner, namespace, spec, container)
            if policy is not None:
                key = (policy.config, policy.feature_gates, policy.emulated_version, policy.scheduler_names)
                found.setdefault(key, policy)
    return list(found.values())


async def _of_container(
    rest: RestClient, owner: str, namespace: str, spec: Json, container: Json
) -> FoundPolicy | None:
    words = " ".join([*(container.get("command") or ()), *(container.get("args") or ())]).split()  # `sh -c` included
    is_shadow = words[:1] == ["shadow"] or words[1:2] == ["shadow"]
    path = _flag(words, "config")
    text, where = await _mounted_text(rest, namespace, spec, container, path) if path else ("", "")
    if is_shadow or (KIND not in text and not _is_scheduler(container, words)):
        return None
    gates, version, notes = _flags(words)
    version = version or _image_version(container)
    if not path:
        source = f"{DEFAULT}: {owner} runs without --config"
    elif text:
        source = f"configuration of the {where}, which {owner} runs with"
    else:
        notes += (f"{owner} runs with --config={path}, {where}: give a copy of it with --config",)
        source = DEFAULT
    if version:
        source += f", and decides as {version}"
    policy = FoundPolicy(source=source, config=text, feature_gates=gates, emulated_version=version, notes=notes)
    return _understood(policy)


async def _of_config_maps(rest: RestClient) -> list[FoundPolicy]:
    maps = await _items(rest, f"/api/v1/namespaces/{SYSTEM}/configmaps?limit={MOST}")
    found = []
    for config_map in maps:
        data = config_map.get("data") or {}
        gates, version, notes = _flags(str(data.get(FLAGS, "")).split())
        for key, text in data.items():
            if key != FLAGS and isinstance(text, str) and KIND in text:
                source = f"configuration of the ConfigMap {_key(config_map)} ({key})"
                found.append(
                    FoundPolicy(source=source, config=text, feature_gates=gates, emulated_version=version, notes=notes)
                )
    return [_understood(policy) for policy in found]


def _understood(policy: FoundPolicy) -> FoundPolicy:
    """The policy with the names of its profiles, as far as its configuration can be read here."""
    if not policy.config:
        return policy
    try:
        gates = FeatureGates.parse(policy.feature_gates, emulated_version=policy.emulated_version)
        config = load_config(policy.config, gates)
    except ConfigurationError as error:
        note = f"the {policy.source}, is not understood here: {error.problems[0]}"
        return replace(policy, source=DEFAULT, config="", notes=(*policy.notes, note))
    names = tuple(profile.scheduler_name for profile in config.profiles)
    policy = replace(policy, scheduler_names=names)
    if unknown := sorted(name for name in plugin_names(config) if ":" in name or not is_installed(name)):
        names_of = ", ".join(unknown)
        note = f"decided without the plugins {names_of}: none is loaded from a cluster; give the file with --config"
        policy = replace(policy, config=_without(policy.config, unknown), notes=(*policy.notes, note))
    if config.extenders:
        policy = replace(policy, notes=(*policy.notes, "its extenders are not asked"))
    return policy


def _without(text: str, plugins: Sequence[str]) -> str:
    """A configuration without some plugins."""
    document = yaml.safe_load(text)
    for profile in document.get("profiles") or ():
        for plugin_set in (profile.get("plugins") or {}).values():
            for side in ("enabled", "disabled"):
                if isinstance(plugin_set, dict) and plugin_set.get(side):
                    plugin_set[side] = [one for one in plugin_set[side] if one.get("name") not in plugins]
        if profile.get("pluginConfig"):
            profile["pluginConfig"] = [one for one in profile["pluginConfig"] if one.get("name") not in plugins]
    return yaml.safe_dump(document)


def _is_scheduler(container: Json, words: Sequence[str]) -> bool:
    image = PurePosixPath(str(container.get("image", "")).partition("@")[0]).name.partition(":")[0]
    programs = {PurePosixPath(word).name for word in words[:3]}
    return image in PROGRAMS or not programs.isdisjoint(PROGRAMS)


def _flags(words: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Feature gates and emulated version of a command line, and what cannot be followed of them."""
    gates, version = _flag(words, "feature-gates"), _flag(words, "emulated-version").rpartition("=")[2]
    try:
        FeatureGates.parse(gates, emulated_version=version)
    except ConfigurationError as error:
        return "", "", (f"its flags --feature-gates and --emulated-version are not followed: {error.problems[0]}",)
    return gates, version, ()


def _flag(words: Sequence[str], name: str) -> str:
    """The value of `--name=value` or `--name value`; empty if it is not given."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        flag, equals, value = word.partition("=")
        if flag == f"--{name}":
            return (value if equals else following).strip("'\"")
    return ""


def _image_version(container: Json) -> str:
    """The version of a kube-scheduler, by the tag of its image; empty if it is ours, or not one that is known."""
    tag = re.search(r"kube-scheduler[^/:]*:v?(\d+)\.(\d+)\.", str(container.get("image", "")))
    version = Version(int(tag[1]), int(tag[2])) if tag else CURRENT_VERSION
    return str(version) if OLDEST_EMULATED_VERSION <= version < CURRENT_VERSION else ""


async def _mounted_text(rest: RestClient, namespace: str, spec: Json, container: Json, path: str) -> tuple[str, str]:
    """The text of a container's file and the words for where it is; no text if it is not in a ConfigMap."""
    volume, within = _volume_at(spec, container, path)
    source = volume.get("configMap")
    if source is None:
        is_on_node = "hostPath" in volume
        return "", "a file on its node" if is_on_node else "a file that is not in a ConfigMap"
    name = source.get("name", "")
    keys = {item.get("path"): item.get("key") for item in source.get("items") or ()}
    key = keys.get(within, within)
    config_map = await _get(rest, f"/api/v1/namespaces/{namespace}/configmaps/{name}")
    text = ((config_map or {}).get("data") or {}).get(key, "")
    where = f"ConfigMap {namespace}/{name} ({key})"
    return text, where if text else f"in the {where}, which cannot be read"


def _volume_at(spec: Json, container: Json, path: str) -> tuple[Json, str]:
    """The volume that a path of a container is in, and the path within it."""
    mounts = sorted(container.get("volumeMounts") or (), key=lambda mount: -len(mount.get("mountPath", "")))
    for mount in mounts:
        at = PurePosixPath(mount.get("mountPath", "/"))
        if PurePosixPath(path).is_relative_to(at):
            within = PurePosixPath(mount.get("subPath", "")) / PurePosixPath(path).relative_to(at)
            by_name = {volume.get("name"): volume for volume in spec.get("volumes") or ()}
            return by_name.get(mount.get("name"), {}), str(within)
    return {}, ""


async def _items(rest: RestClient, path: str) -> list[Json]:
    found: list[Json] = ((await _get(rest, path)) or {}).get("items") or []
    return sorted(found, key=_key)


async def _get(rest: RestClient, path: str) -> Json | None:
    """An object or a list; None if we may not read it or it is not there."""
    plain, _, query = path.partition("?")
    try:
        answer = await rest.call("GET", plain, query=query, retries=0)
    except ApiStatusError as error:
        if error.code in (403, 404):
            return None
        raise
    return msgspec.json.decode(answer, type=dict[str, Any])


def _namespace(manifest: Json) -> str:
    return str((manifest.get("metadata") or {}).get("namespace", ""))


def _key(manifest: Json) -> str:
    return f"{_namespace(manifest)}/{(manifest.get('metadata') or {}).get('name', '')}"


def _template_spec(workload: Json) -> Json:
    spec: Json = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    return spec
