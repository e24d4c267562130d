"""Lists."""

from __future__ import annotations

import pytest

from kubesched.cluster.apiserver.api import Api
from kubesched.cluster.apiserver.options import ListOptions
from kubesched.errors import RequestRefusedError


def test_pages_cover_everything_once(api: Api) -> None:
    """Whatever the size of a page."""
    maps = api.catalog.named("configmaps")
    for index in range(7):
        api.create(maps, {"metadata": {"name": f"m{index}"}}, "default")
    for size in range(1, 9):
        names, token = [], ""
        while True:
            page = api.list(maps, options=ListOptions(limit=size, continue_token=token))
            names += [entry.name for entry in page.entries]
            token = page.continue_token
            if not token:
                break
        assert names == [f"m{index}" for index in range(7)]


def test_a_page_from_the_far_past_has_to_start_anew(api: Api) -> None:
    """410, as for an old watch."""
    maps = api.catalog.named("configmaps")
    for index in range(3):
        api.create(maps, {"metadata": {"name": f"m{index}"}}, "default")
    token = api.list(maps, options=ListOptions(limit=1)).continue_token
    for index in range(200):
        api.create(maps, {"metadata": {"name": f"x{index}"}}, "default")
    with pytest.raises(RequestRefusedError, match="410 Expired: The provided continue parameter is too old"):
        api.list(maps, options=ListOptions(limit=1, continue_token=token))
    with pytest.raises(RequestRefusedError, match="410 Expired: The resourceVersion for the provided list is too old"):
        api.list(maps, options=ListOptions(version="3", version_match="Exact"))
