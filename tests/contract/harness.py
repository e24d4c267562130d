"""Contract scenarios: requests as data, sent to any API server, answers brought into a comparable form."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import string
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import yaml

HERE: Final = Path(__file__).parent
MEDIA: Final = {
    "json": "application/json",
    "yaml": "application/yaml",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "jsonpatch": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
    "table": "application/json;as=Table;v=v1;g=meta.k8s.io",
    "metadata": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "metadatalist": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
}
# Given by the machine and the moment, not by the contract.
_RANDOM: Final = {
    "uid": "UID",
    "resourceVersion": "VERSION",
    "creationTimestamp": "TIME",
    "deletionTimestamp": "TIME",
    "lastTransitionTime": "TIME",
    "clusterIP": "ADDRESS",
    "controller-uid": "UID",
    "batch.kubernetes.io/controller-uid": "UID",
}
# Real servers add these through admission plugins and controllers that the embedded cluster does without.
_IGNORED: Final = frozenset({"serviceAccount", "serviceAccountName", "storageVersionHash", "selfLink"})


_MOST_TRIES: Final = 1000


@dataclass(frozen=True)
class Step:
    method: str
    path: str
    body: Any = None
    content: str = "json"
    accept: str = "json"
    events: int = 0  # of a watch: how many to read
    save: dict[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()  # paths of the answer that differ on purpose; the scenario says why
    # Of an `await`, which is asked again until the answer has these values at these paths, and is not compared:
    # kube-apiserver's admission reads caches, which take notice of what was just written a moment later.
    until: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Answer:
    code: int
    body: Any


def load_scenarios() -> list[Scenario]:
    return [
        Scenario(f"{path.stem}: {item['id']}", tuple(_step(step) for step in item["steps"]))
        for path in sorted(HERE.glob("scenarios/*.yaml"))
        for item in yaml.safe_load(path.read_text())["scenarios"]
    ]


def _step(source: dict[str, Any]) -> Step:
    method, _, path = source.pop("await" if "await" in source else "do").partition(" ")
    return Step(method, path, ignore=tuple(source.pop("ignore", ())), **source)


class Client:
    """A plain HTTP client: what it sends is what the scenario says."""

    def __init__(self, address: str, token: str = "") -> None:
        where = urlsplit(address)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._secure = where.scheme == "https"
        self._host, self._port = where.hostname or "", where.port
        self._connection = self._connect()

    def run(self, scenario: Scenario, namespace: str) -> list[Answer]:
        """All answers, comparable. The namespace is made first and is named like the scenario's own objects."""
        self.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        known = {"ns": namespace}
        answers = []
        for step in scenario.steps:
            code, value = self._do(step, known)
            if step.until:
                self._wait(step, value, known)
                continue
            for name, where in step.save.items():
                known[name] = str(_at(value, where))
            answers.append(Answer(code, normalised(value, known, step.ignore)))
        return answers

    def _do(self, step: Step, known: dict[str, str]) -> tuple[int, Any]:
        path = absolute(_fill(step.path, known), known["ns"])
        body = _fill(step.body, known)
        return self.send(step.method, path, body, content=step.content, accept=step.accept, events=step.events)

    def _wait(self, step: Step, value: Any, known: dict[str, str]) -> None:
        wanted = _fill(step.until, known)
        for _ in range(_MOST_TRIES):
            if all(_at(value, path) == item for path, item in wanted.items()):
                return
            time.sleep(0.02)  # noqa: TID251 waits for another program
            _, value = self._do(step, known)
        raise TimeoutError(f"{step.method} {step.path} never answered {wanted}, but {value}")

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "json",
        accept: str = "json",
        events: int = 0,
    ) -> tuple[int, Any]:
        headers = self._headers | {"Accept": MEDIA.get(accept, accept)}
        payload = None
        if body is not None:
            payload = body if isinstance(body, str) else json.dumps(body)
            headers["Content-Type"] = MEDIA.get(content, content)
        self._connection.request(method, quote(path, safe="/?&=%,()!.~+-:"), payload, headers)
        response = self._connection.getresponse()
        if events and response.status == 200:
            lines = [json.loads(response.readline()) for _ in range(events)]
            self._connection.close()
            self._connection = self._connect()
            return response.status, lines
        text = response.read()
        try:
            return response.status, json.loads(text)
        except ValueError:
            return response.status, text.decode()

    def _connect(self) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=120)
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=120, context=context)

    def close(self) -> None:
        self._connection.close()


def absolute(path: str, namespace: str) -> str:
    """`pods/x` is in the scenario's namespace, `apps/v1/deployments` too; a leading slash is the path itself."""
    if path.startswith("/"):
        return path
    parts = path.split("/")
    if parts[0].endswith(".k8s.io") or parts[0] in ("apps", "autoscaling", "batch", "policy"):
        return f"/apis/{parts[0]}/{parts[1]}/namespaces/{namespace}/{'/'.join(parts[2:])}"
    return f"/api/v1/namespaces/{namespace}/{path}"


def _fill(value: Any, known: dict[str, str]) -> Any:
    """`$name` in strings stands for what was saved; `$ns` for the namespace."""
    if isinstance(value, str):
        return string.Template(value).safe_substitute(known)
    if isinstance(value, dict):
        return {_fill(key, known): _fill(item, known) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, known) for item in value]
    return value


def _at(value: Any, path: str) -> Any:
    """The value at `a.b.0`; None where there is none."""
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value.get(key)
        if value is None:
            break
    return value


def normalised(value: Any, known: dict[str, str], ignore: tuple[str, ...] = ()) -> Any:
    for path in ignore:
        _drop(value, path.split("."))
    cleaned = _clean(value, known)
    return {} if cleaned is None else cleaned


def _drop(value: Any, path: list[str]) -> None:
    if isinstance(value, list):
        if path[0].isdecimal():
            value[int(path[0])] = None
            return
        for item in value:
            _drop(item, path[1:] if path[0] == "*" else path)
    elif isinstance(value, dict):
        if len(path) == 1:
            value.pop(path[0], None)
        elif path[0] in value:
            _drop(value[path[0]], path[1:])


def _clean(value: Any, known: dict[str, str]) -> Any:
    """Without what is random or empty: an empty field and an absent one say the same in Go."""
    if isinstance(value, dict):
        cleaned = {
            key: _RANDOM[key] if key in _RANDOM and item else _clean(item, known)
            for key, item in value.items()
            if key not in _IGNORED
        }
        if applied := [item for item in value.get("managedFields") or () if item["operation"] == "Apply"]:
            # Real servers track every writer; the embedded one begins with the first apply.
            managers = {(item["manager"], item.get("subresource", "")): item["fieldsV1"] for item in applied}
            cleaned["managedFields"] = {f"{name} {part}": fields for (name, part), fields in managers.items()}
        else:
            cleaned.pop("managedFields", None)
        return {_text(key, known): item for key, item in cleaned.items() if item is not None} or None
    if isinstance(value, list):
        return [_clean(item, known) for item in value] or None
    if isinstance(value, str):
        return _text(value, known) or None
    return value


def _text(value: str, known: dict[str, str]) -> str:
    for name, text in known.items():
        value = value.replace(text, f"<{name}>") if len(text) > 2 else value
    if re.fullmatch(r"\d+s", value):
        return "AGE"
    value = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", value)
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", value)
