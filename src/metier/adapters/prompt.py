"""What the system prompt of an agent says about skills: the catalog, and those that somebody else than the model chose."""

from __future__ import annotations

from metier.disclosure import ActivationMethod, Budget, CatalogStyle, left_out_sentence, render_catalog
from metier.errors import MetierError
from metier.runtime import ActivatedBy, Session

__all__ = ["activated_elsewhere", "catalog_text", "instructions_activated_elsewhere"]


def catalog_text(session: Session, budget: Budget, request: str) -> str:
    entries = session.skills.for_models
    style = CatalogStyle(activation=ActivationMethod.TOOL, count=session.options.count)
    page = render_catalog(entries, budget, style)
    selector = session.services.selector
    if request and selector is not None and set(page.full) != {entry.name for entry in entries}:
        by_folder = {entry.folder: entry for entry in entries}
        matches = selector.select(request, len(entries)).selected
        best = [by_folder.pop(match.id) for match in matches if match.id in by_folder]
        page = render_catalog([*best, *by_folder.values()], budget, style)
    if selector is None and page.left_out:
        # Nobody is sent to a tool that is not there.
        sentence = left_out_sentence(page.left_out, ActivationMethod.TOOL)
        return page.text.replace(sentence, f"{page.left_out:,} more: call list_skills.")
    return page.text


def instructions_activated_elsewhere(session: Session) -> list[str]:
    """The instructions of skills that the model did not load itself, so never saw as an answer, with what those need."""
    rows = {row.name: row for row in session.active}
    wanted = activated_elsewhere(session)
    for name in wanted:
        wanted += [need for need in rows[name].dependencies if need in rows and need not in wanted]
    texts = []
    for row in sorted(rows.values(), key=lambda row: row.since):
        if row.name in wanted:
            try:
                texts.append(session.content(row.name))
            except (MetierError, OSError):
                # Deleted or broken meanwhile; the session drops it when it gets its next catalog.
                continue
    return texts


def activated_elsewhere(session: Session) -> list[str]:
    """The skills that the model did not load itself."""
    return [row.name for row in session.active if row.by not in (ActivatedBy.MODEL, ActivatedBy.DEPENDENCY)]
