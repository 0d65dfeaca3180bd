"""Stored secrets: the file, its vaults, and what cannot be read or changed."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import keyring
import keyring.backend
import pytest
from keyring.backends import fail
from keyrings.alt.file import PlaintextKeyring

from metier.errors import ConfigError, NotFoundError, RefusedError, UnavailableError, UsageError
from metier.runtime import SecretStore, StoredSecret, VaultKind

VALUE = "s3cret é value"
KEY = StoredSecret(name="API_KEY", skill="weather", hosts=("api.example.com",))


@pytest.fixture
def no_keyring() -> object:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]
    yield None
    keyring.set_keyring(before)


@pytest.fixture
def real_keyring(tmp_path: Path) -> object:
    """A keyring of the library `keyrings.alt`, in a file of its own."""
    before = keyring.get_keyring()
    backend = PlaintextKeyring()
    backend.file_path = str(tmp_path / "keyring.cfg")
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


def typed(passphrase: str) -> Callable[[bool], str]:
    return lambda _: passphrase


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "home" / "secrets.json")


@pytest.mark.parametrize("kind", VaultKind)
def test_every_vault_gives_back_what_was_stored(file: str, kind: VaultKind, real_keyring: object) -> None:
    def store() -> SecretStore:
        return SecretStore(file, kind=kind, ask=typed("correct horse"))

    assert store().set(KEY, VALUE) is kind
    store().set(StoredSecret(name="API_KEY"), "for every skill")
    found = store().find("weather", "API_KEY")
    assert found == KEY
    assert store().value(KEY) == VALUE
    assert store().find("another", "API_KEY") == StoredSecret(name="API_KEY")
    store().set(KEY, "changed")
    assert store().value(KEY) == "changed"
    assert store().remove("API_KEY", "weather") == (KEY,)
    assert [secret.skill for secret, _ in store().all()] == [""]
    with pytest.raises(NotFoundError):
        store().value(KEY)


@pytest.mark.parametrize("kind", VaultKind)
def test_only_the_user_can_read_the_file_and_no_value_stands_in_it(file: str, kind: VaultKind, real_keyring: object) -> None:
    SecretStore(file, kind=kind, ask=typed("correct horse")).set(KEY, VALUE)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert VALUE not in Path(file).read_text(encoding="utf-8")
    os.chmod(file, 0o644)
    with pytest.raises(ConfigError, match="other users can read it") as refused:
        SecretStore(file).all()
    assert refused.value.hint == f"run `chmod 600 {file}`"


def test_without_a_keyring_the_file_is_used(file: str, no_keyring: object) -> None:
    assert SecretStore(file).set(KEY, VALUE) is VaultKind.FILE
    assert SecretStore(file).value(KEY) == VALUE
    with pytest.raises(UnavailableError, match="no keyring"):
        SecretStore(file, kind=VaultKind.KEYRING).set(KEY, VALUE)


def test_a_keyring_that_is_a_file_in_clear_is_used_only_if_named(file: str, real_keyring: PlaintextKeyring) -> None:
    assert SecretStore(file).set(KEY, VALUE) is VaultKind.FILE
    assert SecretStore(file, kind=VaultKind.KEYRING).set(KEY, VALUE) is VaultKind.KEYRING


def test_with_a_keyring_the_value_is_in_it_and_goes_with_the_secret(
    file: str, real_keyring: PlaintextKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlaintextKeyring, "priority", 5.0)
    assert SecretStore(file).set(KEY, VALUE) is VaultKind.KEYRING
    [row] = json.loads(Path(file).read_text(encoding="utf-8"))["secrets"]
    assert real_keyring.get_password("metier", row["sealed"]) is not None
    SecretStore(file).remove("API_KEY")
    assert real_keyring.get_password("metier", row["sealed"]) is None


def test_a_wrong_passphrase_opens_nothing_and_stores_nothing(file: str) -> None:
    SecretStore(file, kind=VaultKind.PASSPHRASE, ask=typed("correct horse")).set(KEY, VALUE)
    before = Path(file).read_bytes()
    wrong = SecretStore(file, kind=VaultKind.PASSPHRASE, ask=typed("wrong"))
    with pytest.raises(RefusedError, match="not the passphrase"):
        wrong.value(KEY)
    with pytest.raises(RefusedError, match="not the passphrase"):
        wrong.set(StoredSecret(name="OTHER_KEY"), "x")
    assert Path(file).read_bytes() == before
    with pytest.raises(RefusedError, match="locked"):
        SecretStore(file).value(KEY)


@pytest.mark.parametrize("kind", [VaultKind.KEYRING, VaultKind.PASSPHRASE])
def test_a_host_that_was_changed_in_the_file_does_not_get_the_value(file: str, kind: VaultKind, real_keyring: object) -> None:
    SecretStore(file, kind=kind, ask=typed("p")).set(KEY, VALUE)
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    data["secrets"][0]["hosts"] = ["evil.example"]
    Path(file).write_text(json.dumps(data), encoding="utf-8")
    store = SecretStore(file, kind=kind, ask=typed("p"))
    found = store.find("weather", "API_KEY")
    assert found is not None
    with pytest.raises(RefusedError, match="was changed outside metier"):
        store.value(found)


@pytest.mark.parametrize(
    ("kind", "sealed"),
    [
        (VaultKind.FILE, "no base64 *"), (VaultKind.FILE, "/w=="), (VaultKind.PASSPHRASE, "no base64 *"),
        (VaultKind.PASSPHRASE, ""), (VaultKind.PASSPHRASE, "AAAA"),
    ],
)  # fmt: skip
def test_a_value_that_was_damaged_in_the_file_is_an_error(file: str, kind: VaultKind, sealed: str) -> None:
    SecretStore(file, kind=kind, ask=typed("p")).set(KEY, VALUE)
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    data["secrets"][0]["sealed"] = sealed
    Path(file).write_text(json.dumps(data), encoding="utf-8")
    store = SecretStore(file, kind=kind, ask=typed("p"))
    with pytest.raises(RefusedError, match="was changed outside metier"):
        store.value(KEY)


@pytest.mark.parametrize(("field", "error"), [("salt", ConfigError), ("check", RefusedError)])
def test_a_damaged_salt_or_check_of_the_passphrase_is_an_error(file: str, field: str, error: type[Exception]) -> None:
    SecretStore(file, kind=VaultKind.PASSPHRASE, ask=typed("p")).set(KEY, VALUE)
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    Path(file).write_text(json.dumps({**data, field: "no base64 *"}), encoding="utf-8")
    with pytest.raises(error):
        SecretStore(file, kind=VaultKind.PASSPHRASE, ask=typed("p")).value(KEY)


def test_a_damaged_file_is_an_error_that_quotes_nothing(file: str, no_keyring: object) -> None:
    SecretStore(file).set(KEY, VALUE)
    Path(file).write_text('{"secrets": [{"name": "API_KEY", "sealed": "topsecret"', encoding="utf-8")
    with pytest.raises(ConfigError, match="damaged") as error:
        SecretStore(file).all()
    assert "topsecret" not in f"{error.value} {error.value.hint} {error.value.__context__ and ''}"


def test_names_and_hosts_are_checked(file: str, no_keyring: object) -> None:
    with pytest.raises(UsageError, match="not a name"):
        SecretStore(file).set(StoredSecret(name="A B"), "x")
    with pytest.raises(UsageError, match="not a host"):
        SecretStore(file).set(StoredSecret(name="A", hosts=("https://a.example",)), "x")
    assert not os.path.exists(file)
