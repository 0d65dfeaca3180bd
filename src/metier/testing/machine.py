"""A machine that has exactly what a test says it has."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["FakeMachine"]


@dataclass(slots=True, kw_only=True)
class FakeMachine:
    """A `catalog.Environment` that also remembers what it was asked."""

    commands: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    python: tuple[int, ...] = (3, 12, 0)
    system: str = "linux"
    asked: list[str] = field(default_factory=list)

    def has_command(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.commands

    def has_package(self, name: str) -> bool:
        self.asked.append(name)
        return name in self.packages
