"""The command lines of bubblewrap and sandbox-exec."""

from __future__ import annotations

from metier.runtime.sandbox import bubblewrap, seatbelt


def test_bubblewrap_gets_nothing_writable_but_the_scratch_folder() -> None:
    words = bubblewrap.arguments(
        "/usr/bin/bwrap", ["/usr/bin/python3", "x"], skill="/s/skill", script="/s/skill/scripts/x.py", scratch_bytes=1000,
        files=["/etc/hosts"],
        also_readable=["/opt/py/lib", "/opt/py", "/usr/lib/x"],
    )  # fmt: skip
    assert "--bind" not in words
    assert "--share-net" not in words
    assert words[words.index("/etc/hosts") - 4 : words.index("/etc/hosts")] == ["--perms", "0444", "--ro-bind-data", "\0file0"]
    assert words[words.index("--") :] == ["--", "/usr/bin/python3", "x"]
    bound = [words[at + 1] for at, word in enumerate(words) if word == "--ro-bind"]
    assert "/opt/py" in bound
    assert "/opt/py/lib" not in bound
    assert "/usr/lib/x" not in bound
    for option in ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--seccomp"):
        assert option in words
    readonly = [words[at + 1] for at, word in enumerate(words) if word == "--remount-ro"]
    assert readonly == ["/dev", "/proc", "/"]


def test_the_profile_for_macos_denies_first_and_quotes_paths() -> None:
    text = seatbelt.profile(readable=["/usr", '/a "b"\\c'], writable=["/scratch"])
    assert text.startswith("(version 1)\n(deny default)\n")
    assert '(subpath "/a \\"b\\"\\\\c")' in text
    assert '(allow file-write*\n  (subpath "/scratch"))' in text
    assert "network" not in text
    assert text.count("(") == text.count(")")
