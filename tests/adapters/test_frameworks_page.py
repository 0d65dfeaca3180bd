"""The table of what adapters support is what the kit says."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from metier.testing.adapters import scenarios

ROOT = Path(__file__).resolve().parents[2]


def loaded(file: Path) -> Any:  # Any: a script, not a package
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


frameworks = loaded(ROOT / "tools" / "frameworks.py")


def test_the_table_on_the_page_is_that_of_the_suites() -> None:
    # Each `✓` stands for a scenario that is collected, so that it is red here when it does not hold.
    text = frameworks.PAGE.read_text(encoding="utf-8")
    table = text[text.index(frameworks.BEGIN) + len(frameworks.BEGIN) : text.index(frameworks.END)].strip()
    assert table == frameworks.table(frameworks.claimed()), "run tools/frameworks.py"


def test_every_suite_is_collected_here() -> None:
    collected = (Path(__file__).with_name("test_conformance.py")).read_text(encoding="utf-8")
    for suite in frameworks.ALL.values():
        assert f"class Test{suite.__name__}(" in collected


def test_a_scenario_that_is_left_to_the_host_is_not_claimed() -> None:
    for suite in frameworks.ALL.values():
        for name in suite.left_to_host:
            assert name in scenarios()
            assert getattr(suite, f"test_{name}") is None


def test_only_a_yes_becomes_a_tick() -> None:
    results = frameworks.claimed()
    results["LiteLLM"]["a_resource_is_read"] = "NO: AssertionError"
    assert "NO: AssertionError." in frameworks.table(results)
    assert frameworks.table(results).count("✓") == frameworks.table(frameworks.claimed()).count("✓") - 1


def test_every_adapter_has_a_page_that_the_index_names() -> None:
    folder = frameworks.PAGE.parent
    index = frameworks.PAGE.read_text(encoding="utf-8")
    for page in folder.glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name
    adapters = {"openai", "openai_agents", "claude", "pydantic_ai", "langchain", "litellm", "agent_framework", "weakincentives"}
    assert {page.stem.replace("-", "_") for page in folder.glob("*.md")} == adapters | {"README"}
