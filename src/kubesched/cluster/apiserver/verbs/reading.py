"""Get and list, with selectors, pages and versions."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from kubesched.clock import Clock
from kubesched.cluster.apiserver import status
from kubesched.cluster.apiserver.options import ListOptions
from kubesched.cluster.apiserver.resource import Resource, Stored
from kubesched.cluster.apiserver.storage import Bucket, CompactedError, Entry, Store


class Page(NamedTuple):
    """What a list found: entries in order, the version that they are of, and how to go on."""

    entries: Sequence[Entry]
    version: int
    continue_token: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct, array_like=True):
    version: int
    namespace: str
    name: str


class Reader:
    """`stored` gives the objects of a resource by its qualified name, for resources that are derived from others."""

    def __init__(self, store: Store, stored: Stored, clock: Clock) -> None:
        self._store = store
        self._stored = stored
        self._clock = clock

    def bucket(self, resource: Resource) -> Bucket:
        return self._store.bucket(resource.bucket_name, resource.read_fields)

    def get(self, resource: Resource, name: str, namespace: str = "") -> Entry:
        if resource.derivation is not None:
            found = next(self._derived(resource, namespace, name), None)
        else:
            found = self.bucket(resource).get(namespace, name)
        if found is None:
            raise status.not_found(resource, name)
        return found

    def list(self, resource: Resource, namespace: str = "", options: ListOptions | None = None) -> Page:
        options = options or ListOptions()
        if resource.derivation is not None:
            return _page(list(self._derived(resource, namespace)), self._store.version, None, options)
        bucket = self.bucket(resource)
        after: tuple[str, str] | None = None
        version = self._store.version
        if options.continue_token:
            token = _decode_token(options.continue_token)
            after = (token.namespace, token.name)
            version = token.version
            entries: Sequence[Entry] = self._entries_at(bucket, token.version, namespace, continued=True)
        elif options.version_match == "Exact":
            version = self._exact_version(options)
            entries = self._entries_at(bucket, version, namespace, continued=False)
        else:
            self._check_version(options.version)
            entries = bucket.in_order(namespace)
        return _page(entries, version, after, options)

    def _derived(self, resource: Resource, namespace: str, name: str = "") -> Iterator[Entry]:
        assert resource.derivation is not None
        for value in resource.derivation.objects(self._stored, namespace, name, self._clock.time()):
            metadata = value["metadata"]
            yield Entry(
                namespace=metadata.get("namespace", ""),
                name=metadata["name"],
                version=self._store.version,
                raw=msgspec.json.encode(value),
                labels=metadata.get("labels", {}),
                fields=resource.read_fields(value),
            )

    def _exact_version(self, options: ListOptions) -> int:
        wanted = parse_version(options.version)
        if wanted > self._store.version:
            raise status.too_large_version(wanted, self._store.version)
        return wanted

    def _check_version(self, text: str) -> None:
        wanted = parse_version(text)
        if wanted > self._store.version:
            raise status.too_large_version(wanted, self._store.version)

    def _entries_at(self, bucket: Bucket, version: int, namespace: str, *, continued: bool) -> Sequence[Entry]:
        try:
            return bucket.in_order_at(version, namespace)
        except CompactedError as error:
            if continued:
                message = (
                    "The provided continue parameter is too old to display a consistent list result. "
                    "You must start a new list without the continue parameter."
                )
                raise status.expired(message) from error
            raise status.expired(f"The resourceVersion for the provided list is too old. ({error})") from error


def parse_version(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal()):
        message = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise status.bad_request(f"resourceVersion: {message}")
    return int(text)


def _page(entries: Sequence[Entry], version: int, after: tuple[str, str] | None, options: ListOptions) -> Page:
    if after is not None:
        entries = [entry for entry in entries if entry.key > after]
    if options.labels.requirements:
        entries = [entry for entry in entries if options.labels.matches(entry.labels)]
    if options.fields.requirements:
        entries = [entry for entry in entries if options.fields.matches(entry.fields)]
    if not options.limit or len(entries) <= options.limit:
        return Page(entries, version)
    shown, last = entries[: options.limit], entries[options.limit - 1]
    remaining = None if options.labels.requirements or options.fields.requirements else len(entries) - options.limit
    return Page(shown, version, _encode_token(_Token(version, *last.key)), remaining)


def _encode_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode_token(text: str) -> _Token:
    try:
        padded = text + "=" * (-len(text) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise status.bad_request(f"continue key is not valid: {text}") from error
