"""Manifests from files into the cluster, as `kubectl create` would bring them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from kubesched.cluster.apiserver.api import Api
from kubesched.errors import ConfigurationError, InvalidObjectError, RequestRefusedError
from kubesched.objects.base import Json
from kubesched.objects.manifests import read_documents

CREATE_AFTER: Final = "kubesched.io/create-after-seconds"
SET_BY_SERVER: Final = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink")


def read_manifests(path: Path) -> list[tuple[str, Json]]:
    """The objects of a file, or of all YAML and JSON files of a folder; ConfigurationError if there is a problem."""
    try:
        return list(read_documents(path))
    except InvalidObjectError as error:
        raise ConfigurationError([str(error)]) from error


def delay_of(manifest: Any) -> float:
    """Seconds after the start at which the object is to be created; 0 for almost all."""
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(CREATE_AFTER, "0") if isinstance(annotations, dict) else "0"
    try:
        return max(0.0, float(text))
    except ValueError as error:
        raise ConfigurationError([f"{CREATE_AFTER}: {text!r} is not a number of seconds"]) from error


def create_all(api: Api, manifests: Iterable[tuple[str, Json]]) -> None:
    """Create the objects in order; those that exist stay as they are. ConfigurationError names every bad one."""
    problems = []
    for where, manifest in manifests:
        try:
            _create(api, manifest)
        except RequestRefusedError as refusal:
            if refusal.reason != "AlreadyExists":
                problems.append(f"{where}: {refusal.message}")
        except InvalidObjectError as error:
            problems.append(f"{where}: {error}")
    if problems:
        raise ConfigurationError(problems)


def _create(api: Api, manifest: Any) -> None:
    if not isinstance(manifest, dict):
        raise InvalidObjectError("not an object")
    version, kind = manifest.get("apiVersion"), manifest.get("kind")
    resource = api.catalog.by_kind(str(version), str(kind))
    if resource is None:
        raise InvalidObjectError(f"no matches for kind {kind!r} in version {version!r}")
    metadata = manifest.get("metadata")
    namespace = ""
    if isinstance(metadata, dict):  # it may come from another cluster: kubectl get nodes -o yaml
        manifest["metadata"] = metadata = {key: metadata[key] for key in metadata if key not in SET_BY_SERVER}
        namespace = metadata.get("namespace", "")
    api.create(resource, manifest, (namespace or "default") if resource.namespaced else "")
