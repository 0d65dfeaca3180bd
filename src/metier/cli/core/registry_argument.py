"""Arguments of the commands that contact a registry: which one, and which version of a skill."""

from __future__ import annotations

from typing import Any

import click

from metier.errors import UsageError

__all__ = ["exact_version", "offline_option", "registry_options", "split_registry", "split_version"]

offline_option = click.option("--offline", is_flag=True, help="Use cached responses only.")


def registry_options(function: Any) -> Any:  # Any: click's decorators
    """Adds the options `--registry` and `--insecure-http` to a command."""
    function = click.option("--insecure-http", is_flag=True, help="Allow an http:// address.")(function)
    return click.option("--registry", metavar="NAME|URL", help="Registry to use.  [default: skills.registry]")(function)


def split_version(text: str) -> tuple[str, str]:
    """Splits NAME or NAME@VERSION, with or without the prefix `r9s:`. A name may be `@OWNER/NAME`."""
    plain = text.removeprefix("r9s:")
    name, _, version = plain.removeprefix("@").partition("@")
    return ("@" if plain.startswith("@") else "") + name, version


def split_registry(text: str, registry: str | None) -> tuple[str, str | None]:
    """Splits a name with the prefix of a registry, such as `clawhub:NAME`, unless --registry names one."""
    prefix, colon, name = text.partition(":")
    if registry or not colon or not prefix or prefix == "r9s":
        return text, registry
    return name, prefix


def exact_version(ref: str) -> tuple[str, str]:
    """Splits NAME@VERSION. Raises UsageError if there is no version."""
    name, version = split_version(ref)
    if not version:
        raise UsageError(f"{ref!r} has no version", hint=f"use {name}@1.2.3; see `metier skill versions {name}`")
    return name, version
