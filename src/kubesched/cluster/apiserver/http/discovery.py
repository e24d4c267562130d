"""Discovery: which groups, versions and resources are served, plain and aggregated."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.catalog import Catalog
from kubesched.cluster.apiserver.http.answers import Answer, json_answer
from kubesched.cluster.apiserver.http.negotiation import Form
from kubesched.cluster.apiserver.resource import Resource
from kubesched.objects.base import Json

VERSION: Final = "v1.37.1"
_AGGREGATED: Final = b"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    """The catalog as discovery documents. They never change while the server runs."""

    def __init__(self, catalog: Catalog, address: str) -> None:
        self._groups = catalog.groups()
        self._address = address

    def answer(self, path: str, form: Form) -> Answer | None:
        """The document at that path, or None when there is none."""
        parts = path.strip("/").split("/")
        match parts:
            case ["api"]:
                if form is Form.GROUP_DISCOVERY:
                    return json_answer(self._aggregated(core=True), content_type=_AGGREGATED)
                return json_answer(self._core_versions())
            case ["apis"]:
                if form is Form.GROUP_DISCOVERY:
                    return json_answer(self._aggregated(core=False), content_type=_AGGREGATED)
                groups = [self._group(name) for name in self._groups if name]
                return json_answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
            case ["api", version] if version in self._groups[""]:
                return json_answer(_resource_list(version, self._groups[""][version]))
            case ["apis", group] if group and group in self._groups:
                return json_answer({"kind": "APIGroup", "apiVersion": "v1"} | self._group(group))
            case ["apis", group, version] if version in self._groups.get(group, ()) and group:
                return json_answer(_resource_list(f"{group}/{version}", self._groups[group][version]))
        return None

    def _core_versions(self) -> Json:
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}]
        return {"kind": "APIVersions", "versions": list(self._groups[""]), "serverAddressByClientCIDRs": addresses}

    def _group(self, name: str) -> Json:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._groups[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _aggregated(self, *, core: bool) -> Json:
        items = [
            {
                "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
                "versions": [
                    {
                        "version": version,
                        "resources": [_aggregated_resource(item) for item in resources],
                        "freshness": "Current",
                    }
                    for version, resources in versions.items()
                ],
            }
            for group, versions in self._groups.items()
            if (not group) == core
        ]
        head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
        return head | {"items": items}


def version_info() -> Json:
    return {
        "major": "1",
        "minor": "37",
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "kubesched",
        "emulationMajor": "1",
        "emulationMinor": "37",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "36",
    }


def _resource_list(group_version: str, resources: list[Resource]) -> Json:
    listed = []
    for item in resources:
        listed.append(_plain_resource(item))
        for part in item.subresources:
            gvk = {"group": part.group, "version": part.version} if part.group else {}
            name = {"name": f"{item.plural}/{part.name}", "singularName": "", "namespaced": item.namespaced}
            listed.append(name | gvk | {"kind": part.kind, "verbs": list(part.verbs)})
    listed.sort(key=lambda entry: str(entry["name"]))
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _plain_resource(item: Resource) -> Json:
    value: Json = {
        "name": item.plural,
        "singularName": item.singular,
        "namespaced": item.namespaced,
        "kind": item.kind,
        "verbs": list(item.verbs),
    }
    if item.short_names:
        value["shortNames"] = list(item.short_names)
    if item.categories:
        value["categories"] = list(item.categories)
    return value


def _aggregated_resource(item: Resource) -> Json:
    value: Json = {
        "resource": item.plural,
        "responseKind": {"group": item.group, "version": item.version, "kind": item.kind},
        "scope": "Namespaced" if item.namespaced else "Cluster",
        "singularResource": item.singular,
        "verbs": list(item.verbs),
    }
    if item.short_names:
        value["shortNames"] = list(item.short_names)
    if item.categories:
        value["categories"] = list(item.categories)
    if item.subresources:
        value["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": {
                    "group": part.group or item.group,
                    "version": part.version or item.version,
                    "kind": part.kind,
                },
                "verbs": list(part.verbs),
            }
            for part in item.subresources
        ]
    return value
