"""What the documentation site has besides docs/*.md: reference pages made from the code, and files that pages link to.

MkDocs calls these functions while it builds (`make docs`). Links out of docs/ (`../examples/plugins/gang.py`) work in a
checkout; on the site they lead to a copy of that file.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import reference

ROOT: Final = Path(__file__).parents[2]
OUTWARD: Final = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
"""A link to something outside its folder."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    for page in list(files.documentation_pages()):
        for link in OUTWARD.finditer(page.content_string):
            target = _target(page.src_uri, link)
            if target is not None and files.get_file_from_path(_copy_of(target)) is None:
                files.append(File.generated(config, _copy_of(target), content=target.read_text()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    def replaced(link: re.Match[str]) -> str:
        target = _target(page.file.src_uri, link)
        if target is None:
            return link[0]
        return f"]({posixpath.relpath(_copy_of(target), posixpath.dirname(page.file.src_uri) or '.')})"

    return OUTWARD.sub(replaced, markdown)


def _target(page: str, link: re.Match[str]) -> Path | None:
    """The file of the repository, outside docs/, that a page links to; None if it is none."""
    target = (ROOT / "docs" / posixpath.dirname(page) / (link["up"] + link["path"])).resolve()
    if not target.is_file() or target.is_relative_to(ROOT / "docs") or not target.is_relative_to(ROOT):
        return None
    return target


def _copy_of(target: Path) -> str:
    """Where its copy is: as plain text, which every browser shows."""
    path = target.relative_to(ROOT).as_posix()
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.txt"
