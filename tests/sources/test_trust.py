"""Project folders that the user has trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import python
from metier.errors import ConfigError
from metier.sources import Trust


def trust_in(tmp_path: Path) -> Trust:
    return Trust(str(tmp_path / "home/trust.json"))


def folder(tmp_path: Path, name: str) -> str:
    path = tmp_path / name
    path.mkdir(parents=True, exist_ok=True)
    return str(path)


def test_nothing_is_trusted_at_first(tmp_path: Path) -> None:
    assert (trust_in(tmp_path).folders, trust_in(tmp_path).covers("/")) == ((), False)


def test_a_trusted_folder_is_covered_by_every_later_reader(tmp_path: Path) -> None:
    project = folder(tmp_path, "project")
    assert trust_in(tmp_path).add(project) is True
    assert (trust_in(tmp_path).covers(project), trust_in(tmp_path).folders) == (True, (project,))


def test_trusting_twice_changes_nothing(tmp_path: Path) -> None:
    project = folder(tmp_path, "project")
    trust_in(tmp_path).add(project)
    assert trust_in(tmp_path).add(project + "/") is False
    assert trust_in(tmp_path).folders == (project,)


def test_trust_holds_for_everything_below_and_nothing_beside_or_above(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    trust.add(folder(tmp_path, "project"))
    inside, beside = folder(tmp_path, "project/sub/deep"), folder(tmp_path, "project-2")
    assert [trust.covers(path) for path in (inside, beside, str(tmp_path))] == [True, False, False]


def test_trusting_the_root_covers_all(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    trust.add("/")
    assert trust.covers(folder(tmp_path, "anything")) is True


def test_trust_is_given_to_the_real_folder_behind_a_link(tmp_path: Path) -> None:
    real = folder(tmp_path, "real")
    (tmp_path / "link").symlink_to("real")
    trust = trust_in(tmp_path)
    trust.add(str(tmp_path / "link"))
    assert (trust.folders, trust.covers(real)) == ((real,), True)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(folder(tmp_path, "evil"))
    assert trust.covers(str(tmp_path / "link")) is False


def test_a_link_inside_a_trusted_folder_does_not_carry_trust_out_of_it(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    trust.add(folder(tmp_path, "project"))
    (tmp_path / "project/out").symlink_to(folder(tmp_path, "other"))
    assert trust.covers(str(tmp_path / "project/out")) is False


def test_trust_can_be_taken_back(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    one, two = folder(tmp_path, "one"), folder(tmp_path, "two")
    trust.add(one)
    trust.add(two)
    assert (trust.remove(one), trust.remove(one), trust.folders) == (True, False, (two,))


def test_a_folder_that_is_gone_can_still_be_removed(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    one = folder(tmp_path, "one")
    trust.add(one)
    Path(one).rmdir()
    assert (trust.remove(one), trust.folders) == (True, ())


def test_a_folder_whose_name_is_not_utf_8_can_be_trusted(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    odd = folder(tmp_path, "caf\udce9")
    trust.add(odd)
    assert (trust.covers(odd), trust_in(tmp_path).folders) == (True, (odd,))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b'{"folders": 5}', b'{"folders": [1]}', b'{"folders": "/"}', b"{}", b"\xff\xfe", b'"folders"'],
)
def test_a_broken_list_reads_neither_as_nothing_nor_as_everything(tmp_path: Path, data: bytes) -> None:
    trust = trust_in(tmp_path)
    Path(folder(tmp_path, "home"), "trust.json").write_bytes(data)
    for use in (lambda: trust.folders, lambda: trust.covers("/"), lambda: trust.add("/"), lambda: trust.remove("/")):
        with pytest.raises(ConfigError, match="invalid list of trusted folders") as raised:
            use()
        assert raised.value.file == trust.file
    assert Path(trust.file).read_bytes() == data


def test_a_folder_in_the_place_of_the_list_is_bad_configuration(tmp_path: Path) -> None:
    Path(folder(tmp_path, "home/trust.json"))
    with pytest.raises(ConfigError, match="invalid list of trusted folders"):
        trust_in(tmp_path).covers("/")


def test_the_list_is_for_its_owners_eyes(tmp_path: Path) -> None:
    trust = trust_in(tmp_path)
    trust.add(folder(tmp_path, "one"))
    assert (Path(trust.file).stat().st_mode & 0o777, json.loads(Path(trust.file).read_text())["version"]) == (0o600, 1)


def test_eight_processes_that_trust_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """
    import sys
    from metier.sources import Trust
    for number in range(10):
        Trust(sys.argv[1]).add(f"/projects/{sys.argv[2]}-{number}")
    """
    processes = [python(code, tmp_path / "home/trust.json", process) for process in range(8)]
    assert [process.communicate(timeout=60)[1] for process in processes] == [""] * 8
    assert set(trust_in(tmp_path).folders) == {f"/projects/{process}-{number}" for process in range(8) for number in range(10)}
