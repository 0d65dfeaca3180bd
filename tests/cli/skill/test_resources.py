"""`metier skill resources` and `metier skill read`."""

from __future__ import annotations

import base64

from cli.shell import Shell


def test_resources_are_listed_and_read_byte_for_byte(shell: Shell) -> None:
    folder = shell.skill("doc")
    (folder / "references").mkdir()
    (folder / "references" / "a.md").write_bytes("é\n\tx".encode())
    (folder / "logo.png").write_bytes(b"\x89PNG\xff")
    assert shell("skill", "resources", "doc").ok().out == "logo.png         5 bytes\nreferences/a.md  5 bytes\n"
    assert [row["path"] for row in shell("skill", "resources", "doc", "references", "--json").data["files"]] == [
        "references/a.md"
    ]
    assert shell("skill", "read", "doc", "references/a.md").ok().raw == "é\n\tx".encode()
    shell("skill", "read", "doc", "logo.png").failed(5, "is not text (5 bytes)")
    assert base64.b64decode(shell("skill", "read", "doc", "logo.png", "--json").data["base64"]) == b"\x89PNG\xff"
    shell("skill", "read", "doc", "../../../etc/passwd").failed(5, "leaves the skill")
    shell("skill", "read", "doc", "nope.md").failed(3, "no file 'nope.md'")
