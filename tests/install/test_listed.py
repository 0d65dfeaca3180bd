from __future__ import annotations

import pytest

from install.making import prepared
from metier.errors import ConfigError
from metier.install.kinds import Git, Registry
from metier.install.listed import Plugin, lacking, read_plugins
from metier.install.lock import Lock

URL = "https://example.com/skills.git"


def test_a_list_is_read_row_by_row() -> None:
    rows = [{"url": "owner/repo"}, {"url": URL, "ref": "v1", "name": "pdf", "enabled": False, "installed_at": "2024-01-05"}]
    assert read_plugins(rows, where="c") == (Plugin(url="owner/repo"), Plugin(url=URL, ref="v1", name="pdf", enabled=False))
    assert read_plugins(None, where="c") == ()


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ({"url": "x"}, "two brackets"),
        ([{}], "needs a url"),
        (["x"], "needs a url"),
        ([{"url": "x"}, {"url": ""}], "needs a url"),
        ([{"url": 1}], "'url'"),
        ([{"url": "x", "enabled": "yes"}], "'enabled'"),
        ([{"url": "x", "pinned": True}], "'pinned'"),
        ([{"url": "x", "name": "../x"}], "not a skill name"),
    ],
)
def test_a_wrong_row_is_named(table: object, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_plugins(table, where="config.toml:3")
    assert part in f"{caught.value} {caught.value.hint}"
    assert "config.toml:3" in str(caught.value)


def test_the_ref_of_a_row_is_that_of_its_source() -> None:
    wanted = Plugin(url="owner/repo", ref="v1").wanted()
    assert isinstance(wanted, Git) and wanted.ref == "v1"
    tree = Plugin(url="https://github.com/o/r/tree/main/skills/pdf", ref="v2").wanted()
    assert isinstance(tree, Git) and (tree.ref, tree.tail) == ("v2", "")
    assert Plugin(url="r9s:pdf", ref="^1").wanted() == Registry(alias="r9s", name="pdf", version="^1")


def test_what_is_locked_is_not_lacking_unless_the_list_has_another_ref_or_name() -> None:
    lock = Lock({"pdf": prepared("pdf", url=URL).entry})
    there = [Plugin(url=f"git+{URL}"), Plugin(url="example/skills"), Plugin(url=f"git+{URL}", ref="main", name="pdf")]
    assert lacking(there, lock) == ()
    missing = (Plugin(url=f"git+{URL}", ref="v2"), Plugin(url=f"git+{URL}", name="docx"), Plugin(url="other/repo"))
    assert lacking(missing, lock) == missing
