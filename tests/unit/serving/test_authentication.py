"""Who asks: proxies, certificates, tokens, nobody."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import Headers

from kubesched.clock import SystemClock, VirtualClock
from kubesched.serving.authentication import CREDENTIAL_ID_KEY, Authenticator
from kubesched.serving.trust import CaBundle, ClientTrust, RequestHeaderTrust
from kubesched.serving.users import ANONYMOUS

if TYPE_CHECKING:
    from tests.unit.serving.conftest import Authority, FakeReviews


@pytest.fixture
def trust(cluster_ca: Authority, proxy_ca: Authority) -> ClientTrust:
    return ClientTrust(
        client_ca=CaBundle.parse(cluster_ca.pem, "test"),
        request_header=RequestHeaderTrust(
            authorities=CaBundle.parse(proxy_ca.pem, "test"),
            allowed_names=("front-proxy-client",),
            username_headers=("X-Remote-User",),
            uid_headers=("X-Remote-Uid",),
            group_headers=("X-Remote-Group",),
            extra_headers_prefix=("X-Remote-Extra-",),
        ),
    )


@pytest.fixture
def authenticator(trust: ClientTrust, reviews: FakeReviews) -> Authenticator:
    return Authenticator(trust=trust, reviews=reviews, token_cache_ttl=timedelta(seconds=10), clock=SystemClock())


async def test_without_credentials_a_request_is_anonymous(authenticator: Authenticator) -> None:
    """Authorization then decides what nobody in particular may see."""
    assert await authenticator.authenticate(Headers({}), None) == ANONYMOUS


async def test_a_client_certificate_names_user_and_groups(authenticator: Authenticator, cluster_ca: Authority) -> None:
    """Common name and organizations, as everywhere in Kubernetes."""
    shown = cluster_ca.issue("ann", organizations=("system:masters", "devs"))
    user = await authenticator.authenticate(Headers({}), shown.der)
    assert user is not None
    assert (user.name, user.groups) == ("ann", ("system:masters", "devs", "system:authenticated"))
    assert user.extra[CREDENTIAL_ID_KEY][0].startswith("X509SHA256=")


async def test_certificates_that_do_not_hold_are_refused(
    authenticator: Authenticator, cluster_ca: Authority, proxy_ca: Authority
) -> None:
    """Expired since the connection began, signed by a stranger of the same name, or a proxy that names no user."""
    stranger = type(cluster_ca)("kubernetes").issue("ann")
    refused = [cluster_ca.issue("ann", expired=True), stranger, proxy_ca.issue("front-proxy-client")]
    assert [await authenticator.authenticate(Headers({}), shown.der) for shown in refused] == [None, None, None]


async def test_a_front_proxy_speaks_for_its_user(authenticator: Authenticator, proxy_ca: Authority) -> None:
    """Groups may repeat, extra keys are unescaped and in lower case."""
    headers = Headers(
        raw=[
            (b"x-remote-user", b"eve"),
            (b"x-remote-uid", b"42"),
            (b"x-remote-group", b"a"),
            (b"x-remote-group", b"b"),
            (b"x-remote-extra-acme.com%2fproject", b"p1"),
        ]
    )
    user = await authenticator.authenticate(headers, proxy_ca.issue("front-proxy-client").der)
    assert user is not None
    assert (user.name, user.uid, user.groups) == ("eve", "42", ("a", "b", "system:authenticated"))
    assert user.extra == {"acme.com/project": ("p1",)}


async def test_a_proxy_of_another_name_may_not_speak_for_users(
    authenticator: Authenticator, proxy_ca: Authority, cluster_ca: Authority
) -> None:
    """Nor may an ordinary client with a certificate of the cluster: its own name counts, not the header."""
    headers = Headers({"x-remote-user": "root"})
    assert await authenticator.authenticate(headers, proxy_ca.issue("somebody").der) is None
    user = await authenticator.authenticate(headers, cluster_ca.issue("ann").der)
    assert user is not None
    assert user.name == "ann"


async def test_a_token_is_reviewed_by_the_api_server(authenticator: Authenticator, reviews: FakeReviews) -> None:
    """The scheme's name is not case-sensitive."""
    user = await authenticator.authenticate(Headers({"authorization": "bearer good"}), None)
    assert user is not None
    assert (user.name, user.uid, user.groups) == ("ann", "7", ("devs", "system:authenticated"))
    assert await authenticator.authenticate(Headers({"authorization": "Bearer bad"}), None) is None
    for nothing in ("Bearer", "Bearer ", "bearer  good", "Basic good", ""):  # the token is what follows one space
        assert await authenticator.authenticate(Headers({"authorization": nothing}), None) == ANONYMOUS
    assert await authenticator.authenticate(Headers({"authorization": "Basic x"}), None) == ANONYMOUS
    assert reviews.specs == [{"token": "good"}, {"token": "bad"}]


async def test_answers_about_tokens_are_remembered_for_a_while(reviews: FakeReviews) -> None:
    """Good and bad answers for the flag's time; failures not at all."""
    clock = VirtualClock()
    authenticator = Authenticator(
        trust=ClientTrust(), reviews=reviews, token_cache_ttl=timedelta(seconds=10), clock=clock
    )
    headers = Headers({"authorization": "Bearer good"})
    reviews.failing = True
    assert await authenticator.authenticate(headers, None) is None
    reviews.failing = False
    await asyncio.gather(*(authenticator.authenticate(headers, None) for _ in range(5)))
    assert len(reviews.asked) == 2
    clock.tick(9)
    await authenticator.authenticate(headers, None)
    assert len(reviews.asked) == 2
    clock.tick(2)
    await authenticator.authenticate(headers, None)
    assert len(reviews.asked) == 3
