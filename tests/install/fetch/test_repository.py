"""Folders of a repository that are skills, as the other installers lay them out."""

from __future__ import annotations

import json

import pytest

from builders import skill_text
from metier.archive import Contents, Member
from metier.errors import AmbiguousError, SkillNotFoundError
from metier.install.fetch.repository import FoundSkill, find_skills, select_skills, wanted_by_default
from metier.install.fetch.tree import ContentsTree
from metier.spec import is_name


def tree(*folders: str, **files: str) -> ContentsTree:
    members = [
        Member(f"{folder}/SKILL.md".lstrip("/"), skill_text(folder.rpartition("/")[2] or "top").encode()) for folder in folders
    ]
    return ContentsTree(
        Contents([*members, Member("README.md", b"x"), *(Member(path, text.encode()) for path, text in files.items())])
    )


def paths(*folders: str, path: str = "", full_depth: bool = False) -> list[str]:
    return [one.path for one in find_skills(tree(*folders), path=path, full_depth=full_depth).found]


def test_a_skill_at_the_top_is_the_one_skill() -> None:
    assert paths("", "skills/x") == [""]
    assert paths("", "skills/x", full_depth=True) == ["", "skills/x"] or paths("", "skills/x", full_depth=True) == [
        "skills/x",
        "",
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "x",
        "skills/x",
        "skills/ns/x",
        "skills/.curated/x",
        "skills/.experimental/x",
        "plugins/p/skills/x",
        "a/b/skills/x",
        "a/skills/ns/x",
        ".claude/skills/x",
        ".agents/skills/x",
        ".github/skills/x",
        ".claude/skills/ns/x",
    ],
)
def test_every_usual_place_is_found(folder: str) -> None:
    assert paths(folder, "docs/examples/not-here/deep/y") == [folder]


def test_the_most_specific_places_come_first() -> None:
    assert paths(".claude/skills/d", "a/skills/c", "skills/ns/b2", "skills/b", "a0") == [
        "a0",
        "skills/b",
        "skills/ns/b2",
        "a/skills/c",
        ".claude/skills/d",
    ]


def test_only_where_nothing_is_usual_the_rest_is_searched_five_levels_deep() -> None:
    assert paths("a/b/c/d/x") == ["a/b/c/d/x"]
    assert paths("a/b/c/d/e/x") == []
    assert paths("node_modules/p/x", "a/dist/x", "a/build/x", ".git2/x/y") == [".git2/x/y"]


def test_an_example_inside_a_skill_is_a_part_of_it() -> None:
    assert paths("skills/a", "skills/a/skills/inner", "skills/a/examples") == ["skills/a"]
    assert len(paths("skills/a", "skills/a/skills/inner", full_depth=True)) == 2


def test_a_copy_in_an_agents_folder_gives_way_to_the_skill_it_is_a_copy_of() -> None:
    found = find_skills(tree("skills/a", ".claude/skills/a", ".claude/skills/b")).found
    assert [(one.path, one.hidden) for one in found] == [("skills/a", False), (".claude/skills/b", True)]


def test_a_path_narrows_the_search() -> None:
    assert paths("skills/a", "skills/b", path="skills/b") == ["skills/b"]
    assert paths("packages/p/skills/a", "packages/q/skills/b", path="packages/p") == ["packages/p/skills/a"]
    with pytest.raises(SkillNotFoundError) as caught:
        paths("skills/alpha", path="skills/alfa")
    assert "skills/alpha" in caught.value.hint


def test_two_skills_of_one_name_are_both_there_and_asking_for_that_name_is_a_question() -> None:
    found = find_skills(tree("skills/a", "plugins/p/skills/a", "skills/b")).found
    assert [one.path for one in found] == ["skills/a", "skills/b", "plugins/p/skills/a"]
    with pytest.raises(AmbiguousError) as caught:
        select_skills(found, ["a"])
    assert "plugins/p/skills/a, skills/a" in caught.value.hint
    assert [one.path for one in select_skills(found, ["plugins/p/skills/a", "b", "b"])] == ["plugins/p/skills/a", "skills/b"]


def test_a_skill_that_is_not_there_is_not_found_and_the_nearest_is_named() -> None:
    found = find_skills(tree("skills/code-review")).found
    with pytest.raises(SkillNotFoundError) as caught:
        select_skills(found, ["code-reviev"])
    assert "'code-review'" in caught.value.hint


def test_an_internal_skill_is_offered_only_by_name() -> None:
    hidden = skill_text("secret", head="metadata:\n  internal: true")
    found = find_skills(tree("skills/a", **{"skills/secret/SKILL.md": hidden})).found
    assert [one.name for one in wanted_by_default(found)] == ["a"]
    assert [one.name for one in select_skills(found, ["secret"])] == ["secret"]


@pytest.mark.parametrize("declared", ["..", ".", "a/b", "../../evil", "/etc", "~", "CON:", "Мой", '""', "x\\y", "a\u202eb"])
def test_i03_whatever_a_skill_calls_itself_its_folder_gets_a_valid_name(declared: str) -> None:
    text = f"---\nname: {declared}\ndescription: d\n---\n"
    (found,) = find_skills(ContentsTree(Contents([Member("skills/Some Folder/SKILL.md", text.encode())]))).found
    assert is_name(found.name)
    assert select_skills([found], [found.name]) == (found,)


def test_a_skill_is_also_found_by_the_name_it_gives_itself() -> None:
    text = "---\nname: My Skill\ndescription: d\n---\n"
    (found,) = find_skills(ContentsTree(Contents([Member("x/SKILL.md", text.encode())]))).found
    assert (found.name, found.declared) == ("my-skill", "My Skill")
    assert select_skills([found], ["My Skill"]) == (found,)


@pytest.mark.parametrize(
    "text", ["no frontmatter", "---\nname: x\n---\n", "---\n[\n---\n", "\x00", "---\nname: x\ndescription: &a x\n---\n"]
)
def test_a_skill_that_no_model_could_use_is_offered_with_the_reason(text: str) -> None:
    (found,) = find_skills(tree(**{"skills/bad/SKILL.md": text})).found
    assert (found.name, bool(found.problem)) == ("bad", True)


def test_a_skill_at_the_top_without_a_name_is_called_like_its_source() -> None:
    bare = ContentsTree(Contents([Member("SKILL.md", b"---\ndescription: d\n---\n")]))
    assert find_skills(bare, fallback="My_Repo").found[0].name == "my-repo"
    assert find_skills(bare, fallback="???").found[0].name == "skill"


def test_bundles_add_their_folders_names_warnings_and_what_is_elsewhere() -> None:
    market = {
        "plugins": [
            {"name": "p", "source": "./odd/place", "skills": ["./one"]},
            {"name": "q", "source": {"source": "github", "repo": "o/r"}},
            {"name": "bad", "source": "./../x"},
        ]
    }
    search = find_skills(tree("odd/place/one", "skills/a", **{".claude-plugin/marketplace.json": json.dumps(market)}))
    assert [(one.path, one.bundle) for one in search.found] == [("skills/a", ""), ("odd/place/one", "p")]
    assert search.elsewhere == ("github:o/r",)
    assert len(search.warnings) == 1


def test_found_is_a_value() -> None:
    assert FoundSkill(name="a", path="x") == FoundSkill(name="a", path="x")
