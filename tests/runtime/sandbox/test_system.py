"""The environment variables of a script."""

from __future__ import annotations

import pytest

from metier.errors import RefusedError
from metier.runtime.sandbox import system


def test_the_zone_of_the_caller_is_passed_on_only_if_it_is_a_plain_name() -> None:
    def zone(text: str | None) -> str | None:
        return system.environment(scratch="/t", skill="/s", allowed={}, secrets={}, zone=text).get("TZ")

    assert zone("Europe/Paris") == "Europe/Paris"
    assert zone(None) is zone("../../etc/passwd") is zone(":/etc/passwd") is zone("a\nb") is None


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "ld_library_path", "DYLD_X", "PYTHONPATH", "GIT_DIR", "DBUS_X", "ENV", "A B", "1A", ""]
)
def test_some_variables_are_never_passed_on_not_even_as_secrets(name: str) -> None:
    for allowed, secret in (({name: "x"}, {}), ({}, {name: "x"})):
        with pytest.raises(RefusedError) as refused:
            system.environment(scratch="/t", skill="/s", allowed=allowed, secrets=secret, zone=None)
        assert refused.value.rule == "environment"


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "API_KEY", "KEY", "db_password", "MY_SECRET"])
def test_a_secret_has_to_be_called_one(name: str) -> None:
    with pytest.raises(RefusedError, match="looks like a secret"):
        system.environment(scratch="/t", skill="/s", allowed={name: "x"}, secrets={}, zone=None)
    assert system.environment(scratch="/t", skill="/s", allowed={}, secrets={name: "x"}, zone=None)[name] == "x"
