"""Event handlers that remember what they are told."""

from __future__ import annotations

from typing import Any


class Heard:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def add(self, obj: Any) -> None:
        self.calls.append(f"+{obj.metadata.name}")

    def update(self, old: Any, new: Any) -> None:
        self.calls.append(f"~{new.metadata.name}")

    def delete(self, obj: Any) -> None:
        self.calls.append(f"-{obj.metadata.name}")
