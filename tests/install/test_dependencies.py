from __future__ import annotations

import pytest

from metier.errors import NotFoundError, RefusedError
from metier.install.dependencies import in_order

NEEDS = {
    "report": ("pdf", "charts"),
    "pdf": ("fonts",),
    "charts": (),
    "fonts": (),
    "a": ("b",),
    "b": ("c",),
    "c": ("a",),
    "me": ("me",),
}


def test_dependencies_come_before_the_skill() -> None:
    assert in_order(["report"], NEEDS.get) == ("fonts", "pdf", "charts", "report")


@pytest.mark.parametrize(("root", "circle"), [("a", "a -> b -> c -> a"), ("me", "me -> me")])
def test_a_circle_is_refused_and_drawn(root: str, circle: str) -> None:
    with pytest.raises(RefusedError, match=circle) as caught:
        in_order([root], NEEDS.get)
    assert caught.value.rule == "dependency-cycle"


def test_a_missing_dependency_is_named_with_the_skill_that_needs_it() -> None:
    with pytest.raises(NotFoundError, match="x depends on 'y'"):
        in_order(["x"], {"x": ("y",)}.get)
    assert in_order(["x"], {"x": ("y",)}.get, present={"y"}) == ("x",)
