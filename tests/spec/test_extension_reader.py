"""Every key beyond the standard that metier understands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.spec import Extensions, Json, Parameter, ParameterType, Toolset, Triggers
from metier.spec.extension_reader import read_extensions


def extensions(**extra: Json) -> Extensions:
    """The extensions of keys at the top, which must give no problem."""
    read, odd = read_extensions(extra, {})
    assert odd == ()
    return read


def test_without_such_keys_everything_has_its_default() -> None:
    assert read_extensions({"homepage": "x"}, {"team": "y"}) == (Extensions(), ())


def test_keys_are_read_at_the_top_and_under_metadata_and_metadata_wins() -> None:
    read, _ = read_extensions({"version": "1.0.0", "author": "Ann"}, {"version": "2.0.0"})
    assert (read.version, read.author) == ("2.0.0", "Ann")


def test_only_known_keys_of_metadata_count() -> None:
    read, odd = read_extensions({}, {"version": "1.0.0", "user_invocable": "false"})
    assert (read.version, read.user_invocable, odd) == ("1.0.0", True, ())


@pytest.mark.parametrize("key", ["user-invocable", "user_invocable", "user-invokable"])
def test_common_spellings_mean_the_same(key: str) -> None:
    assert read_extensions({key: False}, {})[0].user_invocable is False


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("argument_hint", "argument_hint"),
        ("disable_model_invocation", "disable_model_invocation"),
        ("default-enabled", "default_enabled"),
        ("brief-description", "brief_description"),
    ],
)
def test_hyphens_and_underscores_are_forgiven(key: str, name: str) -> None:
    assert getattr(read_extensions({key: "yes"}, {})[0], name) in (True, "yes")


@pytest.mark.parametrize(
    ("value", "truth"),
    [
        (True, True),
        ("true", True),
        ("Yes", True),
        ("on", True),
        (1, True),
        (False, False),
        ("no", False),
        ("OFF", False),
        (0, False),
    ],
)
def test_truth_is_read_in_the_words_people_use(value: Json, truth: bool) -> None:
    assert read_extensions({"default_enabled": value}, {})[0].default_enabled is truth


def test_a_truth_that_is_neither_keeps_the_default_and_is_reported() -> None:
    read, (found,) = read_extensions({"user-invocable": "perhaps"}, {})
    assert read.user_invocable is True
    assert (found.code, found.message) == ("SK301", "user-invocable should be true or false, not 'perhaps'")


@pytest.mark.parametrize("version", ["1", "1.4", "1.4.0", "v1.4.0", "1.2.3.4", "1.0.0-beta.1", "1.0.0+build"])
def test_versions_of_numbers_are_fine(version: str) -> None:
    assert extensions(version=version).version == version


def test_another_version_is_kept_and_reported() -> None:
    read, (found,) = read_extensions({"version": "latest"}, {})
    assert (read.version, found.code) == ("latest", "SK304")


@pytest.mark.parametrize("value", ["pdf forms", "pdf,forms", " pdf , forms ,", ["pdf", "forms"], ["pdf ", " forms", "", None]])
def test_words_may_be_a_list_or_a_text(value: Json) -> None:
    assert extensions(tags=value).tags == ("pdf", "forms")


def test_tags_and_keywords_are_one_set_in_order() -> None:
    assert extensions(tags="b a", keywords="a c").tags == ("b", "a", "c")


def test_commas_let_a_tag_hold_spaces() -> None:
    assert extensions(tags="pdf forms, tax").tags == ("pdf forms", "tax")


def test_requires_keeps_commands_and_reports_the_rest() -> None:
    read, odd = read_extensions({"requires": "git jq ./run --x g++"}, {})
    assert read.requires == ("git", "jq", "g++")
    assert [found.message for found in odd] == [
        "requires: './run' is not the name of a command",
        "requires: '--x' is not the name of a command",
    ]


@pytest.mark.parametrize("reference", ["toolsets/index:Tools", "toolsets/index.py:Tools", "toolsets/a/b:Tools"])
def test_a_toolset_names_a_module_of_the_skill(reference: str) -> None:
    (toolset,) = extensions(toolsets=[reference]).toolsets
    assert str(toolset) == reference.replace(".py", "")


@pytest.mark.parametrize(
    "reference", ["index:Tools", "toolsets/../x:Tools", "toolsets/index", "toolsets/a.ts:Tools", "os:system"]
)
def test_another_toolset_is_refused(reference: str) -> None:
    read, (found,) = read_extensions({"toolsets": reference}, {})
    assert (read.toolsets, found.code) == ((), "SK303")


def test_a_toolset_is_a_value() -> None:
    assert extensions(toolsets="toolsets/index:Tools").toolsets == (Toolset("toolsets/index", "Tools"),)


@pytest.mark.parametrize(
    "value",
    [["a.py", {"path": "./b.py", "description": "Draw  it."}, {"name": "scripts/c.py"}],
     {"a.py": None, "b.py": "Draw it.", "c": {"path": "c.py"}}],
    ids=["list", "map"],
)  # fmt: skip
def test_scripts_are_paths_below_scripts_with_descriptions(value: Json) -> None:
    read = extensions(scripts=value)
    assert read.scripts == ("scripts/a.py", "scripts/b.py", "scripts/c.py")
    assert read.script_descriptions == {"scripts/b.py": "Draw it."}


@pytest.mark.parametrize("value", [[["a.py"]], [{"description": "x"}], [3], {"a.py": ["x"]}])
def test_scripts_of_another_shape_are_reported(value: Json) -> None:
    read, (found,) = read_extensions({"scripts": value}, {})
    assert (read.scripts, found.code) == ((), "SK301")


def test_triggers_have_keywords_verbs_and_patterns() -> None:
    triggers = extensions(triggers={"keywords": ["pdf"], "verbs": ["fill"], "patterns": [r"\.pdf$"]}).triggers
    assert triggers == Triggers(keywords=("pdf",), verbs=("fill",), patterns=(r"\.pdf$",))
    assert triggers.any


def test_a_bare_list_of_triggers_is_keywords() -> None:
    assert extensions(triggers=["fill a form", "pdf"]).triggers == Triggers(keywords=("fill a form", "pdf"))


def test_no_trigger_is_not_any() -> None:
    assert not Triggers().any


def test_a_pattern_that_does_not_compile_is_dropped_and_reported() -> None:
    read, (found,) = read_extensions({"triggers": {"patterns": ["[a", "b+"]}}, {})
    assert (read.triggers.patterns, found.code) == (("b+",), "SK302")


def test_an_unknown_kind_of_trigger_is_reported() -> None:
    _, (found,) = read_extensions({"triggers": {"globs": ["*.pdf"]}}, {})
    assert (found.code, found.message) == ("SK301", "triggers.globs is not one of keywords, verbs, patterns")


@pytest.mark.parametrize(
    "value",
    [["base-style@>=2.0", "words"], "base-style@>=2.0, words", {"base-style": ">=2.0", "words": None}],
    ids=["list", "text", "map"],
)
def test_a_dependency_may_name_a_range_of_versions(value: Json) -> None:
    read = extensions(dependencies=value)
    assert (read.dependencies, read.dependency_versions) == (("base-style", "words"), {"base-style": ">=2.0"})


@pytest.mark.parametrize(
    ("written", "message"),
    [("base-style@newest", "dependencies: 'newest' is not a range of versions"),
     ("base-style>=2.0", "dependencies: 'base-style>=2.0' is not a skill name")],
)  # fmt: skip
def test_a_malformed_dependency_is_reported_with_a_hint(written: str, message: str) -> None:
    read, (found,) = read_extensions({"dependencies": [written]}, {})
    assert (read.dependencies, found.code, found.message) == ((), "SK306", message)
    assert "base-style@>=2.0" in found.hint


def test_dependencies_are_skill_names() -> None:
    read, (found,) = read_extensions({"dependencies": ["pdf-tools", "Other Skill"]}, {})
    assert (read.dependencies, found.code) == (("pdf-tools",), "SK306")


def test_a_parameter_has_a_type_a_default_and_a_description() -> None:
    declared: Json = {"type": "integer", "default": 3, "description": "How many"}
    assert extensions(parameters={"count": declared}).parameters == (
        Parameter(name="count", type=ParameterType.INTEGER, default=3, description="How many"),
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("formal", ParameterType.STRING),
        (True, ParameterType.BOOLEAN),
        (3, ParameterType.INTEGER),
        (1.5, ParameterType.NUMBER),
    ],
)
def test_a_bare_value_declares_its_own_type(value: Json, kind: ParameterType) -> None:
    (parameter,) = extensions(parameters={"style": value}).parameters
    assert (parameter.type, parameter.default) == (kind, value)


def test_the_default_of_a_text_becomes_text() -> None:
    (parameter,) = extensions(parameters={"style": {"default": 3}}).parameters
    assert parameter.default == "3"


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "date"},
        {"type": "integer", "default": "3"},
        {"type": "integer", "default": True},
        {"type": "boolean", "default": 1},
        {"type": "number", "default": False},
        {"type": "string", "default": ["a"]},
    ],
)
def test_a_parameter_that_does_not_fit_is_dropped_and_reported(declared: Json) -> None:
    read, (found,) = read_extensions({"parameters": {"x": declared}}, {})
    assert (read.parameters, found.code) == ((), "SK305")


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ({"author": ["Ann"]}, "SK301"),
        ({"tags": {"a": "b"}}, "SK301"),
        ({"scripts": [["a"]]}, "SK301"),
        ({"toolsets": {"a": "b"}}, "SK301"),
        ({"default_enabled": []}, "SK301"),
        ({"parameters": ["a"]}, "SK305"),
    ],
)
def test_a_value_of_another_shape_is_reported_and_left_at_its_default(extra: dict[str, Json], code: str) -> None:
    read, (found,) = read_extensions(extra, {})
    assert (read, found.code) == (Extensions(), code)


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(alphabet="a1(*,: -/\n", max_size=9)
NAMES = st.text(alphabet="akpv", max_size=4)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)
KEYS = st.sampled_from(
    ["version", "author", "tags", "requires", "toolsets", "scripts", "triggers", "default_enabled", "user-invocable",
     "dependencies", "parameters", "argument_hint"]
)  # fmt: skip


@given(st.dictionaries(KEYS, JSON))
def test_no_value_makes_it_raise(extra: dict[str, Json]) -> None:
    _, odd = read_extensions(extra, extra)
    assert {found.code[:3] for found in odd} <= {"SK3"}


@pytest.mark.parametrize("pattern", [r"(?<=x)y", r"(?<!x)y", r"a(?!b)", r"a(?=b)", r"(a)\1", "a++", r"\d{2}+", "(?>a)"])
def test_a_pattern_that_is_never_run_is_reported(pattern: str) -> None:
    read, [odd] = read_extensions({"triggers": {"patterns": [pattern]}}, {})
    assert (read.triggers.patterns, odd.code) == ((), "SK302")
    assert "is never run" in odd.message


@pytest.mark.parametrize("pattern", [r"greet\s+\w+", "[+]+", r"\(\?=x", "(?:a|b)+?", "(?P<n>a)", "(?i)a", r"\+\+"])
def test_a_pattern_that_can_run_is_kept(pattern: str) -> None:
    assert extensions(triggers={"patterns": [pattern]}).triggers.patterns == (pattern,)
