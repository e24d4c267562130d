"""`make quick` runs the tests that a change needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.quick import wanted_tests


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        pytest.param(
            ["src/kubesched/a/one.py"], ["tests/unit/a/test_one.py", "tests/unit/a/test_one_more.py"], id="own"
        ),
        pytest.param(["src/kubesched/a/two.py"], ["tests/unit/a"], id="no file of its own: its package"),
        pytest.param(["src/kubesched/a/deep/three.py"], ["tests/unit/a"], id="no folder either: the one above"),
        pytest.param(["src/kubesched/a/one.py", "src/kubesched/a/two.py"], ["tests/unit/a"], id="none inside another"),
        pytest.param(["tests/unit/a/test_one.py"], ["tests/unit/a/test_one.py"], id="a test"),
        pytest.param(["tests/unit/a/helper.py"], ["tests/unit/a"], id="a helper of tests"),
        pytest.param(["docs/page.md", "README.md"], ["tests/unit/docs"], id="documentation"),
        pytest.param(["Makefile", "src/kubesched/nowhere.py"], [], id="nothing that has tests"),
    ],
)
def test_what_changed_asks_for_its_tests(tmp_path: Path, changed: list[str], tests: list[str]) -> None:
    """tests/unit mirrors src/kubesched: a module asks for its own tests, else for those of its package."""
    for name in ("a/test_one.py", "a/test_one_more.py", "a/helper.py", "docs/test_links.py"):
        path = tmp_path / "tests" / "unit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert [str(path) for path in wanted_tests(map(Path, changed), tmp_path)] == tests
