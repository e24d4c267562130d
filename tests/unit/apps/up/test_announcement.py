"""What the embedded cluster's scheduler says about itself in kube-system."""

from __future__ import annotations

from pathlib import Path

from kubesched.apps.inputs.live_cluster import connected
from kubesched.apps.inputs.scheduler_policy import find_policy
from kubesched.apps.up.announcement import Announcement
from kubesched.clock import VirtualClock
from kubesched.cluster.apiserver.server import ApiServer
from kubesched.config import FeatureGates, default_config
from kubesched.config.dump import dump_yaml
from kubesched.objects import Lease


async def test_lease_and_configuration(tmp_path: Path) -> None:
    """The lease is renewed, the configuration written when it changes, and `explain` finds it with its flags."""
    server = ApiServer()
    await server.start()
    server.write_kubeconfig(tmp_path / "kubeconfig")
    text = dump_yaml(default_config(FeatureGates.parse("", emulated_version="1.36")))
    clock = VirtualClock()
    try:
        async with connected(str(tmp_path / "kubeconfig")) as rest:
            announcement = Announcement(
                rest, clock, identity="us", flags="--emulated-version=1.36", configuration=lambda: text
            )
            await announcement.publish()
            found = await find_policy(rest)
            assert found is not None
            assert (found.config, found.emulated_version) == (text, "1.36")
            first = await rest.get(Lease, "kube-scheduler", "kube-system")
            text += "# changed\n"
            clock.tick(3.0)
            await announcement.publish()
            second = await rest.get(Lease, "kube-scheduler", "kube-system")
            assert second.spec.holder_identity == "us"
            assert first.spec.acquire_time == second.spec.acquire_time
            assert first.spec.renew_time is not None
            assert second.spec.renew_time is not None
            assert (second.spec.renew_time - first.spec.renew_time).total_seconds() == 3
            again = await find_policy(rest)
            assert again is not None
            assert again.config == text
    finally:
        await server.stop()
