"""Our dataclasses do what the standard library's do; the same class is made by both and compared."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from metier import values

# Any: the same class twice, which a type checker could only know by one of them.
BOTH = pytest.mark.parametrize("made_by", [values, dataclasses], ids=["ours", "the standard library's"])


def point(made_by: Any, **how: bool) -> Any:
    class Point:
        x: int
        """Across."""
        y: int = 2
        tags: list[str] = made_by.field(default_factory=list)
        note: str = made_by.field(default="", compare=False, repr=False)
        total: int = made_by.field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

        @property
        def doubled(self) -> int:
            return self.x * 2

    return made_by.dataclass(**how)(Point)


@values.dataclass(frozen=True, slots=True, order=True)
class Version:
    major: int
    minor: int = 0


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str
    known: dict[str, int] = values.field(default_factory=dict)


def ways() -> Iterator[dict[str, bool]]:
    for frozen in (False, True):
        for slots in (False, True):
            for kw_only in (False, True):
                yield {"frozen": frozen, "slots": slots, "kw_only": kw_only}


@BOTH
@pytest.mark.parametrize("how", list(ways()), ids=str)
def test_a_value_has_its_fields_defaults_and_computed_fields(made_by: Any, how: dict[str, bool]) -> None:
    Point = point(made_by, **how)  # noqa: N806
    one, other = Point(x=1), Point(x=1, y=2, note="another")
    assert (one.x, one.y, one.tags, one.note, one.total, one.doubled) == (1, 2, [], "", 3, 2)
    assert one == other
    assert one != Point(x=2)
    assert one != (1, 2, [], "", 3)
    assert one.tags is not other.tags
    assert repr(one).endswith(".Point(x=1, y=2, tags=[], total=3)")
    assert hasattr(one, "__dict__") is not how["slots"]


@BOTH
@pytest.mark.parametrize("how", list(ways()), ids=str)
def test_only_a_frozen_value_refuses_to_be_changed_and_only_that_has_a_hash(made_by: Any, how: dict[str, bool]) -> None:
    Point = point(made_by, **how)  # noqa: N806
    one = Point(x=1, tags=())
    if how["frozen"]:
        assert len({one, Point(x=1, tags=()), Point(x=2, tags=())}) == 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            one.x = 5
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del one.x
    else:
        one.x = 5
        assert one.x == 5
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)


@BOTH
def test_a_wrong_call_says_what_is_missing_every_time(made_by: Any) -> None:
    Point = point(made_by, frozen=True, slots=True, kw_only=True)  # noqa: N806
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required keyword-only argument: 'x'"):
            Point()
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            Point(x=1, z=2)
        with pytest.raises(TypeError, match="positional"):
            Point(1)


@BOTH
def test_a_positional_class_can_be_matched_and_a_keyword_one_cannot(made_by: Any) -> None:
    assert point(made_by, frozen=True).__match_args__ == ("x", "y", "tags", "note")
    assert point(made_by, kw_only=True).__match_args__ == ()


@BOTH
def test_a_default_that_all_values_would_share_is_refused(made_by: Any) -> None:
    class Shared:
        names: list[str] = []  # noqa: RUF012 - what the test is about

    with pytest.raises(ValueError, match="default_factory"):
        made_by.dataclass(Shared)


@BOTH
def test_methods_of_the_class_are_kept(made_by: Any) -> None:
    class Loud:
        name: str

        def __repr__(self) -> str:
            return self.name.upper()

    assert repr(made_by.dataclass(frozen=True, slots=True)(Loud)("a")) == "A"


def family(made_by: Any, **how: bool) -> Any:
    """A base class and two generations below it, one of which declares a field again."""

    class Base:
        kind: ClassVar[str] = "base"
        x: int
        tags: list[str] = made_by.field(default_factory=list)

        def shout(self) -> str:
            return f"{self.x}!"

    base = made_by.dataclass(**how)(Base)

    class Child(base):  # type: ignore[misc, valid-type]
        kind: ClassVar[str] = "child"
        y: int = 5

    child = made_by.dataclass(**how)(Child)

    class Grandchild(child):  # type: ignore[misc, valid-type]
        x: int = 7
        z: str = "z"

    return made_by.dataclass(**how)(Grandchild)


@BOTH
@pytest.mark.parametrize("how", list(ways()), ids=str)
def test_a_class_inherits_fields_in_order_and_may_declare_one_again(made_by: Any, how: dict[str, bool]) -> None:
    Grandchild = family(made_by, **how)  # noqa: N806
    value = Grandchild(tags=["a"], y=1)
    assert repr(value).endswith(".Grandchild(x=7, tags=['a'], y=1, z='z')")
    assert (value.kind, value.shout(), [one.name for one in dataclasses.fields(value)]) == (
        "child",
        "7!",
        ["x", "tags", "y", "z"],
    )
    assert value == Grandchild(tags=["a"], y=1)
    assert Grandchild.__match_args__ == (() if how["kw_only"] else ("x", "tags", "y", "z"))
    assert hasattr(value, "__dict__") is not how["slots"]
    if how["slots"]:
        assert Grandchild.__slots__ == ("z",)
    if not how["kw_only"]:
        assert Grandchild(1, [], 2, "c").y == 2


@BOTH
def test_each_class_of_a_family_has_an_init_of_its_own(made_by: Any) -> None:
    Grandchild = family(made_by, frozen=True)  # noqa: N806
    child, base = Grandchild.__mro__[1:3]
    assert (Grandchild().x, child(1).y, base(2).x) == (7, 5, 2)
    with pytest.raises(TypeError, match="'y'"):
        base(x=1, y=2)
    assert base(1) != child(1)


@BOTH
def test_an_init_may_call_the_one_of_its_base(made_by: Any) -> None:
    class Base:
        x: int

    base = made_by.dataclass(Base)

    class Child(base):  # type: ignore[misc, valid-type]
        y: int

        def __init__(self, x: int) -> None:
            base.__init__(self, x)
            self.y = x + 1

    child = made_by.dataclass(Child)
    assert [(value.x, value.y) for value in (child(1), child(2))] == [(1, 2), (2, 3)]
    assert base(5).x == 5


@BOTH
def test_positional_fields_come_before_keyword_only_ones_of_a_base(made_by: Any) -> None:
    class Base:
        x: int = 1

    base = made_by.dataclass(kw_only=True)(Base)

    class Child(base):  # type: ignore[misc, valid-type]
        y: int

    value = made_by.dataclass(Child)(2, x=3)
    assert (value.y, value.x) == (2, 3)


@BOTH
def test_a_required_field_after_an_optional_one_is_refused_when_the_class_is_defined(made_by: Any) -> None:
    class Base:
        x: int = 1

    base = made_by.dataclass(Base)

    class Child(base):  # type: ignore[misc, valid-type]
        y: int

    with pytest.raises(TypeError, match="non-default argument 'y' follows default argument"):
        made_by.dataclass(Child)


@BOTH
@pytest.mark.parametrize("frozen", [True, False])
def test_frozen_and_other_classes_do_not_inherit_from_each_other(made_by: Any, frozen: bool) -> None:
    class Base:
        x: int

    base = made_by.dataclass(frozen=not frozen)(Base)

    class Child(base):  # type: ignore[misc, valid-type]
        y: int

    with pytest.raises(TypeError, match="cannot inherit"):
        made_by.dataclass(frozen=frozen)(Child)


def test_a_class_does_not_inherit_from_one_of_the_standard_library() -> None:
    base = dataclasses.make_dataclass("Base", ["x"])

    class Child(base):  # type: ignore[misc, valid-type]
        y: int = 1

    with pytest.raises(TypeError, match="standard library"):
        values.dataclass(Child)


def test_values_are_ordered_where_that_was_asked_for() -> None:
    assert sorted([Version(2), Version(1, 5), Version(1)]) == [Version(1), Version(1, 5), Version(2)]
    assert Version(1) <= Version(1)
    assert not Version(1) > Version(1)
    with pytest.raises(TypeError, match="not supported"):
        assert Version(1) < (1, 0)  # type: ignore[operator]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_frozen_value_survives_copying_and_pickling(again: Callable[[object], object]) -> None:
    for value in (Version(1, 2), Named(name="a", known={"b": 1})):
        assert again(value) == value


def test_replace_makes_another_value_and_takes_the_standard_librarys_too() -> None:
    Point = point(dataclasses, frozen=True)  # noqa: N806
    assert values.replace(Version(1, 2), minor=3) == Version(1, 3)
    assert values.replace(Point(1), x=2).total == 4
    assert values.replace(point(values, frozen=True)(1), x=2).total == 4
    with pytest.raises(TypeError, match="micro"):
        values.replace(Version(1), micro=1)  # type: ignore[call-arg]


def test_the_standard_librarys_functions_know_our_values() -> None:
    assert dataclasses.is_dataclass(Version)
    assert [one.name for one in dataclasses.fields(Named)] == ["name", "known"]
    assert dataclasses.asdict(Named(name="a", known={"b": 1})) == {"name": "a", "known": {"b": 1}}
    assert dataclasses.replace(Version(1), minor=4) == Version(1, 4)


def test_defining_a_class_imports_neither_dataclasses_nor_inspect() -> None:
    code = (
        "import sys; from metier.values import dataclass\n"
        "@dataclass(frozen=True, slots=True)\nclass A:\n    x: int = 1\n"
        "assert A(2).x == 2; sys.exit('dataclasses' in sys.modules or 'inspect' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
