"""Whether a class can be a plugin: what is wrong with it would else be found only when the first pod comes.

There are two kinds of findings. `check_plugin` raises for what cannot work: methods that are missing, that cannot be
called as the scheduler calls them, or that are `async` where nobody awaits them. `suspicious_names` finds what is
probably a mistake: a name like one that the scheduler looks for. Only `kubesched config validate` asks for these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from inspect import Parameter, getattr_static, getsourcefile, getsourcelines, iscoroutinefunction, signature, unwrap
from types import FunctionType
from typing import Any, Final

from kubesched.errors import ConfigurationError
from kubesched.scheduler.framework import EXTENSION_POINTS, BindPlugin, DependsOn, Plugin, points_served

METHODS: Final = {
    "preEnqueue": ("pre_enqueue",),
    "queueSort": ("sort_key",),
    "preFilter": ("pre_filter",),
    "filter": ("filter", "filter_nodes"),
    "postFilter": ("post_filter",),
    "preScore": ("pre_score",),
    "score": ("score", "score_nodes"),
    "reserve": ("reserve",),
    "permit": ("permit",),
    "preBind": ("pre_bind",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
    "podGroupPostFilter": ("pod_group_post_filter",),
    "placementGenerate": ("generate_placements",),
    "placementScore": ("score_placement",),
}
"""What a class that serves a point has to define: one of these."""

SIMILAR: Final = 0.8
"""From 0 to 1, as `difflib` measures it: depend_on and depends_on are, price and score are not."""


def check_plugin(reference: str, plugin: object) -> type[Plugin]:
    """The class, if it can be a plugin; ConfigurationError with everything that is wrong with it."""
    if not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
        called = getattr(plugin, "__name__", repr(plugin))
        raise ConfigurationError(
            [f"plugin {reference}: {called} is no subclass of kubesched.scheduler.framework.Plugin"]
        )
    if not getattr(plugin, "name", ""):
        raise ConfigurationError([f"plugin {reference}: the class has no `name`"])
    if not isinstance(plugin.depends_on, DependsOn):
        raise ConfigurationError([f"plugin {reference}: `depends_on` must be a DependsOn, not {plugin.depends_on!r}"])
    if not points_served(plugin):
        raise ConfigurationError([f"plugin {reference}: the class serves no extension point"])
    if problems := [f"plugin {reference}: {problem}" for problem in _wrong_methods(plugin)]:
        raise ConfigurationError(problems)
    return plugin


def suspicious_names(plugin: type[Plugin]) -> Iterator[str]:
    """Names of the class that nobody asks for, but that look like one that the scheduler would."""
    served = [EXTENSION_POINTS[point] for point in points_served(plugin)]
    known = {name for base in served for name in dir(base) if not name.startswith("_")}
    own = {name: owner for owner in reversed(_own_classes(plugin)) for name in vars(owner) if not name.startswith("_")}
    for name in sorted(own.keys() - known):
        for base in EXTENSION_POINTS.values():
            if name in vars(base):
                yield f"{name} is not called: the class is no {base.__name__}{_where(own[name], name)}"
        similar = get_close_matches(name, known, n=1, cutoff=SIMILAR)
        if similar and not _alternatives(similar[0]) & own.keys():
            yield f"{name} is not used: is it meant to be {similar[0]}?{_where(own[name], name)}"


def _wrong_methods(plugin: type[Plugin]) -> Iterator[str]:
    """Methods that are missing, that cannot be called as they are, or that are `async` where nobody awaits them."""
    bases = [EXTENSION_POINTS[point] for point in points_served(plugin)]
    for point, base in zip(points_served(plugin), bases, strict=True):
        if all(getattr(plugin, method) is getattr(base, method) for method in METHODS[point]):
            yield f"the class is a {base.__name__} but defines no {' or '.join(METHODS[point])}{_where(plugin)}"
    methods = {name: base for base in bases for name in dir(base) if not name.startswith("_")}
    methods["__init__"] = Plugin
    for name, base in methods.items():
        if not isinstance(getattr_static(base, name), FunctionType) or getattr(plugin, name) is getattr(base, name):
            continue
        if iscoroutinefunction(getattr(plugin, name)) and not _is_awaited(base, name):
            yield f"{name} must not be async: nobody awaits it{_where(plugin, name)}"
        expected = [each.name for each in signature(getattr(base, name)).parameters.values()]
        if not _can_be_called(plugin, name, len(expected)):
            yield f"{name} must take ({', '.join(expected)}){_taken(plugin, name)}{_where(plugin, name)}"


def _can_be_called(plugin: type[Plugin], name: str, arguments: int) -> bool:
    """Whether a method takes so many arguments by position, `self` among them."""
    if not isinstance(getattr_static(plugin, name), FunctionType):
        arguments -= 1  # a class method or a static one
    try:
        signature(getattr(plugin, name)).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # it has no signature that one could look at
        return callable(getattr(plugin, name))
    return True


def _taken(plugin: type[Plugin], name: str) -> str:
    """What it takes instead."""
    method = getattr(plugin, name)
    if not callable(method):
        return f", and is {method!r}"
    taken = (str(each.replace(annotation=Parameter.empty)) for each in signature(method).parameters.values())
    return f", not ({', '.join(taken)})"


def _is_awaited(base: type[Plugin], method: str) -> bool:
    return iscoroutinefunction(getattr(base, method)) or (base, method) == (BindPlugin, "bind")


def _own_classes(plugin: type[Plugin]) -> list[type]:
    """The class and those of its bases that are not the framework's."""
    framework = {Plugin, *EXTENSION_POINTS.values(), object}
    return [each for each in plugin.__mro__ if each not in framework]


def _alternatives(method: str) -> set[str]:
    """The method, and the others of which one is enough: who has `filter` may call a helper filter_node."""
    return {method}.union(*(methods for methods in METHODS.values() if method in methods))


def _where(owner: type, name: str = "") -> str:
    """The file and line of a method, or else of its class; nothing if there is no source."""
    found: Any = getattr(owner, name) if name else owner
    found = unwrap(getattr(found, "__func__", found)) if callable(found) else owner
    try:
        return f" ({os.path.basename(getsourcefile(found) or '')}:{getsourcelines(found)[1]})"
    except (OSError, TypeError):
        return ""
