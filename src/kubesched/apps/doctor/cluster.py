"""A cluster, as somebody who wants to run kubesched in it would look at it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

import msgspec

from kubesched.apps.doctor.finding import Finding, State
from kubesched.apps.doctor.permissions import Permission, missing, to_read, to_schedule
from kubesched.apps.run.clients import choose_connection
from kubesched.apps.run.informers import ALWAYS_WATCHED
from kubesched.client.http_transport import HttpTransport
from kubesched.client.rest import RestClient
from kubesched.clock import Clock
from kubesched.config import KubeSchedulerConfiguration
from kubesched.config.versions import CURRENT_VERSION, OLDEST_EMULATED_VERSION, Version
from kubesched.errors import ApiStatusError, ClientError, ConfigurationError
from kubesched.objects import Lease, Pod

KUBE_SCHEDULER: Final = "kube-scheduler"
SYSTEM: Final = "kube-system"
SECONDS: Final = 10.0
MOST_NAMED: Final = 6


class _ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""
    major: str = ""
    minor: str = ""


async def look_at_cluster(kubeconfig: str, config: KubeSchedulerConfiguration, clock: Clock) -> list[Finding]:
    """Never raises because of the cluster: what is wrong with it is a finding."""
    try:
        connection = choose_connection(kubeconfig, clock)
    except ConfigurationError as error:
        advice = "name one with --kubeconfig, or start a cluster here: kubesched up"
        return [Finding("kubeconfig", State.PROBLEM, "; ".join(error.problems), advice)]
    findings = [Finding("kubeconfig", State.GOOD, f"leads to {connection.server}")]
    transport = HttpTransport(connection)
    try:
        rest = RestClient(transport, clock, Random(0), time_limit=SECONDS)  # noqa: S311 - for the jitter of retries
        findings += await _ask(rest, config, clock)
    except ClientError as error:
        findings.append(_refused(error))
    finally:
        await transport.close()
    return findings


async def _ask(rest: RestClient, config: KubeSchedulerConfiguration, clock: Clock) -> list[Finding]:
    started = clock.monotonic()
    server = msgspec.json.decode(await rest.call("GET", "/version", retries=0), type=_ServerVersion)
    milliseconds = 1000 * (clock.monotonic() - started)
    findings = [
        Finding("API server", State.GOOD, f"{server.git_version} answered within {milliseconds:.0f} ms"),
        _skew(server),
    ]
    election = config.leader_election
    lacking = await missing(rest, to_read(ALWAYS_WATCHED))
    findings.append(_allowed("may look", lacking, "explain, record, shadow, plan: bind deploy/record/rbac.yaml to you"))
    lacking += await missing(rest, to_schedule(election.resource_name, election.resource_namespace))
    findings.append(_allowed("may schedule", lacking, "run: kubesched config rbac FILE prints the roles it needs"))
    findings.append(await _leader(rest))
    findings.append(await _pending(rest, {profile.scheduler_name for profile in config.profiles}))
    return findings


def _refused(error: ClientError) -> Finding:
    if isinstance(error, ApiStatusError) and error.code == 401:
        return Finding("API server", State.PROBLEM, "it does not accept our credentials", "log in again")
    advice = "is it running, and is the address of the kubeconfig right?"
    return Finding("API server", State.PROBLEM, str(error), advice)


def _skew(server: _ServerVersion) -> Finding:
    known = f"{OLDEST_EMULATED_VERSION} to {CURRENT_VERSION}"
    minor = "".join(filter(str.isdigit, server.minor))
    if not server.major.isdigit() or not minor:
        return Finding("version", State.WARNING, f"not understood: {server.git_version!r}", f"known are {known}")
    version = Version(int(server.major), int(minor))
    if version < OLDEST_EMULATED_VERSION or version > CURRENT_VERSION:
        advice = "decisions are those of the nearest version that is known"
        return Finding("version", State.WARNING, f"{version} is not one of {known}", advice)
    flag = "" if version == CURRENT_VERSION else f"; to decide exactly as its own: --emulated-version={version}"
    return Finding("version", State.GOOD, f"{version}, one of {known}{flag}")


def _allowed(about: str, lacking: list[Permission], advice: str) -> Finding:
    if not lacking:
        return Finding(about, State.GOOD, "all permissions are there")
    more = f" and {len(lacking) - MOST_NAMED} more" if len(lacking) > MOST_NAMED else ""
    return Finding(about, State.WARNING, f"no right to {', '.join(map(str, lacking[:MOST_NAMED]))}{more}", advice)


async def _leader(rest: RestClient) -> Finding:
    try:
        lease = await rest.get(Lease, KUBE_SCHEDULER, SYSTEM)
    except ApiStatusError as error:
        if error.code == 404:
            return Finding("other scheduler", State.GOOD, f"nobody holds the lease {SYSTEM}/{KUBE_SCHEDULER}")
        return Finding("other scheduler", State.WARNING, f"not known: {error}", "may we get the lease?")
    holder = lease.spec.holder_identity
    if not holder:
        return Finding("other scheduler", State.GOOD, f"nobody holds the lease {SYSTEM}/{KUBE_SCHEDULER}")
    advice = "beside it, use a name of your own (deploy/second-scheduler), or first watch it: kubesched shadow"
    return Finding("other scheduler", State.GOOD, f"{holder} leads as {SYSTEM}/{KUBE_SCHEDULER}", advice)


async def _pending(rest: RestClient, ours: set[str]) -> Finding:
    try:
        pods = await rest.list_all(Pod)
    except ApiStatusError as error:
        return Finding("pending pods", State.WARNING, f"not known: {error}", "may we list pods?")
    waiting = Counter(
        pod.spec.scheduler_name for pod in pods if not pod.spec.node_name and not pod.spec.scheduling_gates
    )
    if not waiting:
        return Finding("pending pods", State.GOOD, f"none of {len(pods)} pods waits for a node")
    by_scheduler = ", ".join(f"{number} for {name}" for name, number in waiting.most_common(MOST_NAMED))
    state = State.GOOD if set(waiting) <= ours else State.WARNING
    advice = "kubesched explain NAMESPACE/POD says why"
    if state is State.WARNING:
        advice += f"; a scheduler that nobody runs under that name? this configuration is for {', '.join(sorted(ours))}"
    return Finding("pending pods", state, f"of {len(pods)} pods these wait for a node: {by_scheduler}", advice)
