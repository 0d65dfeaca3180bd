from __future__ import annotations

from pathlib import Path

from metier.runtime.containers.mounts import Mount, host_root, mount_words, read_only

TABLE = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:20 / /usr rw - ext4 /dev/vdb rw
31 30 0:21 / /usr/local rw - ext4 /dev/vdc rw
32 30 0:22 / /usr/share/a\\040b rw - ext4 /dev/vdd rw
33 22 0:23 / /usrlocal rw - ext4 /dev/vde rw
"""


def test_a_file_system_inside_a_read_only_folder_is_read_only_too(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(TABLE)
    mounts = read_only(["/usr", "/skill"], table=str(tmp_path / "mountinfo"))
    assert [mount.target for mount in mounts] == ["/usr", "/skill", "/usr/local", "/usr/share/a b"]
    assert not any(mount.writable for mount in mounts)


def test_a_system_without_a_table_of_mounts_has_none_inside(tmp_path: Path) -> None:
    assert [mount.source for mount in read_only(["/usr"], table=str(tmp_path / "none"))] == ["/usr"]


def test_a_path_with_a_comma_or_a_quote_stays_one_path() -> None:
    words = mount_words([Mount(source="/a,readonly=false", target='/b"c'), Mount(source="/x", target="/y", writable=True)])
    assert words == [
        "--mount", 'type=bind,"source=/a,readonly=false","target=/b""c",readonly', "--mount", "type=bind,source=/x,target=/y",
    ]  # fmt: skip


def test_the_root_has_the_system_folders_and_nothing_of_the_user() -> None:
    folders, links = host_root()
    assert "/usr" in folders
    assert not set(folders) & set(links)
    assert not [path for path in folders if path.startswith(("/home", "/root", "/var", "/tmp", "/srv", "/mnt"))]
