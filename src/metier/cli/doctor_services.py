"""The checks of `metier doctor` for what metier works with: a model, a registry, other agents."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

from metier.app import App
from metier.errors import MetierError
from metier.extras import install_command
from metier.hosts import detect_hosts
from metier.values import replace

__all__ = ["ServiceCheck", "check_services"]

_KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_PATIENCE_SECONDS = 5.0


class ServiceCheck(NamedTuple):
    name: str
    level: str
    text: str
    hint: str = ""


def check_services(app: App) -> Iterator[ServiceCheck]:
    for name, check in (("model", _model), ("skills.registry", _registry), ("agents", _agents)):
        try:
            yield check(app)
        except MetierError as error:
            yield ServiceCheck(name, "warning", str(error), error.hint)


def _model(app: App) -> ServiceCheck:
    model = app.conversations.model()
    if model is None:
        text = "none is configured; `metier chat` and `metier run` show what a model would receive"
        return ServiceCheck("model", "ok", text, "`metier config set model.name PROVIDER:MODEL` chooses one")
    if find_spec("pydantic_ai") is None:
        return ServiceCheck("model", "warning", f"{model.name}, but its packages are not installed",
                            f"run `{install_command('models')}`")  # fmt: skip
    variable = _KEYS.get(model.provider)
    if variable and not model.key and not model.base_url and not app.environment.get(variable):
        return ServiceCheck("model", "warning", f"{model.name}, but {variable} is not set", f"export {variable}=KEY")
    return ServiceCheck("model", "ok", f"{model.name}{f' at {model.base_url}' if model.base_url else ''}; it was not asked")


def _registry(app: App) -> ServiceCheck:
    if not any(source.name == "r9s" for source in app.registries.sources):
        return ServiceCheck("skills.registry", "ok", "none is configured", "`metier login URL` sets one")
    client = replace(app.registries.client(), silence=_PATIENCE_SECONDS, cache=None)
    client.search("", limit=1)
    if not client.token:
        return ServiceCheck(
            "skills.registry", "ok", f"{client.url} answers; not logged in", f"`metier login {client.url}` logs in"
        )
    return ServiceCheck("skills.registry", "ok", f"{client.url} answers; logged in as {client.whoami().get('name', 'unknown')}")


def _agents(app: App) -> ServiceCheck:
    found = sorted(detect_hosts(app.paths.user_home, app.environment))
    if not found:
        return ServiceCheck("agents", "ok", "no other agent was found on this machine; skills are for metier alone")
    chosen = ", ".join(app.settings.strings("install.targets"))
    new = f"new skills are for {chosen} (install.targets)" if chosen else "new skills are for all of them"
    return ServiceCheck("agents", "ok", f"{', '.join(found)}; {new}")
