"""Random clusters in which a plugin finds what it looks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import msgspec

from kubesched.apps.plugin.steps import Ask, PlacePod, PodSpec, Publish, RemoveNode, RemovePod, SetNode, SetObject, Step
from kubesched.objects import KIND_OF
from kubesched.objects.quantity import Quantity

NODES: Final = ("a", "b", "c", "d")
COMMON_LABELS: Final = ("topology.kubernetes.io/zone", "app", "team")
COMMON_VALUES: Final = ("x", "y", "true", "5")
STEPS: Final = 16


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """What steps are made of."""

    words: Sequence[str]
    kinds: Sequence[type] = ()
    """That the plugin has informers of."""
    urls: Sequence[str] = ()
    """That it fetches."""


def random_steps(random: Random, vocabulary: Vocabulary) -> list[Step]:
    """Some nodes, then changes and questions in turns; the last step is a question."""
    maker = _Maker(random, vocabulary)
    steps: list[Step] = [maker.node(name) for name in NODES[: random.randint(1, len(NODES))]]
    pods = [maker.pod() for _ in range(3)]
    asks = (Ask(name="p", pod=random.choice(pods)) for _ in range(STEPS + 1))
    steps += (maker.change(number, pods) if random.random() < 0.5 else next(asks) for number in range(STEPS))
    return [*steps, next(asks)]


class _Maker:
    def __init__(self, random: Random, vocabulary: Vocabulary) -> None:
        self._random = random
        self._vocabulary = vocabulary
        self._keys = [*vocabulary.words, *COMMON_LABELS]
        self._values = [*vocabulary.words, *COMMON_VALUES]
        self._resources = [word for word in vocabulary.words if "/" in word][:3]

    def node(self, name: str) -> SetNode:
        random = self._random
        taints = tuple(key for key in self._keys if random.random() < 0.05)
        offers = {"cpu": random.choice(("1", "4", "16")), "memory": random.choice(("4Gi", "8Gi"))}
        offers |= {resource: str(random.randrange(4)) for resource in self._resources if random.random() < 0.3}
        return SetNode(name=name, labels=self._labels(), taints=taints, resources=offers)

    def pod(self) -> PodSpec:
        random = self._random
        requests = {"cpu": random.choice(("100m", "1", "2"))} if random.random() < 0.7 else {}
        requests |= {resource: "1" for resource in self._resources if random.random() < 0.2}
        return PodSpec(
            labels=self._labels(),
            annotations=self._labels() if random.random() < 0.3 else {},
            namespace=random.choice(("default", "default", "other")),
            requests=requests,
            tolerations=tuple(key for key in self._keys if random.random() < 0.1),
            priority=random.choice((0, 0, 100)),
        )

    def change(self, number: int, pods: Sequence[PodSpec]) -> Step:
        random, vocabulary = self._random, self._vocabulary
        choices = ["node", "node", "place", "place", "place", "end", "gone"]
        choices += ["object"] * 3 if vocabulary.kinds else []
        choices += ["publish"] * 2 if vocabulary.urls else []
        match random.choice(choices):
            case "node":
                return self.node(random.choice(NODES))
            case "place":
                return PlacePod(name=f"q{number}", node=random.choice(NODES), pod=random.choice(pods))
            case "end":
                return RemovePod(name=f"q{random.randrange(STEPS)}")
            case "gone":
                return RemoveNode(name=random.choice(NODES))
            case "object":
                return self._object(random.choice(vocabulary.kinds))
        return Publish(url=random.choice(vocabulary.urls), content={name: random.randrange(101) for name in NODES})

    def _object(self, struct: type) -> SetObject:
        kind = KIND_OF[struct]
        names = [*NODES, *self._values]
        content = {f.encode_name: self._value(f.type) for f in _fields(struct) if f.name != "metadata"}
        namespace = self._random.choice(("default", "other")) if kind.namespaced else ""
        return SetObject(kind=kind.name, name=self._random.choice(names), namespace=namespace, content=content)

    def _value(self, type_: Any) -> Any:
        """A random value of a field's type, as JSON has it; None where that is beyond us: it stays at its default."""
        random, info = self._random, type_
        match info:
            case msgspec.inspect.BoolType():
                return random.random() < 0.5
            case msgspec.inspect.IntType():
                return random.choice((0, 1, 50, 100, 1000))
            case msgspec.inspect.FloatType():
                return random.choice((0.0, 0.5, 100.0))
            case msgspec.inspect.StrType():
                return random.choice(self._values)
            case msgspec.inspect.StructType():
                inner = {f.encode_name: self._value(f.type) for f in info.fields}
                return {name: value for name, value in inner.items() if value is not None}
            case msgspec.inspect.DictType() if isinstance(info.value_type, msgspec.inspect.StrType):
                return self._labels()
            case msgspec.inspect.CustomType() if info.cls is Quantity:
                return random.choice(("0", "1", "500m", "2Gi"))
        return None

    def _labels(self) -> Mapping[str, str]:
        random = self._random
        return {key: random.choice(self._values) for key in self._keys if random.random() < 0.35}


def _fields(struct: type) -> tuple[msgspec.inspect.Field, ...]:
    info = msgspec.inspect.type_info(struct)
    assert isinstance(info, msgspec.inspect.StructType)
    return info.fields


def random_nodes(random: Random, vocabulary: Vocabulary, count: int) -> list[SetNode]:
    """As many as one likes, with room for some pods each."""
    maker = _Maker(random, vocabulary)
    return [replace(maker.node(f"n{number}"), taints=()) for number in range(count)]


def random_pods(random: Random, vocabulary: Vocabulary, count: int) -> list[PodSpec]:
    """Kinds of pods that fit on most nodes."""
    maker = _Maker(random, vocabulary)
    return [replace(maker.pod(), requests={"cpu": "100m"}) for _ in range(count)]
