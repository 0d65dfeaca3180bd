"""`render_prompt` over a catalog, with a selector and a loader of the caller."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from builders import write_skill
from metier.disclosure import Budget, Preset, PromptOptions, Tier, render_prompt
from metier.errors import UsageError
from metier.sources import SkillLoader, discover


class FixedSelector:
    """Selects the same skills for every request."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        self.asked: list[str] = []

    def select(self, query: str, limit: int | None = None) -> list[SimpleNamespace]:
        self.asked.append(query)
        return [SimpleNamespace(id=one) for one in self.ids[:limit]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_skill(tmp_path, "pdf", description="Fills PDF forms. Use when the user has a form.")
    write_skill(tmp_path, "charts", description="Draws charts. Use when the user wants a plot.")
    write_skill(tmp_path, "hidden", head="disable-model-invocation: true")
    return tmp_path


@pytest.mark.parametrize("preset", [preset for preset in Preset if preset is not Preset.ACTIVE])
def test_a_skill_that_is_closed_to_models_is_in_no_preset(root: Path, preset: Preset) -> None:
    shown = render_prompt(discover(root), "", PromptOptions(preset=preset))
    assert sorted(shown.on_page) == ["charts", "pdf"]
    assert "hidden" not in shown.text


def test_a_request_is_ranked_by_the_selector(root: Path) -> None:
    # The preset without locations, so that the budget does not depend on the length of a path.
    options = PromptOptions(preset=Preset.TOOL, budget=Budget(tokens=115))
    for best in ("charts", "pdf"):
        shown = render_prompt(discover(root), "anything", options, selector=FixedSelector(str(root / best)))
        assert shown.full + shown.shortened == (best,)
        assert len(shown.on_page) + shown.left_out == 2


def test_the_preset_active_loads_what_the_selector_activates(root: Path) -> None:
    catalog = discover(root)
    selector = FixedSelector(str(root / "pdf"), str(root / "hidden"))
    options = PromptOptions(preset=Preset.ACTIVE)
    shown = render_prompt(catalog, "fill this form", options, selector=selector, loader=SkillLoader(catalog))
    assert (shown.tier, shown.full, selector.asked) == (Tier.INSTRUCTIONS, ("pdf",), ["fill this form"])


def test_the_preset_active_needs_a_request_a_selector_and_a_loader(root: Path) -> None:
    options = PromptOptions(preset=Preset.ACTIVE)
    with pytest.raises(UsageError, match="needs a request"):
        render_prompt(discover(root), "", options)
    with pytest.raises(UsageError) as caught:
        render_prompt(discover(root), "fill this form", options)
    assert "SkillLoader" in caught.value.hint
