"""Comments stay above the table that they describe."""

from __future__ import annotations

import pytest
import tomlkit

from metier.config.toml_comments import comments_at_tables

TEXT = """\
# mine

[skills]   # here
max_depth = 4
# deny = ["x"]

# about
# the cache
[cache]
enabled = true


# ours
[skills.sources.a]
url = "x"
# tail

# one
[[skills.plugins]]
url = "y"

# two
[[skills.plugins]]
url = "z"
[policy]
# nothing
"""


@pytest.mark.parametrize(
    "text", [TEXT, TEXT.replace("\n", "\r\n"), TEXT.replace("# ", "\t#"), "[a]\n[b]\n", "", "# x\n\n", "a = 1"]
)
def test_a_document_that_is_not_changed_keeps_its_text(text: str) -> None:
    document = tomlkit.parse(text)
    with comments_at_tables(document):
        pass
    assert tomlkit.dumps(document) == text


def test_new_keys_stand_before_the_comment_of_the_next_table() -> None:
    document = tomlkit.parse(TEXT)
    with comments_at_tables(document):
        document["skills"]["max_active"] = 3
        document["cache"]["size"] = 1
    text = tomlkit.dumps(document)
    assert '# deny = ["x"]\nmax_active = 3\n\n# about\n# the cache\n[cache]' in text
    assert "enabled = true\nsize = 1\n\n\n# ours\n[skills.sources.a]" in text
