"""Another configuration, or other versions of plugins, for a scheduler that runs: nothing of a pod's way is lost."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from random import Random
from typing import Any, ClassVar

import pytest

from kubesched import Simulation
from kubesched.errors import ConfigurationError
from kubesched.framework import (
    SUCCESS,
    WAIT,
    CustomObject,
    CustomResource,
    FilterPlugin,
    Handle,
    NodeInfo,
    PermitPlugin,
    Plugin,
    PodInfo,
    PreEnqueuePlugin,
    ScorePlugin,
    Status,
)
from kubesched.objects import Node, Pod
from kubesched.testing import make_node, make_pod

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def config(*plugins: str, more: str = "", names: tuple[str, ...] = ("default-scheduler",)) -> str:
    enabled = ", ".join(f"{{name: {name}}}" for name in plugins)
    profiles = "\n".join(f"- {{schedulerName: {n}, plugins: {{multiPoint: {{enabled: [{enabled}]}}}}}}" for n in names)
    return f"{HEAD}{more}profiles:\n{profiles}\n"


class Never(FilterPlugin):
    name = "Never"

    def filter(self, state: Any, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable("never")

    def events_to_register(self) -> tuple[()]:
        return ()


class Gate(PreEnqueuePlugin):
    name = "Gate"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        return Status.unschedulable("closed")


class Hold(PermitPlugin):
    name = "Hold"

    def permit(self, state: Any, pod: Pod, node_name: str) -> tuple[Status, float]:
        return WAIT, 600


class LetGo(PermitPlugin):
    """Another version of Hold: the next pod frees those that wait."""

    name = "Hold"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._handle = handle

    def permit(self, state: Any, pod: Pod, node_name: str) -> tuple[Status, float]:
        for waiting in self._handle.waiting_pods():
            waiting.allow(self.name)
        return SUCCESS, 0


def test_pods_of_a_plugin_that_is_gone_are_tried_again() -> None:
    """No event would wake them: nobody is left who registered any."""
    with Simulation(config("Never"), plugins={"Never": Never}) as simulation:
        simulation.add(make_node("n"), make_pod("p"))
        assert simulation.schedule() == {"default/p": None}
        simulation.reload(config())
        assert simulation.advance(2) == {"default/p": "n"}


def test_pods_that_were_placed_stay_and_count() -> None:
    """What is taken of a node is known to the new configuration's plugins."""
    with Simulation() as simulation:
        simulation.add(make_node("n", cpu="1"), make_pod("p", cpu="600m"))
        simulation.schedule()
        simulation.reload(config())
        simulation.add(make_pod("q", cpu="600m"))
        assert simulation.schedule() == {"default/p": "n", "default/q": None}


def test_a_gate_comes_and_goes() -> None:
    with Simulation() as simulation:
        simulation.add(make_pod("p"))
        simulation.reload(config("Gate"), plugins={"Gate": Gate})
        simulation.add(make_node("n"))
        assert simulation.schedule() == {"default/p": None}
        simulation.reload(config())
        assert simulation.advance(2) == {"default/p": "n"}


def test_pods_that_wait_on_permit_keep_their_node() -> None:
    """A new version of the plugin that holds them finds them, and lets them go."""
    with Simulation(config("Hold"), plugins={"Hold": Hold}) as simulation:
        simulation.add(make_node("n", cpu="2"), make_pod("p", cpu="1"))
        assert simulation.schedule() == {"default/p": None}
        simulation.reload(config("Hold"), plugins={"Hold": LetGo})
        assert simulation.schedule() == {"default/p": None}
        simulation.add(make_pod("q", cpu="1"))
        assert simulation.schedule() == {"default/p": "n", "default/q": "n"}


def test_who_waits_for_a_plugin_that_is_gone_waits_no_longer() -> None:
    with Simulation(config("Hold"), plugins={"Hold": Hold}) as simulation:
        simulation.add(make_node("n"), make_pod("p"))
        assert simulation.schedule() == {"default/p": None}
        simulation.reload(config())
        assert simulation.schedule() == {"default/p": "n"}


def test_a_nomination_stays() -> None:
    """Room was made for a pod: a pod of lower priority does not take it after the reload, either."""
    with Simulation() as simulation:
        simulation.add(make_node("n", cpu="1"), make_pod("victim", cpu="1", priority=0))
        simulation.schedule()
        simulation.add(make_pod("urgent", cpu="1", priority=100))
        simulation.schedule()
        assert simulation.preemptions[0].victim.metadata.name == "victim"
        simulation.reload(config("Hold"), plugins={"Hold": LetGo})
        simulation.add(make_pod("late", cpu="1", priority=1))
        placed = simulation.advance(5)
        assert (placed["default/urgent"], placed["default/late"]) == ("n", None)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        pytest.param(config("Unknown"), "Unknown", id="an unknown plugin"),
        pytest.param(f"{HEAD}podMaxBackoffSeconds: -1\n", "podMaxBackoffSeconds", id="an invalid field"),
        pytest.param("{", "YAML", id="no YAML"),
    ],
)
def test_a_broken_version_changes_nothing(broken: str, problem: str) -> None:
    with Simulation(config("Never"), plugins={"Never": Never}) as simulation:
        simulation.add(make_node("n"), make_pod("p"))
        simulation.schedule()
        with pytest.raises(ConfigurationError, match=problem):
            simulation.reload(broken)
        simulation.add(make_pod("q"))
        assert simulation.advance(400) == {"default/p": None, "default/q": None}
        assert "never" in simulation.why("default/q")


class Counting(ScorePlugin):
    name = "Counting"
    made: ClassVar[Counter[str]] = Counter()
    taken: ClassVar[list[tuple[Plugin, Plugin]]] = []

    def __init__(self, args: Any, handle: Handle) -> None:
        self.made[type(self).__name__] += 1

    def take_over(self, previous: Plugin) -> None:
        self.taken.append((previous, self))

    def score(self, state: Any, pod: Pod, node: NodeInfo) -> int:
        return 0


class Newer(Counting): ...


class Refuses(Counting):
    def take_over(self, previous: Plugin) -> None:
        raise RuntimeError("not like this")


def test_a_plugin_that_has_not_changed_stays() -> None:
    """The same object, with all it knows; another version takes over from it."""
    Counting.made.clear()
    Counting.taken.clear()
    with Simulation(config("Counting"), plugins={"Counting": Counting}) as simulation:
        simulation.reload(config("Counting", more="podMaxBackoffSeconds: 20\n"), plugins={"Counting": Counting})
        assert Counting.made == {"Counting": 1}
        simulation.reload(config("Counting"), plugins={"Counting": Newer})
        assert Counting.made == {"Counting": 1, "Newer": 1}
        [(previous, plugin)] = Counting.taken
        assert (type(previous), type(plugin)) == (Counting, Newer)
        with pytest.raises(ConfigurationError, match="plugin Counting: take_over: RuntimeError: not like this"):
            simulation.reload(config("Counting"), plugins={"Counting": Refuses})


def test_profiles_come_and_go() -> None:
    """Pods of a scheduler's name are taken up when there is a profile for it, and left alone when there is not."""
    with Simulation() as simulation:
        simulation.add(make_pod("p", scheduler="other"))
        simulation.add(make_node("n"))
        assert simulation.schedule() == {"default/p": None}
        simulation.reload(config(names=("default-scheduler", "other")))
        assert simulation.schedule() == {"default/p": "n"}
        simulation.reload(config(names=("other",)))
        simulation.add(make_pod("q"), make_pod("r", scheduler="other"))
        assert simulation.schedule() == {"default/p": "n", "default/q": None, "default/r": "n"}


def test_volumes_that_are_assumed_do_not_change_hands() -> None:
    changed = HEAD + "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 7}}]}]\n"
    with Simulation() as simulation, pytest.raises(ConfigurationError, match="VolumeBinding change with a restart"):
        simulation.reload(changed)


class Ticket(CustomObject):
    resource = CustomResource("example.com/v1", "tickets", namespaced=False)


class TicketAgain(CustomObject):
    """What another version of a plugin's module declares: another class."""

    resource = CustomResource("example.com/v1", "tickets", namespaced=False, kind="Ticket")


def needs(kind: type[CustomObject]) -> type[Plugin]:
    class Needs(FilterPlugin):
        name = "Needs"

        def __init__(self, args: Any, handle: Handle) -> None:
            self._tickets = handle.informer(kind)

        def filter(self, state: Any, pod: Pod, node: NodeInfo) -> Status | None:
            return None if self._tickets.get(node.name) else Status.unschedulable("no ticket")

    return Needs


def test_objects_of_a_plugins_kind_are_known_to_its_next_version() -> None:
    with Simulation(config("Needs"), plugins={"Needs": needs(Ticket)}) as simulation:
        simulation.load("{apiVersion: example.com/v1, kind: Ticket, metadata: {name: n}}")
        simulation.reload(config("Needs"), plugins={"Needs": needs(TicketAgain)})
        assert simulation.kinds_of_plugins == (TicketAgain,)
        simulation.add(make_node("n"), make_pod("p"))
        assert simulation.schedule() == {"default/p": "n"}


def test_nothing_of_old_versions_stays() -> None:
    """Plugins, and what they subscribed to, are gone after a reload."""

    def version() -> type[Plugin]:
        class Subscribes(ScorePlugin):
            name = "Subscribes"

            def __init__(self, args: Any, handle: Handle) -> None:
                handle.objects.of(Node).subscribe(self._changed)

            def _changed(self, old: Node | None, new: Node | None) -> None: ...

            def score(self, state: Any, pod: Pod, node: NodeInfo) -> int:
                return 1

        return Subscribes

    with Simulation(config("Subscribes"), plugins={"Subscribes": version()}) as simulation:
        simulation.add(make_node("n"))
        seen = []
        for number in range(5):
            made = version()
            seen.append(weakref.ref(made))
            simulation.reload(config("Subscribes"), plugins={"Subscribes": made})
            simulation.add(make_pod(f"p{number}"))
            simulation.schedule()
            del made
        simulation.add(make_node("n", labels={"a": "b"}))
        gc.collect()
        assert [ref() is not None for ref in seen] == [False, False, False, False, True]


@pytest.mark.parametrize("seed", range(8))
def test_reloads_at_any_moment_lose_nobody(seed: int) -> None:
    """Pods come, wait, are held back and preempted while configurations change: each ends in one place, all fit in."""
    random = Random(seed)
    policies: list[tuple[str, dict[str, Any]]] = [
        (config(), {}),
        (config("Never"), {"Never": Never}),
        (config("Gate"), {"Gate": Gate}),
        (config("Hold"), {"Hold": Hold}),
        (config("Hold"), {"Hold": LetGo}),
        (config(more="podInitialBackoffSeconds: 3\n"), {}),
    ]
    with Simulation(seed=seed) as simulation:
        simulation.add(*(make_node(f"n{number}", cpu="4", pods=30) for number in range(6)))
        for number in range(120):
            cpu, priority = random.choice(("100m", "500m")), random.choice((0, 0, 0, 10))
            simulation.add(make_pod(f"p{number}", cpu=cpu, priority=priority))
            match random.randrange(4):
                case 0:
                    policy, plugins = random.choice(policies)
                    simulation.reload(policy, plugins=plugins)
                case 1:
                    simulation.schedule()
                case 2:
                    simulation.advance(random.random() * 5)
            _check(simulation)
        simulation.reload(config())
        simulation.settle(retry=True)
        _check(simulation)
        waiting = [pod for pod, node in simulation.placements().items() if node is None]
        assert len(simulation.placements()) + len(simulation.preemptions) == 120
        for pod in waiting:
            assert "Insufficient cpu" in simulation.why(pod)


def _check(simulation: Simulation) -> None:
    """Every pod without a node is in exactly one place, and no node is overcommitted."""
    assembled = simulation._assembled
    queued = Counter(q.uid for _, q in assembled.queue.waiting())
    queued.update(pod.metadata.uid for pod in assembled.queue.in_flight_pods())
    pending = [pod for pod in simulation.objects(Pod) if not pod.spec.node_name]
    assert queued == Counter(pod.metadata.uid for pod in pending)
    assert not [node.name for node in simulation.nodes() if node.free["cpu"] < 0]
