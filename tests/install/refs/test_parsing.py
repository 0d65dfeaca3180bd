"""Refs as users type them, and their meaning."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metier.errors import MetierError, RefusedError, SkillNotFoundError, UsageError
from metier.install.refs.parsing import (
    ArchiveFile,
    GitRef,
    HttpArchive,
    HttpSkillFile,
    LocalName,
    LocalPath,
    OciRef,
    Ref,
    RegistryRef,
    WellKnown,
    is_commit,
    is_git_ref,
    parse_ref,
)
from metier.install.refs.ref_types import inner_path, publisher_of

SHA = "0123456789abcdef0123456789abcdef01234567"
SHA256 = "0123456789abcdef" * 4


def on_github(path: str = "", **fields: str) -> GitRef:
    return GitRef(host="github.com", url="https://github.com/o/r.git", path=path, **fields)


TABLE: dict[str, Ref] = {
    "code-review": LocalName("code-review"),
    "./a": LocalPath("./a"),
    "..": LocalPath(".."),
    "~/skills": LocalPath("~/skills"),
    "/srv/skills": LocalPath("/srv/skills"),
    "C:\\skills": LocalPath("C:\\skills"),
    "x.zip": ArchiveFile("x.zip"),
    "./x.skill": ArchiveFile("./x.skill"),
    "~/d/x.tar.gz": ArchiveFile("~/d/x.tar.gz"),
    "downloads/x.tgz": ArchiveFile("downloads/x.tgz"),
    "r9s:code-review": RegistryRef(alias="r9s", name="code-review"),
    "r9s:code-review@1.2.0": RegistryRef(alias="r9s", name="code-review", version="1.2.0"),
    "clawhub:notes": RegistryRef(alias="clawhub", name="notes"),
    "clawhub:@Acme/notes": RegistryRef(alias="clawhub", name="notes", owner="acme"),
    "clawhub:acme/notes@^1.2": RegistryRef(alias="clawhub", name="notes", owner="acme", version="^1.2"),
    "https://clawhub.ai/acme/skills/notes": RegistryRef(alias="clawhub", name="notes", owner="acme"),
    "clawhub.ai/acme/notes": RegistryRef(alias="clawhub", name="notes", owner="acme"),
    "o/r": on_github(),
    "  o/r/  ": on_github(),
    "o/r@my-skill": on_github(skill="my-skill"),
    "o/r@v1.2.0": on_github(ref="v1.2.0"),
    "o/r@feature/x": on_github(ref="feature/x"),
    f"o/r@{SHA}": on_github(ref=SHA),
    "o/r/skills/x": on_github("skills/x"),
    "o/r/skills/x/SKILL.md": on_github("skills/x"),
    "o/r/packages/@scope/x": on_github("packages/@scope/x"),
    "o/r/skills/x@v1": on_github("skills/x", ref="v1"),
    "o/r#main@x": on_github(ref="main", skill="x"),
    "o/r#pkg@1.0.0": on_github(ref="pkg@1.0.0"),
    "o/r#refs/tags/v1": on_github(ref="refs/tags/v1"),
    "github:o/r": on_github(),
    "github:o/r/a/b@main": on_github("a/b", ref="main"),
    "github.com/o/r/a": on_github("a"),
    "https://github.com/o/r.git": on_github(),
    "https://git@github.com/o/r": on_github(),
    "https://www.GitHub.com/o/r": on_github(),
    "https://github.com/o/r/tree/main": on_github(ref="main"),
    "https://github.com/o/r/tree/main/a/b": on_github(tail="main/a/b"),
    "https://github.com/o/r/blob/main/a/SKILL.md": on_github(tail="main/a"),
    "https://github.com/o/r/blob/main/SKILL.md": on_github(ref="main"),
    "https://github.com/o/r/tree/feature%2Fx/a%20b?tab=readme#@s": on_github(tail="feature/x/a b", skill="s"),
    f"https://github.com/o/r/commit/{SHA}": on_github(ref=SHA),
    "https://github.com/o/r/releases/tag/v1": on_github(ref="v1"),
    "https://github.com/o/r/raw/main/x/SKILL.md": HttpSkillFile("https://github.com/o/r/raw/main/x/SKILL.md"),
    "https://github.com/o/r/blob/main/x.skill": HttpArchive("https://github.com/o/r/raw/main/x.skill"),
    "gitlab:g/s/r//a/b@v1": GitRef(host="gitlab.com", url="https://gitlab.com/g/s/r.git", path="a/b", ref="v1"),
    "https://gitlab.com/g/s/r": GitRef(host="gitlab.com", url="https://gitlab.com/g/s/r.git"),
    "https://git.example.com/g/r/-/tree/a/b": GitRef(host="git.example.com", url="https://git.example.com/g/r.git", tail="a/b"),
    "https://bitbucket.org/o/r/src/main/a": GitRef(host="bitbucket.org", url="https://bitbucket.org/o/r.git", tail="main/a"),
    "https://codeberg.org/o/r/src/branch/main/a": GitRef(
        host="codeberg.org", url="https://codeberg.org/o/r.git", tail="main/a"
    ),
    "git+https://example.com/r.git#v1": GitRef(host="example.com", url="https://example.com/r.git", ref="v1"),
    "git+https://example.com/r.git@v1": GitRef(host="example.com", url="https://example.com/r.git", ref="v1"),
    "git+https://example.com:8443/x//a/b#@s": GitRef(
        host="example.com", url="https://example.com:8443/x", path="a/b", skill="s"
    ),
    "https://example.com/r.git": GitRef(host="example.com", url="https://example.com/r.git"),
    "ssh://git@example.com:7999/p/r.git": GitRef(host="example.com", url="ssh://git@example.com:7999/p/r.git"),
    "git+ssh://git@example.com/r.git": GitRef(host="example.com", url="ssh://git@example.com/r.git"),
    "git@example.com:o/r.git#v1": GitRef(host="example.com", url="git@example.com:o/r.git", ref="v1"),
    "git@example.com:o/r.git//skills/x": GitRef(host="example.com", url="git@example.com:o/r.git", path="skills/x"),
    "git://example.com/r.git": GitRef(host="example.com", url="git://example.com/r.git"),
    "file:///srv/r.git": GitRef(host="", url="file:///srv/r.git"),
    "https://example.com/x.zip?v=1": HttpArchive("https://example.com/x.zip?v=1"),
    "https://codeload.github.com/o/r/zip/main": HttpArchive("https://codeload.github.com/o/r/zip/main"),
    "https://example.com/a/SKILL.md": HttpSkillFile("https://example.com/a/SKILL.md"),
    "oci://ghcr.io/o/r": OciRef(host="ghcr.io", repository="o/r"),
    "OCI://LOCALHOST:5000/a/b_c/d-e:V1.2_x": OciRef(host="localhost:5000", repository="a/b_c/d-e", tag="V1.2_x"),
    f"oci://[::1]:80/r:1@sha256:{SHA256}": OciRef(host="[::1]:80", repository="r", tag="1", digest=f"sha256:{SHA256}"),
    "https://example.com": WellKnown(url="https://example.com"),
    "https://EXAMPLE.com:443/": WellKnown(url="https://example.com"),
    "https://notgithub.com/o/r": WellKnown(url="https://notgithub.com/o/r"),
    "https://github.com.evil.example/o/r": WellKnown(url="https://github.com.evil.example/o/r"),
    "https://example.com/.well-known/agent-skills/index.json": WellKnown(url="https://example.com"),
    "https://example.com/docs/.well-known/agent-skills/x": WellKnown(url="https://example.com/docs", skill="x"),
    "notgithub.com/o/r": GitRef(host="notgithub.com", url="https://notgithub.com/o/r.git"),
}


@pytest.mark.parametrize("text", TABLE)
def test_every_form_that_people_type_is_understood(text: str) -> None:
    assert parse_ref(text) == TABLE[text]


@pytest.mark.parametrize("text", TABLE)
def test_a_ref_can_be_written_down_and_read_again(text: str) -> None:
    assert parse_ref(TABLE[text].text) == TABLE[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "owner/",
        "/a b\x00",
        "Name",
        "a b",
        "owner/repo --upload-pack=x",
        "my owner/re po",
        "npm:x",
        "javascript:alert(1)",
        "@/x",
        "a//b",
        "-x",
        "--upload-pack=x",
        "o/r#-x",
        "o/r#a..b",
        "o/r#^1.2.0",
        "o/r#a b",
        "r9s:",
        "r9s:Bad Name",
        "r9s:x@",
        "clawhub:a/b/c",
        "clawhub:@/x",
        "clawhub:../x",
        "clawhub:@a..b/x",
        "other:x",
        "http://",
        "https://",
        "https://[",
        "https://exa mple.com/x",
        "https://github.com/owner",
        "https://github.com/o/r/issues/1",
        "file:///etc/passwd",
        "https://example.com:0/x.zip",
        "https://example.com:99999/",
        "gitlab:x",
        "github:o",
        "x" * 5000,
        "https://bücher.example",
    ],
)
def test_an_unknown_form_is_not_found_and_the_hint_lists_the_valid_ones(text: str) -> None:
    with pytest.raises(SkillNotFoundError) as caught:
        parse_ref(text)
    assert "metier skill install --help" in caught.value.hint
    assert len(caught.value.hint) < 120


@pytest.mark.parametrize(
    "text",
    [
        "o/r/../../etc",
        "github:o/r/a/../../b",
        "https://github.com/o/r/tree/main/../../etc",
        "https://github.com/o/r/tree/main/%2e%2e/x",
        "https://gitlab.com/o/r/-/tree/main/../x",
        "gitlab:g/r//../x",
        "o/r/a\\..\\b",
        "git+https://h.example/r.git//../x",
    ],
)
def test_i03_a_path_that_leaves_its_repository_is_refused(text: str) -> None:
    with pytest.raises(RefusedError):
        parse_ref(text)


@pytest.mark.parametrize(
    "text",
    [
        "ext::sh -c evil",
        "fd::17",
        "--upload-pack=evil",
        "-cprotocol.ext.allow=always",
        "ssh://-oProxyCommand=evil/x",
        "git@-oProxyCommand=evil:x/y",
        "ssh://git@-oProxyCommand=evil/x",
        "git+ssh://-oProxyCommand=x/y",
        "o/r#--upload-pack=evil",
        "git+https://h.example/r.git#-u",
        "git@h.example:-x/y",
        "git+ext::sh -c x",
        "git+https://h.example/--upload-pack=x;y",
    ],
)
def test_i19_to_i22_what_git_would_take_for_an_option_or_a_program_never_becomes_a_ref(text: str) -> None:
    with pytest.raises(MetierError):
        parse_ref(text)


@pytest.mark.parametrize(
    "text",
    ["oci://", "oci://h", "oci://h/", "oci://h/A", "oci://h/a:", "oci://h/a:-x", "oci://h/a@sha256:0", "oci://h/a@1", "oci://h/../a",
     "oci://h/a/", "oci://h/a?x=1", "oci://h/a#x", "oci://user@h/a", "git+oci://h/a"],
)  # fmt: skip
def test_an_oci_ref_that_is_none_is_not_found(text: str) -> None:
    with pytest.raises(SkillNotFoundError):
        parse_ref(text)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(RefusedError) as caught:
        parse_ref("https://me:hunter2@example.com/r.git")
    with pytest.raises(RefusedError):
        parse_ref("oci://me:hunter2@example.com/r")
    assert caught.value.rule == "password-in-url"
    assert "hunter2" not in str(caught.value) + caught.value.hint


def test_a_tree_address_keeps_every_reading_for_the_remote_to_decide() -> None:
    ref = parse_ref("https://github.com/o/r/tree/feature/x/skills/a")
    assert isinstance(ref, GitRef)
    assert ref.candidates == (
        ("feature/x/skills/a", ""),
        ("feature/x/skills", "a"),
        ("feature/x", "skills/a"),
        ("feature", "x/skills/a"),
    )


def test_a_company_may_have_a_github_of_its_own() -> None:
    assert parse_ref("o/r", github_host="ghe.example.com").text == "git+https://ghe.example.com/o/r.git"
    assert parse_ref("https://ghe.example.com/o/r/tree/main/a", github_host="ghe.example.com") == GitRef(
        host="ghe.example.com", url="https://ghe.example.com/o/r.git", tail="main/a"
    )
    assert parse_ref("github:o/r", github_host="ghe.example.com") == on_github()


def test_aliases_are_those_of_the_configuration() -> None:
    assert parse_ref("internal:x@2", aliases={"internal"}) == RegistryRef(alias="internal", name="x", version="2")
    with pytest.raises(SkillNotFoundError) as caught:
        parse_ref("other:x", aliases={"internal"})
    assert "internal" in caught.value.hint


def test_only_a_whole_commit_id_is_one() -> None:
    assert is_commit(SHA)
    assert is_commit(SHA + SHA[:24])
    assert not any(is_commit(text) for text in (None, "", SHA[:7], SHA.upper(), SHA + "0"))


@pytest.mark.parametrize("text", ["main", "v1.0", "feature/x", "a@b", "refs/heads/x", "日本"])
def test_a_branch_may_be_called_so(text: str) -> None:
    assert is_git_ref(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-x",
        "a..b",
        "a b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "[a",
        "a\\b",
        "/a",
        "a/",
        "a//b",
        ".a",
        "a/.b",
        "a.lock",
        "a.lock/b",
        "a.",
        "@{",
        "a@{1}",
        "@",
        "a\x7f",
        "x" * 256,
    ],
)
def test_a_branch_may_not_be_called_so(text: str) -> None:
    assert not is_git_ref(text)


def test_the_end_of_a_path_may_be_spelled_in_several_ways() -> None:
    assert {inner_path(text, "") for text in ("a/b", "/a/b/", "a/b/SKILL.md", "a//b", "./a/b")} == {"a/b"}


WORDS = st.text(string.ascii_letters + string.digits + "-._~/:@#?%+&= \\[]*^", max_size=60)
STARTS = st.sampled_from(
    [
        "",
        "github:",
        "gitlab:",
        "r9s:",
        "https://github.com/",
        "https://gitlab.com/",
        "https://example.com/",
        "git+https://h.example/",
        "git@h.example:",
        "ssh://",
        "o/r",
        "o/r#",
        "o/r@",
        "https://dev.azure.com/o/p/_git/r?",
        "https://h.example/g/r/-/tree/",
        "file:///",
        "https://example.com/.well-known/agent-skills/",
        "./",
        "~",
        "github.com/",
    ]
)


@given(STARTS, WORDS)
@example("https://example.com/.well-known/agent-skills/", "%")
@example("https://dev.azure.com/o/p/_git/r?", "path=%00")
def test_no_text_raises_anything_but_our_own_errors_and_every_ref_round_trips(start: str, rest: str) -> None:
    try:
        ref = parse_ref(start + rest)
    except MetierError as error:
        assert error.hint
        return
    assert parse_ref(ref.text) == ref


@given(st.text(max_size=80))
def test_no_unicode_text_raises_anything_but_our_own_errors(text: str) -> None:
    try:
        ref = parse_ref(text)
    except MetierError:
        return
    assert parse_ref(ref.text) == ref


@given(STARTS, WORDS)
def test_what_git_is_given_never_begins_like_an_option_and_names_a_known_transport(start: str, rest: str) -> None:
    try:
        ref = parse_ref(start + rest)
    except MetierError:
        return
    if isinstance(ref, GitRef):
        assert ref.url.startswith(("https://", "http://", "ssh://", "git://", "file:///")) or "@" in ref.url.partition(":")[0]
        assert "://-" not in ref.url
        assert not ref.url.startswith("-")
        assert all(reading is None or is_git_ref(reading) for reading, _ in ref.candidates)
        assert all(".." not in path.split("/") for _, path in ref.candidates)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("ftp://example.com/x.zip", "skills cannot be fetched over ftp://", "https, ssh or git"),
        ("S3://bucket/x", "skills cannot be fetched over s3://", "https, ssh or git"),
        ("git+gopher://example.com/x", "skills cannot be fetched over gopher://", "https, ssh or git"),
        ("https:/example.com/x.zip", "the address has one slash after https:", "write https://"),
        ("git+ssh:/git@example.com/x.git", "the address has one slash after ssh:", "write ssh://"),
    ],
)
def test_an_address_that_cannot_be_fetched_says_why(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        parse_ref(text)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "publisher"),
    [
        ("acme/tools", "acme"),
        ("acme/tools/skills/notes#v1", "acme"),
        ("github:acme/tools@v1", "acme"),
        ("https://github.com/acme/tools/tree/main/skills", "acme"),
        ("gitlab:group/sub/repo", "group"),
        ("git@git.corp.test:team/repo.git", "team"),
        ("git+https://git.corp.test/team/repo.git", "team"),
        ("git+https://git.corp.test/repo.git", "git.corp.test"),
        ("https://github.com/acme/tools/releases/download/v1/notes.zip", "acme"),
        ("https://files.corp.test/skills/notes.zip", "files.corp.test"),
        ("https://files.corp.test/skills/SKILL.md", "files.corp.test"),
        ("https://corp.test", "corp.test"),
        ("oci://ghcr.io/acme/notes:1", "acme"),
        ("r9s:notes", ""),
        ("clawhub:@acme/notes", "acme"),
        ("notes", ""),
        ("./acme/notes", ""),
        ("./acme/notes.zip", ""),
    ],
)
def test_the_publisher_is_the_owner_or_else_the_host(text: str, publisher: str) -> None:
    assert publisher_of(parse_ref(text)) == publisher
