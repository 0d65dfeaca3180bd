"""The options that define an agent, shared by `metier agent create` and `metier agent edit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from metier.agents import Agent
from metier.app import App
from metier.cli.core.result import Result
from metier.errors import MetierError, NotFoundError, UsageError
from metier.models import likely_provider
from metier.spec import is_name
from metier.values import replace

__all__ = [
    "VersionNumber", "agent_argument", "agent_names", "agent_options", "edit_from_options", "parse_pairs", "read_text",
    "resolve_refs",
]  # fmt: skip

_LARGEST = 1 << 20


def agent_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Completes the name of an agent."""
    try:
        return [name for name in App().conversations.agents.names() if name.startswith(incomplete)]
    except (MetierError, OSError):
        return []


class VersionNumber(click.IntRange):
    """The number of an agent's version: 2, or v2 as `metier agent history` prints it."""

    def __init__(self) -> None:
        super().__init__(min=1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number: Any = value.removeprefix("v") if isinstance(value, str) else value
        return super().convert(number, param, ctx)


agent_argument = click.argument("name", shell_complete=agent_names)


def agent_options(function: Callable[..., Result]) -> Callable[..., Result]:
    for option in reversed((
        click.option("--model", help="Such as openai:gpt-5; default: the model of your settings."),
        click.option("--provider", help="Provider of --model if its name has none: openai, anthropic, ollama, …"),
        click.option("--base-url", help="URL of an OpenAI-compatible server."),
        click.option("--key-variable", metavar="NAME", help="The environment variable that holds the key."),
        click.option("--skills", metavar="REF,…", help="The only skills it may use: names, or refs to install."),
        click.option("--no-skills", is_flag=True, help="It may use no skills."),
        click.option("--instructions", metavar="FILE", help="File with its instructions; `-` reads standard input."),
        click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of {{NAME}} in the instructions."),
    )):  # fmt: skip
        function = option(function)
    return function


def edit_from_options(app: App, options: dict[str, Any]) -> Callable[[Agent], Agent]:
    """Returns the edit that these options describe. Everything that can fail fails here, before anything is written."""
    given: dict[str, Any] = {name: options[name] for name in ("base_url", "key_variable") if options[name] is not None}
    if options["model"] is not None:
        given["model"] = _model(options["model"], options["provider"])
    elif options["provider"]:
        raise UsageError("--provider needs --model", hint=f"--model {options['provider']}:NAME names both")
    if options["skills"] and options["no_skills"]:
        raise UsageError("--skills and --no-skills contradict each other", hint="give one of them")
    if options["skills"] is not None:
        given["skills"] = resolve_refs(app, options["skills"].replace(",", " ").split()) or None
    if options["no_skills"]:
        given["skills"] = ()
    if options["instructions"] is not None:
        given["instructions"] = read_text(app, options["instructions"])
    more = parse_pairs(options["variables"])

    def edit(agent: Agent) -> Agent:
        merged = {**agent.variables, **more}
        used = given.get("instructions", agent.instructions)
        dropped = {word.removesuffix("=") for word in options["variables"] if word.endswith("=")}
        variables = {name: value for name, value in merged.items() if name not in dropped or f"{{{{{name}}}}}" in used}
        edited = replace(agent, **given, variables=variables)
        if given.keys() & {"model", "base_url"}:
            _check_model(app, edited)
        return edited

    return edit


def _check_model(app: App, agent: Agent) -> None:
    """Raises UsageError for a name without a provider, which no request could be sent to."""
    choice = app.conversations.model(agent.model, base_url=agent.base_url) if agent.model else None
    if choice is not None and not choice.provider and not choice.base_url:
        raise UsageError(
            f"the model name {agent.model!r} has no provider",
            hint=f"write --model {likely_provider(agent.model)}:{agent.model}, or name a server with --base-url",
        )


def parse_pairs(words: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, or NAME alone for a variable without a value."""
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def resolve_refs(app: App, refs: Sequence[str]) -> tuple[str, ...]:
    """Returns the refs without repeats, once each stands for a local skill. Missing ones that can be installed are."""
    missing = []
    for ref in refs:
        try:
            app.conversations.resolve(ref)
        except MetierError:
            if is_name(ref):
                raise
            missing.append(ref)
    if missing:
        # Imported here: local skills need nothing that fetches.
        from metier.cli.skill.install_common import fetch_progress
        from metier.cli.skill.install_prompts import with_prompts
        from metier.install import InstallOptions

        with fetch_progress() as progress:
            app.install(*missing, options=with_prompts(InstallOptions()), progress=progress)
        fresh = App(environment=app.environment, folder=app.folder, flags=app.flags)
        for ref in missing:
            fresh.conversations.resolve(ref)
    return tuple(dict.fromkeys(refs))


def read_text(app: App, file: str) -> str:
    """Reads a text file of the user; `-` is standard input."""
    if file == "-":
        return sys.stdin.read(_LARGEST)
    path = os.path.join(app.folder, file)
    try:
        with open(path, "rb") as stream:
            return stream.read(_LARGEST).decode()
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {file!r}", hint="check its name; `-` reads standard input") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file!r} is not UTF-8 text", hint="save it as UTF-8") from None


def _model(model: str, provider: str | None) -> str:
    if not provider or not model:
        return model
    prefix, colon, _ = model.partition(":")
    if colon and prefix != provider:
        raise UsageError(f"--model names the provider {prefix} and --provider names {provider}", hint="give one of them")
    return model if colon else f"{provider}:{model}"
