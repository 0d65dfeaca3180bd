"""The part of the system prompt about skills: the catalog, and the skills that the model did not load itself."""

from __future__ import annotations

from collections.abc import Collection

from metier.disclosure import ActivationMethod, Budget, CatalogStyle, left_out_sentence, render_catalog
from metier.errors import MetierError
from metier.runtime import ActivatedBy, Session

__all__ = ["catalog_text", "included_instructions", "skills_to_include"]


def catalog_text(session: Session, budget: Budget, request: str, *, without: Collection[str] = ()) -> str:
    entries = [entry for entry in session.skills.for_models if entry.name not in without]
    style = CatalogStyle(activation=ActivationMethod.TOOL, count=session.options.count)
    page = render_catalog(entries, budget, style)
    selector = session.selector
    if request and selector is not None and set(page.full) != {entry.name for entry in entries}:
        by_folder = {entry.folder: entry for entry in entries}
        matches = selector.select(request, len(entries)).selected
        best = [by_folder.pop(match.id) for match in matches if match.id in by_folder]
        page = render_catalog([*best, *by_folder.values()], budget, style)
    if selector is None and page.left_out:
        # There is no search tool without a selector.
        sentence = left_out_sentence(page.left_out, ActivationMethod.TOOL)
        return page.text.replace(sentence, f"{page.left_out:,} more: call list_skills.")
    return page.text


def included_instructions(session: Session) -> list[str]:
    """The instructions of skills that the model did not load itself, and of their dependencies: it has not seen them."""
    rows = {row.name: row for row in session.active}
    wanted = skills_to_include(session)
    for name in wanted:
        wanted += [need for need in rows[name].dependencies if need in rows and need not in wanted]
    texts = []
    for row in sorted(rows.values(), key=lambda row: row.since):
        if row.name in wanted:
            try:
                texts.append(session.content(row.name))
            except (MetierError, OSError):
                # Deleted or broken by now; the session drops it with its next catalog.
                continue
    return texts


def skills_to_include(session: Session) -> list[str]:
    """The skills that the model did not load itself."""
    return [row.name for row in session.active if row.by not in (ActivatedBy.MODEL, ActivatedBy.DEPENDENCY)]
