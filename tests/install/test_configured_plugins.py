from __future__ import annotations

import pytest

from install.builders import prepared
from metier.errors import ConfigError
from metier.install.configured_plugins import ConfiguredPlugin, not_installed, read_plugins
from metier.install.lock.lock_file import Lock
from metier.install.refs.ref_types import GitRef, RegistryRef

URL = "https://example.com/skills.git"


def test_a_list_is_read_row_by_row() -> None:
    rows = [
        {"url": "owner/repo", "installedAt": "2024"},
        {"url": URL, "ref": "v1", "name": "pdf", "enabled": False, "installed_at": "2024-01-05"},
    ]
    assert read_plugins(rows, where="c") == (
        ConfiguredPlugin(url="owner/repo"),
        ConfiguredPlugin(url=URL, ref="v1", name="pdf", enabled=False),
    )
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
        ([{"url": "x", "name": "../x"}], "not a skill name"),
    ],
)
def test_a_wrong_row_is_named(table: object, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_plugins(table, where="config.toml:3")
    assert part in f"{caught.value} {caught.value.hint}"
    assert "config.toml:3" in str(caught.value)


def test_the_ref_of_a_row_is_that_of_its_source() -> None:
    wanted = ConfiguredPlugin(url="owner/repo", ref="v1").to_ref()
    assert isinstance(wanted, GitRef) and wanted.ref == "v1"
    tree = ConfiguredPlugin(url="https://github.com/o/r/tree/main/skills/pdf", ref="main").to_ref()
    assert isinstance(tree, GitRef) and (tree.ref, tree.path, tree.tail) == ("main", "skills/pdf", "")
    assert ConfiguredPlugin(url="r9s:pdf", ref="^1").to_ref() == RegistryRef(alias="r9s", name="pdf", version="^1")


def test_a_locked_plugin_is_not_missing_unless_its_ref_or_name_differs() -> None:
    lock = Lock({"pdf": prepared("pdf", url=URL).entry})
    there = [
        ConfiguredPlugin(url=f"git+{URL}"),
        ConfiguredPlugin(url="example/skills"),
        ConfiguredPlugin(url=f"git+{URL}", ref="main", name="pdf"),
    ]
    assert not_installed(there, lock) == ()
    missing = (
        ConfiguredPlugin(url=f"git+{URL}", ref="v2"),
        ConfiguredPlugin(url=f"git+{URL}", name="docx"),
        ConfiguredPlugin(url="other/repo"),
    )
    assert not_installed(missing, lock) == missing
