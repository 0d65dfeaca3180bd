"""The composition root: the only package that chooses implementations."""

from __future__ import annotations

from metier.lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app import App
    from .functions import (
        install_skills,
        publish_skill,
        remove_skills,
        scan_skill,
        search_skills,
        update_skills,
    )
    from .model_judge import JudgeCase, ModelJudge
    from .packages import PreparedPackages
    from .recent_requests import RecentRequests, RequestTakeovers
    from .release_scan import RUN_LIMITS, RUN_UPLOADS
    from .transcripts import Transcripts

__all__ = [
    "RUN_LIMITS",
    "RUN_UPLOADS",
    "App",
    "JudgeCase",
    "ModelJudge",
    "PreparedPackages",
    "RecentRequests",
    "RequestTakeovers",
    "Transcripts",
    "install_skills",
    "publish_skill",
    "remove_skills",
    "scan_skill",
    "search_skills",
    "update_skills",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and tells a typo from a name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "metier.app.app": ("App",),
            "metier.app.functions": (
                "install_skills", "publish_skill", "remove_skills", "scan_skill", "search_skills",
                "update_skills",
            ),
            "metier.app.model_judge": ("JudgeCase", "ModelJudge"),
            "metier.app.recent_requests": ("RecentRequests", "RequestTakeovers"),
            "metier.app.release_scan": ("RUN_LIMITS", "RUN_UPLOADS"),
            "metier.app.transcripts": ("Transcripts",),
            "metier.app.packages": ("PreparedPackages",),
        },
    )  # fmt: skip
