"""The process's HTTPS endpoints: the port is taken first of all, and given back last."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kubesched.apps.run.clients import SERVICE_HOST, Clients, Reviews, choose_connection
from kubesched.client.request_metrics import RequestMetrics
from kubesched.clock import Clock
from kubesched.config.model import ClientConnectionConfiguration
from kubesched.serving.app import Pages, build_app
from kubesched.serving.authentication import Authenticator
from kubesched.serving.authorization import AuthorizationOptions, Authorizer
from kubesched.serving.server import SecureServer, ServingOptions, bind
from kubesched.serving.tls import ServingCertificates
from kubesched.serving.trust import CONFIG_MAP_NAME, CONFIG_MAP_NAMESPACE, AuthenticationOptions, TrustLoader
from kubesched.telemetry.logging import log

# Strangers' requests wait for these calls: a high limit (DelegatingAuthenticationOptions.getClient).
REVIEW_LIMITS: Final = ClientConnectionConfiguration(qps=200, burst=400)


@dataclass(frozen=True, kw_only=True)
class EndpointOptions:
    """What the flags say about serving and about who may ask."""

    serving: ServingOptions = field(default_factory=ServingOptions)
    authentication: AuthenticationOptions = field(default_factory=AuthenticationOptions)
    authorization: AuthorizationOptions = field(default_factory=AuthorizationOptions)


class Endpoints:
    """Made with the port taken (ConfigurationError if it is not free); `serve` answers until `stop`."""

    def __init__(self, options: EndpointOptions, clock: Clock, random: Random, observer: RequestMetrics) -> None:
        self._options = options
        self._clock = clock
        self._random = random
        self._observer = observer
        self._certificates = ServingCertificates(options.serving.tls, clock)
        self._clients: list[Clients] = []
        self._server: SecureServer | None = None
        self._listener: socket.socket = bind(options.serving)

    async def serve(self, pages: Pages) -> None:
        options = self._options
        authentication = self._reviews(options.authentication.kubeconfig, "authentication")
        authorization = self._reviews(options.authorization.kubeconfig, "authorization")
        trust = TrustLoader(options.authentication, _config_map_reader(authentication))
        authenticator = Authenticator(
            trust=await trust.load(),
            reviews=authentication,
            token_cache_ttl=options.authentication.token_cache_ttl,
            clock=self._clock,
        )
        authorizer = Authorizer(options.authorization, reviews=authorization, clock=self._clock)
        self._server = SecureServer(
            listener=self._listener,
            certificates=self._certificates,
            authenticator=authenticator,
            trust_loader=trust,
            clock=self._clock,
        )
        app = build_app(pages, authenticator=authenticator, authorizer=authorizer, clock=self._clock, log=log)
        await self._server.serve(app)

    def stop(self) -> None:
        """Ask `serve` to end: no new connections, open requests finish."""
        if self._server is not None:
            self._server.stop()

    async def close(self) -> None:
        """Give everything back, whether it ever served or not."""
        self._listener.close()
        for clients in self._clients:
            await clients.close()

    def _reviews(self, kubeconfig: str, purpose: str) -> Reviews | None:
        """Asks the API server about users; None outside a cluster and without a kubeconfig."""
        if not kubeconfig and SERVICE_HOST not in os.environ:
            log.warning(f"No {purpose}-kubeconfig provided, so the API server is not asked about {purpose}")
            return None
        connection = choose_connection(kubeconfig, self._clock, observer=self._observer)
        clients = Clients(connection, REVIEW_LIMITS, self._clock, self._random, self._observer)
        self._clients.append(clients)
        return Reviews(clients.main)


def _config_map_reader(reviews: Reviews | None) -> Callable[[], Awaitable[Mapping[str, str]]] | None:
    if reviews is None:
        return None
    return lambda: reviews.config_map(CONFIG_MAP_NAMESPACE, CONFIG_MAP_NAME)
