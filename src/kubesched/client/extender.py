"""HTTP extenders: webhooks that filter, score, bind and choose victims besides the plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from kubesched.client.connection import Connection, TLSOptions
from kubesched.client.credentials import Credential, CredentialSource, FileCredentials, FixedCredentials, read_file
from kubesched.client.extender_wire import (
    FilterResult,
    MetaVictims,
    binding_args,
    node_args,
    parse_binding_error,
    parse_filter_result,
    parse_preemption_result,
    parse_priorities,
    preemption_args,
)
from kubesched.client.http_transport import HttpTransport
from kubesched.client.transport import Transport
from kubesched.clock import Clock
from kubesched.config.model import Extender, ExtenderTLSConfig
from kubesched.errors import ConfigurationError, ExtenderError, TransportError
from kubesched.objects import Node, Pod
from kubesched.scheduler.framework import Victims

DEFAULT_TIMEOUT: Final = timedelta(seconds=5)

R = TypeVar("R")


class HTTPExtender:
    """One extender. Every call raises ExtenderError where it fails; whether that matters, `is_ignorable` says."""

    def __init__(self, config: Extender, transport: Transport) -> None:
        self._config = config
        self._transport = transport
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    @property
    def name(self) -> str:
        return self._config.url_prefix

    @property
    def weight(self) -> int:
        return self._config.weight

    @property
    def is_ignorable(self) -> bool:
        """Whether scheduling goes on without an answer."""
        return self._config.ignorable

    @property
    def is_filter(self) -> bool:
        return bool(self._config.filter_verb)

    @property
    def is_prioritizer(self) -> bool:
        return bool(self._config.prioritize_verb)

    @property
    def is_binder(self) -> bool:
        return bool(self._config.bind_verb)

    @property
    def supports_preemption(self) -> bool:
        return bool(self._config.preempt_verb)

    @property
    def ignored_resources(self) -> frozenset[str]:
        """Resources that only the extender checks: the fit filter skips them."""
        return frozenset(resource.name for resource in self._config.managed_resources if resource.ignored_by_scheduler)

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod asks for a resource that this extender manages; with none named, it wants every pod."""
        if not self._managed:
            return True
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return any(
            not self._managed.isdisjoint(container.resources.requests)
            or not self._managed.isdisjoint(container.resources.limits)
            for container in containers
        )

    async def filter(self, pod: Pod, nodes: Sequence[Node]) -> FilterResult:
        """The nodes that remain, of those given, and why the others do not."""
        if not self.is_filter:
            return FilterResult(fitting=tuple(node.metadata.name for node in nodes))
        by_name = self._config.node_cache_capable
        body = await self._send(self._config.filter_verb, node_args(pod, nodes, names_only=by_name))
        result = self._read(body, lambda data: parse_filter_result(data, prefer_names=by_name))
        if result.error:
            raise ExtenderError(result.error, extender=self.name)
        offered = {node.metadata.name for node in nodes}
        for name in result.fitting:
            if name not in offered:
                problem = f'extender "{self.name}" claims a filtered node "{name}" which is not found'
                raise ExtenderError(f"{problem} in the input node list", extender=self.name)
        return result

    async def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Scores from 0 to 10 by node name, not weighted yet; zeros without a verb."""
        if not self.is_prioritizer:
            return dict.fromkeys((node.metadata.name for node in nodes), 0)
        args = node_args(pod, nodes, names_only=self._config.node_cache_capable)
        body = await self._send(self._config.prioritize_verb, args)
        return self._read(body, parse_priorities)

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], pods_on_node: Callable[[str], Sequence[Pod]]
    ) -> dict[str, Victims]:
        """The candidates that the extender agrees to, with the victims that it wants.

        `pods_on_node` gives the pods of a node as we know them; KeyError for a node that we do not know.
        """
        if not self.supports_preemption:
            problem = f"preempt verb is not defined for extender {self.name} but run into ProcessPreemption"
            raise ExtenderError(problem, extender=self.name)
        args = preemption_args(pod, victims, names_only=self._config.node_cache_capable)
        answer = self._read(await self._send(self._config.preempt_verb, args), parse_preemption_result)
        return {node: self._victims(node, chosen, pods_on_node) for node, chosen in answer.items()}

    def _victims(self, node: str, chosen: MetaVictims, pods_on_node: Callable[[str], Sequence[Pod]]) -> Victims:
        try:
            known = {pod.metadata.uid: pod for pod in pods_on_node(node)}
        except KeyError as error:
            raise ExtenderError(f'nodeinfo not found for node name "{node}"', extender=self.name) from error
        pods = []
        for uid in chosen.pod_uids:
            if uid not in known:
                claim = f"extender: {self.name} claims to preempt pod (UID: {uid}) on node: {node}"
                raise ExtenderError(f"{claim}, but the pod is not found on that node", extender=self.name)
            pods.append(known[uid])
        return Victims(tuple(pods), chosen.pdb_violations)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Let the extender bind the pod."""
        if not self.is_binder:
            raise ExtenderError("unexpected empty bindVerb in extender", extender=self.name)
        body = await self._send(self._config.bind_verb, binding_args(pod, node_name))
        problem = self._read(body, parse_binding_error)
        if problem:
            raise ExtenderError(problem, extender=self.name)

    async def _send(self, verb: str, body: bytes) -> bytes:
        time_limit = (self._config.http_timeout or DEFAULT_TIMEOUT).total_seconds()
        try:
            response = await self._transport.request("POST", f"/{verb}", body=body, time_limit=time_limit)
        except TransportError as error:
            raise ExtenderError(str(error), extender=self.name) from error
        if response.status != 200:
            url = f"{self.name.rstrip('/')}/{verb}"
            problem = f"failed {verb} with extender at URL {url}, code {response.status}"
            raise ExtenderError(problem, extender=self.name)
        return response.body

    def _read(self, body: bytes, parse: Callable[[bytes], R]) -> R:
        try:
            return parse(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ExtenderError(
                f"extender {self.name} answered what does not decode: {error}", extender=self.name
            ) from error


def extender_connection(config: Extender, clock: Clock) -> Connection:
    """How to reach an extender: its TLS settings; with HTTPS and no CA, unverified, as upstream's makeTransport."""
    tls = config.tls_config
    if tls is None:
        return Connection(server=config.url_prefix.rstrip("/"), tls=TLSOptions(insecure=config.enable_https))
    ca_pem = tls.ca_data or (read_file(Path(tls.ca_file)) if tls.ca_file else b"")
    if tls.insecure and ca_pem:
        problem = "specifying a root certificates file with the insecure flag is not allowed"
        raise ConfigurationError([f"extender {config.url_prefix}: {problem}"])
    return Connection(
        server=config.url_prefix.rstrip("/"),
        tls=TLSOptions(
            ca_pem=ca_pem, insecure=tls.insecure or (config.enable_https and not ca_pem), server_name=tls.server_name
        ),
        credentials=_certificate(tls, clock),
    )


def _certificate(tls: ExtenderTLSConfig, clock: Clock) -> CredentialSource:
    fixed = Credential(client_pem=b"\n".join(part for part in (tls.cert_data, tls.key_data) if part))
    certificate = Path(tls.cert_file) if tls.cert_file and not tls.cert_data else None
    key = Path(tls.key_file) if tls.key_file and not tls.key_data else None
    if certificate is None and key is None:
        return FixedCredentials(fixed)
    return FileCredentials(clock, certificate_file=certificate, key_file=key, fixed=fixed)


def connect_extender(config: Extender, clock: Clock) -> HTTPExtender:
    """An extender of the configuration, ready to be called."""
    return HTTPExtender(config, HttpTransport(extender_connection(config, clock)))
