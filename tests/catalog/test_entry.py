"""A skill as one source offers it: what is kept of a head, and that both roads to an offer agree."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import skill_text
from metier.catalog import Entry, Offer, OfferFlag, Source, State, offer_from_fields, offer_from_parse, offer_from_report
from metier.spec import Report, Severity, parse
from metier.spec.codes import problem
from metier.spec.fast_yaml import fast_fields


def slow_offer(head: str, name: str = "x") -> Offer:
    return offer_from_parse(f"/skills/{name}", 1, 2, parse(f"---\n{head}---\n".encode(), folder=name))


def entry_of(offer: Offer) -> Entry:
    return Entry(offer.name, offer.description, Source.USER, offer.folder, State.ENABLED, "", offer)


def entry_with(head: str) -> Entry:
    return entry_of(offer_from_parse("/skills/x", 1, 2, parse(skill_text("x", head=head).encode(), folder="x")))


def test_an_entry_has_its_location() -> None:
    entry = entry_with("")
    assert (entry.id, entry.location) == ("/skills/x", "/skills/x/SKILL.md")


def test_the_manifest_of_an_entry_matches_its_file() -> None:
    head = "license: MIT\nmetadata:\n  author: Ann\n  tags: a b\nallowed-tools: Read Bash(git add *)\nspecial: [1, 2]"
    entry = entry_with(head)
    assert entry.manifest == parse(skill_text("x", head=head).encode(), folder="x").manifest
    assert (entry.manifest.license, entry.manifest.extensions.author, entry.manifest.extra) == (
        "MIT",
        "Ann",
        {"special": [1, 2]},
    )


def test_the_report_of_an_entry_survives_the_way_through_the_cache() -> None:
    parsed = parse(b"---\nname: Other Name\ndescription: Use when: asked \xc3\xa9\nlicense: []\n---\n", folder="x")
    entry = entry_of(offer_from_parse("/skills/x", 1, 2, parsed))
    assert entry.report == parsed.report
    assert len(entry.report) > 1


def test_a_clean_entry_has_an_empty_report() -> None:
    assert entry_with("").report == Report()


def test_a_bad_skill_has_an_offer_with_its_folder_for_a_name_and_its_problem() -> None:
    offer = offer_from_report("/skills/broken", 1, 2, Report((problem("SK002", "SKILL.md is not a file"),)))
    assert (offer.name, offer.flags, entry_of(offer).report.errors[0].message) == (
        "broken",
        OfferFlag.BAD,
        "SKILL.md is not a file",
    )
    assert entry_of(offer).report.errors[0].severity is Severity.ERROR


def test_a_bad_skill_still_has_a_manifest_to_show() -> None:
    assert entry_of(offer_from_report("/skills/broken", 1, 2, Report())).manifest.name == "broken"


@pytest.mark.parametrize(
    ("head", "flag"),
    [
        ("default_enabled: false", OfferFlag.OFF_BY_DEFAULT),
        ("metadata:\n  default_enabled: 'false'", OfferFlag.OFF_BY_DEFAULT),
        ("disable-model-invocation: true", OfferFlag.HIDDEN_FROM_MODEL),
        ("allowed-tools: Read, Grep", OfferFlag.WARNED),
        ("default_enabled: true", 0),
        ("disable-model-invocation: false", 0),
        ("user-invocable: false", 0),
    ],
)
def test_flags_hold_the_facts_that_decide_a_state(head: str, flag: int) -> None:
    assert entry_with(head).offer.flags == flag


def test_commands_of_requires_and_of_the_compatibility_text_are_needs() -> None:
    entry = entry_with("compatibility: Requires git and Python 3.12+\nmetadata:\n  requires: gh, jq")
    assert entry.offer.needs == '[["gh","jq","git"],[],[3,12],[]]'


# --- the fast parser and the slow one ----------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
PLAIN = st.text("abcdefghijklmnop XYZ.,;-'0123456789äé漢", min_size=1, max_size=40).map(str.strip).filter(bool)
NEEDS = st.sampled_from(["Requires git and jq", "macOS only", "Requires Python 3.99+", "Python 3.11+", "any text"])
METADATA = st.dictionaries(
    st.sampled_from(["author", "version", "tags", "keywords", "requires", "default_enabled", "triggers", "toolsets", "note"]),
    st.one_of(PLAIN, st.sampled_from(["1.2.0", "gh", "gh jq", "gh, jq", "true", "false", "", "toolsets/a:B", "no"])),
    max_size=4,
)
EXTRA = st.dictionaries(
    st.sampled_from(
        ["license", "compatibility", "allowed-tools", "default_enabled", "disable-model-invocation", "requires", "unknown",
         "brief_description", "dependencies", "disable_model_invocation", "scripts"]
    ),
    st.one_of(PLAIN, NEEDS, st.sampled_from(["true", "false", "Read Bash(git add *)", "Read, Grep", "gh", "x-y"])),
    max_size=5,
)  # fmt: skip


def written(extra: Mapping[str, str], metadata: Mapping[str, str], description: str, *, quoted: bool) -> str:
    def value(text: str) -> str:
        return "'" + text.replace("'", "''") + "'" if quoted else text

    lines = ["name: x", f"description: {value(description)}", *(f"{key}: {value(text)}" for key, text in extra.items())]
    if metadata:
        lines += ["metadata:", *(f"  {key}: {value(text)}" for key, text in metadata.items())]
    return "\n".join(lines) + "\n"


@given(extra=EXTRA, metadata=METADATA, description=st.one_of(PLAIN, WORDS), quoted=st.booleans())
@example(extra={"requires": "gh jq"}, metadata={"requires": "git"}, description="d", quoted=False)
@example(extra={"compatibility": "Requires git"}, metadata={"default_enabled": "false"}, description="d", quoted=True)
def test_both_parsers_make_the_same_offer(
    extra: dict[str, str], metadata: dict[str, str], description: str, quoted: bool
) -> None:
    head = written(extra, metadata, description, quoted=quoted)
    fast = fast_fields(head, "x")
    if fast is not None and not fast.warned:
        assert offer_from_fields("/skills/x", 1, 2, fast.fields) == slow_offer(head)


@pytest.mark.parametrize(
    "head",
    [
        "name: x\ndescription: Plain.\n",
        "name: x\ndescription: >-\n  Folded\n  text.\n",
        "name: x\ndescription: ' padded '\n",
        "name: x\ndescription: D\ncompatibility: ' Requires git '\n",
        "name: x\ndescription: D\nmetadata:\n  requires: git, jq\n",
        "name: x\ndescription: D\nmetadata:\n  requires: git jq\n  author: Ann\n",
        "name: x\ndescription: D\nrequires: [git, jq]\n",
        "name: x\ndescription: D\ndefault_enabled: false\ntriggers:\n  keywords: [a]\n",
        "name: x\ndescription: D\nmetadata:\n  disable-model-invocation: 'true'\n",
        "name: x\ndescription: D\nmetadata: {}\n",
        "name: x\ndescription: D\nunknown:\n  deep: [a, {b: c}]\n",
    ],
)
def test_both_parsers_agree_on(head: str) -> None:
    fast = fast_fields(head, "x")
    assert fast is not None
    assert offer_from_fields("/skills/x", 1, 2, fast.fields) == slow_offer(head)


@pytest.mark.parametrize(
    "extra", ["allowed-tools: [Read, Grep]\n", "metadata:\n  tags: [pdf, forms]\n", "metadata:\n  requires: [git]\n"]
)
def test_a_list_where_text_belongs_is_read_and_its_problem_is_kept(extra: str) -> None:
    head = f"name: x\ndescription: D\n{extra}"
    fast = fast_fields(head, "x")
    assert fast is not None and fast.warned
    parsed = parse(f"---\n{head}---\n".encode(), folder="x")
    slow = slow_offer(head)
    offer = offer_from_fields("/skills/x", 1, 2, fast.fields, warned=head)
    assert offer._replace(problems="") == slow._replace(problems="")
    for entry in (entry_of(slow), entry_of(offer)):
        assert entry.manifest == parsed.manifest
        assert entry.report == parsed.report != Report()
