"""Query parameters and delete bodies as options."""

from __future__ import annotations

from urllib.parse import parse_qsl

from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import DeleteOptions, ListOptions, WatchOptions, WriteOptions
from kubesched.cluster.apiserver.problems import Problem, forbidden, unsupported
from kubesched.cluster.apiserver.resource import Resource
from kubesched.cluster.apiserver.schema import conform
from kubesched.cluster.apiserver.selectors import parse_field_selector, parse_label_selector
from kubesched.objects.base import Json

Query = dict[str, str]


class _Options:
    """Options are refused in their own name."""

    def __init__(self, kind: str) -> None:
        self.group, self.kind, self.plural = "meta.k8s.io", kind, kind


def parse_query(raw: bytes) -> Query:
    return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True)) if raw else {}


def is_watch(query: Query) -> bool:
    return _flag(query, "watch") or False


def write_options(query: Query, user_agent: str = "") -> WriteOptions:
    """A writer that does not say who it is, is known by its user agent (`managerOrUserAgent` upstream)."""
    validation = query.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        problem = unsupported("fieldValidation", validation, ("Ignore", "Strict", "Warn"))
        raise status.invalid(_Options("CreateOptions"), "", [problem])
    return WriteOptions(
        dry_run=_dry_run(query),
        strict_fields=validation == "Strict",
        ignore_unknown_fields=validation == "Ignore",
        field_manager=query.get("fieldManager", "") or user_agent.partition("/")[0][:128],
        force=_flag(query, "force") or False,
    )


def list_options(query: Query, resource: Resource) -> ListOptions:
    _check_list(query, watch=False)
    return ListOptions(
        labels=parse_label_selector(query.get("labelSelector", "")),
        fields=parse_field_selector(query.get("fieldSelector", ""), resource.selectable),
        limit=max(_integer(query, "limit") or 0, 0),
        continue_token=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        version_match=query.get("resourceVersionMatch", ""),
    )


def watch_options(query: Query, resource: Resource, name: str = "") -> WatchOptions:
    _check_list(query, watch=True)
    fields = query.get("fieldSelector", "")
    if name:
        fields = f"metadata.name={name}"
    timeout = _integer(query, "timeoutSeconds")
    return WatchOptions(
        labels=parse_label_selector(query.get("labelSelector", "")),
        fields=parse_field_selector(fields, resource.selectable),
        version=query.get("resourceVersion", ""),
        send_initial=_flag(query, "sendInitialEvents"),
        bookmarks=_flag(query, "allowWatchBookmarks") or False,
        timeout=float(timeout) if timeout else None,
    )


def delete_options(query: Query, body: Json | None) -> DeleteOptions:
    """From the body if there is one, else from the query (`DeleteResource` upstream)."""
    if not body:
        grace = _integer(query, "gracePeriodSeconds")
        orphan = _flag(query, "orphanDependents")
        propagation = query.get("propagationPolicy", "")
        if orphan is not None and not propagation:
            propagation = "Orphan" if orphan else "Background"
        return DeleteOptions(grace_period=grace, propagation=propagation, dry_run=_dry_run(query))
    if body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise status.bad_request("decoded object cannot be converted to DeleteOptions")
    if wrong := conform("meta.v1.DeleteOptions", body).wrong:
        raise status.bad_request(wrong)
    preconditions = body.get("preconditions") or {}
    propagation = body.get("propagationPolicy") or ""
    if (orphan := body.get("orphanDependents")) is not None and not propagation:
        propagation = "Orphan" if orphan else "Background"
    return DeleteOptions(
        grace_period=body.get("gracePeriodSeconds"),
        propagation=propagation,
        uid=preconditions.get("uid") or "",
        version=preconditions.get("resourceVersion") or "",
        dry_run=bool(body.get("dryRun")) or _dry_run(query),
    )


def _check_list(query: Query, *, watch: bool) -> None:
    """`ValidateListOptions` upstream."""
    problems: list[Problem] = []
    match_kind = query.get("resourceVersionMatch", "")
    version, initial = query.get("resourceVersion", ""), _flag(query, "sendInitialEvents")
    if match_kind:
        if watch and initial is None:
            problems.append(
                forbidden(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                )
            )
        elif not watch and not version:
            problems.append(
                forbidden(
                    "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if query.get("continue"):
            problems.append(
                forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
            )
        if match_kind not in ("Exact", "NotOlderThan"):
            problems.append(unsupported("resourceVersionMatch", match_kind, ("Exact", "NotOlderThan", "")))
        if match_kind == "Exact" and version == "0":
            problems.append(
                forbidden("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
            )
    if initial is not None and watch and match_kind != "NotOlderThan":
        problems.append(
            forbidden("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        )
    if initial is not None and not watch:
        problems.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if problems:
        raise status.invalid(_Options("ListOptions"), "", problems)


def _dry_run(query: Query) -> bool:
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise status.invalid(_Options("CreateOptions"), "", [unsupported("dryRun", [value], ("All",))])
    return bool(value)


def _flag(query: Query, key: str) -> bool | None:
    value = query.get(key)
    if value is None:
        return None
    return value.lower() not in ("0", "false")  # as Go reads it: also `?watch` without a value is true


def _integer(query: Query, key: str) -> int | None:
    value = query.get(key)
    if not value:
        return None
    try:
        return int(value)
    except ValueError:
        raise status.bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None
