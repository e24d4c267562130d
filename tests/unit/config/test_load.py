"""Files to configurations: strict decoding, and what depends on absence."""

from __future__ import annotations

import contextlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubesched.config import default_config, load_config, load_config_file
from kubesched.config.model import API_VERSION, KubeSchedulerConfiguration
from kubesched.config.plugin_args import NodeResourcesFitArgs
from kubesched.errors import ConfigurationError

FIELDS = st.sampled_from(
    [
        "profiles",
        "plugins",
        "score",
        "multiPoint",
        "enabled",
        "disabled",
        "name",
        "weight",
        "pluginConfig",
        "args",
        "scoringStrategy",
        "resources",
        "schedulerName",
        "leaderElection",
        "leaseDuration",
        "extenders",
        "tlsConfig",
        "certData",
        "addedAffinity",
        "parallelism",
        "predicates",
        "priorities",
        "argument",
        "algorithmSource",
        "provider",
        "defaultConstraints",
        "kind",
        "apiVersion",
    ]
)
VALUES = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        2**40,
        1.5,
        float("nan"),
        "",
        "x",
        "15s",
        "NodeResourcesFit",
        "NodeAffinity",
        "PodTopologySpread",
    ]
)
DOCUMENTS = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4), max_leaves=25
)

DATA = Path(__file__).parents[2] / "data" / "config"
HEAD = f"apiVersion: {API_VERSION}\nkind: KubeSchedulerConfiguration\n"


def problems_of(text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load_config(text)
    return caught.value.problems


def load(body: str) -> KubeSchedulerConfiguration:
    return load_config(HEAD + body)


def test_empty_file_is_the_default() -> None:
    """A file that sets nothing is the default configuration."""
    assert load("") == default_config()


def test_whole_numbers_however_they_are_written() -> None:
    """2.0 and 1e1 are integers in the JSON that kube-scheduler makes of YAML."""
    assert load("parallelism: 2.0\npodMaxBackoffSeconds: 1e1\n") == load("parallelism: 2\npodMaxBackoffSeconds: 10\n")


def test_what_kube_scheduler_writes() -> None:
    """The file that kube-scheduler --write-config-to produces loads to our defaults, with its explicit 0 percent."""
    loaded = load_config_file(DATA / "kube_scheduler_default.yaml")
    assert loaded.percentage_of_nodes_to_score == 0
    assert loaded.profiles == default_config().profiles
    assert loaded.leader_election == default_config().leader_election


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("foo: 1\n", ('strict decoding error: unknown field "foo"',), id="an unknown field"),
        pytest.param(
            "Parallelism: 3\n", ('strict decoding error: unknown field "Parallelism"',), id="names are case-sensitive"
        ),
        pytest.param(
            "profiles:\n- foo: 1\n  plugins: {score: {enable: []}}\n",
            (
                'strict decoding error: unknown field "profiles[0].foo"',
                'strict decoding error: unknown field "profiles[0].plugins.score.enable"',
            ),
            id="unknown fields below, all at once",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {a: 1, scoringStrategy: {b: 2}}}]}]\n",
            (
                'strict decoding error: unknown field "profiles[0].pluginConfig[0].args.a"',
                'strict decoding error: unknown field "profiles[0].pluginConfig[0].args.scoringStrategy.b"',
            ),
            id="unknown fields in plugin arguments",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {required: {}}}}]}]\n",
            ('strict decoding error: unknown field "profiles[0].pluginConfig[0].args.addedAffinity.required"',),
            id="unknown fields in embedded Kubernetes types",
        ),
        pytest.param(
            "profiles:\n- schedulerName: a\n  schedulerName: b\n",
            ('strict decoding error: duplicate field "profiles[0].schedulerName"',),
            id="a repeated key",
        ),
        pytest.param(
            "parallelism: many\nleaderElection: [1]\nprofiles: {}\nenableProfiling: 1\nclientConnection: {qps: fast}\n",
            (
                'parallelism: Invalid value: "many": must be of type integer',
                'leaderElection: Invalid value: "array": must be of type object',
                'clientConnection.qps: Invalid value: "fast": must be of type number',
                "enableProfiling: Invalid value: 1: must be of type boolean",
                'profiles: Invalid value: "object": must be of type array',
            ),
            id="wrong types, all at once",
        ),
        pytest.param(
            "parallelism: 2147483648\n",
            ("parallelism: Invalid value: 2147483648: not in valid range [-2147483648, 2147483647]",),
            id="more than an int32",
        ),
        pytest.param(
            "parallelism: true\npodMaxBackoffSeconds: 1.5\n",
            (
                "parallelism: Invalid value: true: must be of type integer",
                "podMaxBackoffSeconds: Invalid value: 1.5: must be of type integer",
            ),
            id="neither a boolean nor a fraction is an integer",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 15, retryPeriod: 2 sec}\n",
            (
                'leaderElection.leaseDuration: Invalid value: 15: must be of type duration (for example "15s")',
                'leaderElection.retryPeriod: Invalid value: "2 sec": time: unknown unit " sec" in duration "2 sec"',
            ),
            id="wrong durations",
        ),
        pytest.param(
            "extenders: [{urlPrefix: x, tlsConfig: {certData: '%%%'}}]\n",
            (
                'extenders[0].tlsConfig.certData: Invalid value: "%%%": '
                "illegal base64 data: Only base64 data is allowed",
            ),
            id="wrong base64",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {kind: FooArgs}}]}]\n",
            (
                "profiles[0].pluginConfig[0].args: args for plugin NodeResourcesFit were not of type "
                f"NodeResourcesFitArgs of {API_VERSION}, got FooArgs of {API_VERSION}",
            ),
            id="arguments of another plugin",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: [1]}]}]\n",
            ("profiles[0].pluginConfig[0].args: Invalid value: [1]: has to match plugin args",),
            id="arguments that are no mapping",
        ),
    ],
)
def test_strict(body: str, expected: tuple[str, ...]) -> None:
    """Every problem is reported in one go, each with its path."""
    assert problems_of(HEAD + body) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "{}",
            (
                f"Object 'apiVersion' is missing: expected apiVersion: {API_VERSION}",
                "Object 'Kind' is missing: expected kind: KubeSchedulerConfiguration",
            ),
            id="neither version nor kind",
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            (
                'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3": '
                f"expected KubeSchedulerConfiguration of {API_VERSION}, or Policy of v1",
            ),
            id="another version",
        ),
    ],
)
def test_wrong_type(text: str, expected: tuple[str, ...]) -> None:
    """A document of another type is refused before its fields are looked at."""
    assert problems_of(text) == expected


def test_single_profile_gets_the_default_name() -> None:
    """One profile without a name is the default scheduler; an explicit empty name is an error."""
    assert load("profiles: [{}]\n").profiles[0].scheduler_name == "default-scheduler"
    assert problems_of(HEAD + "profiles: [{schedulerName: ''}]") == ("profiles[0].schedulerName: Required value",)


def test_several_profiles_must_be_named() -> None:
    """With several profiles, a missing name is an error."""
    assert problems_of(HEAD + "profiles: [{schedulerName: a}, {}]") == ("profiles[1].schedulerName: Required value",)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("", True, id="profiling is on by default"),
        pytest.param("enableProfiling: false", False, id="contention profiling follows profiling"),
        pytest.param("enableProfiling: false\nenableContentionProfiling: true", True, id="unless it is set"),
    ],
)
def test_contention_profiling(body: str, expected: bool) -> None:
    """The default of contention profiling hangs on profiling."""
    assert load(body).enable_contention_profiling is expected


def test_null_means_absent() -> None:
    """A field set to null has its default, as in Kubernetes."""
    assert load("parallelism: null\nprofiles: null\nextenders: null") == default_config()


def test_plugin_arguments_by_owner() -> None:
    """In-tree arguments are typed and completed; those of other plugins arrive as written."""
    profile = load(
        "profiles: [{pluginConfig: [{name: NodeResourcesFit}, {name: Mine, args: {x: [1], kind: Any}}, {name: Bare}]}]"
    ).profiles[0]
    assert profile.args_of("NodeResourcesFit") == NodeResourcesFitArgs()
    assert profile.args_of("Mine") == {"x": [1], "kind": "Any"}
    assert profile.args_of("Bare") is None


def test_extender() -> None:
    """An extender's fields arrive typed: durations, bytes, nested lists."""
    (extender,) = load(
        "extenders: [{urlPrefix: 'http://x', enableHTTPS: true, httpTimeout: 1m30s, tlsConfig: {certData: YWJj},"
        " managedResources: [{name: example.com/a, ignoredByScheduler: true}]}]"
    ).extenders
    assert extender.enable_https
    assert extender.http_timeout == timedelta(seconds=90)
    assert extender.tls_config is not None
    assert extender.tls_config.cert_data == b"abc"
    assert extender.managed_resources[0].ignored_by_scheduler


def test_unreadable_files(tmp_path: Path) -> None:
    """A file that is missing or no text is a configuration error like any other."""
    with pytest.raises(ConfigurationError, match=r"open .*nothing: No such file or directory"):
        load_config_file(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="is not UTF-8 text"):
        load_config_file(tmp_path / "binary")


@pytest.mark.parametrize("junk", ["profiles: [null]", "profiles: [{plugins: {score: {enabled: [null]}}}]"])
def test_null_items(junk: str) -> None:
    """A null in a list stands for an empty item and never crashes."""
    assert load(junk).profiles


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([(API_VERSION, "KubeSchedulerConfiguration"), ("v1", "Policy"), ("?", "?")]),
    st.dictionaries(FIELDS, DOCUMENTS, max_size=6),
)
def test_nonsense_never_crashes(type_meta: tuple[str, str], document: dict[str, Any]) -> None:
    """Whatever a file holds, it loads or is refused with reasons."""
    document.update(apiVersion=type_meta[0], kind=type_meta[1])
    with contextlib.suppress(ConfigurationError):
        load_config(json.dumps(document))
