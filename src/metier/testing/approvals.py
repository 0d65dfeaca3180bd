"""What every list of approvals must hold."""

from __future__ import annotations

from pathlib import Path

from metier.runtime import Approvals

__all__ = ["ApprovalsConformance"]


class ApprovalsConformance:
    """Subclass it, say how yours is made, and let pytest collect it."""

    def new_approvals(self, folder: Path) -> Approvals:
        raise NotImplementedError

    def test_nothing_is_approved_at_first(self, tmp_path: Path) -> None:
        assert self.new_approvals(tmp_path).of_skill("pdf") == ()

    def test_an_approval_names_its_skill_its_pattern_and_the_digest(self, tmp_path: Path) -> None:
        approvals = self.new_approvals(tmp_path)
        approvals.add("pdf", "sha256:1", "Network")
        [kept] = approvals.of_skill("pdf")
        assert (kept.skill, kept.pattern, kept.digest) == ("pdf", "Network", "sha256:1")
        assert approvals.of_skill("csv") == ()

    def test_approving_a_new_version_replaces_the_approval_of_the_old_one(self, tmp_path: Path) -> None:
        approvals = self.new_approvals(tmp_path)
        approvals.add("pdf", "sha256:1", "Network")
        approvals.add("pdf", "sha256:2", "Network")
        assert [kept.digest for kept in approvals.of_skill("pdf")] == ["sha256:2"]
