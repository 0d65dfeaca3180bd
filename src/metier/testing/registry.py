"""Conformance suite for the rows of a registry."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from metier.errors import ConflictError, NotFoundError, RefusedError
from metier.registry import (
    AbuseReport,
    AuditEvent,
    PackageFilters,
    RegistryStore,
    RegistryToken,
    ReleaseDraft,
    Signature,
    SigningKey,
    Sort,
    document_terms,
    plain_words,
)

from .registry_people import PeopleConformance, event, raises

__all__ = ["RegistryStoreConformance", "draft"]

DAY = "2026-01-01"
ALL = PackageFilters(readable_namespaces=None)


def draft(name: str, version: str | None = "1.0.0", **fields: Any) -> ReleaseDraft:  # Any: fields of Draft
    """A release on its way into a store; its contents follow from its fields unless a digest is given."""
    about = fields.get("description", f"Does {name}.")
    digest = "sha256:" + hashlib.sha256(f"{name} {version} {about}".encode()).hexdigest()
    tags = fields.get("tags", ())
    whole: dict[str, Any] = {
        "kind": "skill", "name": name, "namespace": "acme", "visibility": "public", "version": version, "digest": digest,
        "archive": digest[7:], "size": 100, "description": about, "author": "ann", "license": "MIT", "tags": tags,
        "details": '{"files":[]}', "verdict": "pass", "findings": "[]", "publisher": "acme", "at": 1_000,
        "words": document_terms(name, tags, about, fields.pop("body", "")),
        "spellings": plain_words(name.replace("-", " "), about), **fields,
    }  # fmt: skip
    return ReleaseDraft(**whole)


class RegistryStoreConformance(PeopleConformance):
    """Subclass it, say how your store is opened, and let pytest collect it."""

    def test_a_published_package_is_read_back_unchanged(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            wanted = draft("pdf", description="Zürich 'quoted' % ? \\ 漢字", tags=("a", "b-c"), license="MIT")
            card, release, created = await store.publish(wanted, ("acme",))
            assert created
            assert (card.name, card.version, card.namespace, card.visibility) == ("pdf", "1.0.0", "acme", "public")
            assert (card.description, card.tags, card.digest) == (wanted.description, "a b-c", wanted.digest)
            assert await store.find_package("skill", "pdf") == card
            assert await store.release(card.id, "1.0.0") == release
            assert (release.details, release.findings, release.publisher) == (wanted.details, "[]", "acme")
            assert await store.owners(card.id) == ("acme",)
            assert [archive async for archive in store.archives()] == [wanted.archive]

        self._with(tmp_path, body)

    def test_a_missing_item_is_none(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            assert await store.find_package("skill", "pdf") is None
            assert await store.release(1, "1.0.0") is None
            assert await store.token("0" * 64) is None
            assert (await store.releases(1), await store.tags(1), await store.owners(1)) == ([], {}, ())

        self._with(tmp_path, body)

    def test_the_same_contents_again_change_nothing(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            first, _, _ = await store.publish(draft("pdf"), None)
            again, _, created = await store.publish(draft("pdf", at=9_000), None)
            assert not created
            assert again == first
            assert len(await store.events()) == 1

        self._with(tmp_path, body)

    def test_the_same_contents_with_another_visibility_change_only_that(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(draft("pdf", visibility="private"), None)
            card, _, created = await store.publish(draft("pdf", visibility="public"), None)
            assert (card.visibility, created) == ("public", False)
            card, _, _ = await store.publish(draft("pdf", visibility=None), None)
            assert card.visibility == "public"
            assert [event.action for _, event in await store.events()] == ["visibility", "publish"]

        self._with(tmp_path, body)

    def test_trying_a_publish_returns_or_raises_the_same_and_changes_nothing(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, release, created = await store.try_publish(draft("pdf", None), ("acme",))
            assert (card.name, card.visibility, release.version, created) == ("pdf", "public", "0.1.0", True)
            assert await store.find_package("skill", "pdf") is None
            await store.publish(draft("pdf"), ("acme",))
            await raises(ConflictError, store.try_publish(draft("pdf", description="Other."), ("acme",)))
            await raises(RefusedError, store.try_publish(draft("pdf", "2.0.0", namespace="evil"), ("evil",)))
            card, _, created = await store.try_publish(draft("pdf", visibility="private"), ("acme",))
            assert (card.visibility, created) == ("private", False)
            kept = await store.find_package("skill", "pdf")
            assert kept is not None
            assert kept.visibility == "public"
            assert len(await store.events()) == 1

        self._with(tmp_path, body)

    def test_other_contents_under_a_taken_version_are_a_conflict(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(draft("pdf"), None)
            await raises(ConflictError, store.publish(draft("pdf", description="Other."), None))
            await raises(ConflictError, store.publish(draft("pdf", "1.0.0+build", description="Other."), None))
            card = await store.find_package("skill", "pdf")
            assert card is not None
            assert card.description == "Does pdf."

        self._with(tmp_path, body)

    def test_no_version_is_the_next_patch(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            _, first, _ = await store.publish(draft("pdf", None, description="One."), None)
            _, second, _ = await store.publish(draft("pdf", None, description="Two."), None)
            _, same, created = await store.publish(draft("pdf", None, description="One."), None)
            assert (first.version, second.version, same.version, created) == ("0.1.0", "0.1.1", "0.1.0", False)

        self._with(tmp_path, body)

    def test_a_name_belongs_to_its_first_publisher(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(draft("pdf"), ("acme",))
            await raises(RefusedError, store.publish(draft("pdf", "2.0.0", namespace="evil"), ("evil",)))
            await store.publish(draft("pdf", kind="agent", namespace="evil"), ("evil",))

        self._with(tmp_path, body)

    def test_the_newest_release_is_shown_and_a_backport_is_not(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            for version in ("2.0.0", "1.9.1", "10.0.0", "11.0.0-rc.1"):
                card, _, _ = await store.publish(draft("pdf", version, description=f"Version {version}."), None)
            assert (card.version, card.description) == ("10.0.0", "Version 10.0.0.")
            versions = [release.version for release in await store.releases(card.id)]
            assert versions == ["11.0.0-rc.1", "10.0.0", "2.0.0", "1.9.1"]

        self._with(tmp_path, body)

    def test_a_yank_shows_the_release_before_and_can_be_taken_back(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(draft("pdf", "1.0.0", description="Old zebra."), None)
            card, _, _ = await store.publish(draft("pdf", "2.0.0", description="New giraffe."), None)
            assert await store.yank(card.id, "2.0.0", reason="broken", event=event("yank"))
            assert not await store.yank(card.id, "2.0.0", reason="broken", event=event("yank"))
            shown = await store.find_package("skill", "pdf")
            assert shown is not None
            assert (shown.version, shown.description, shown.updated) == ("1.0.0", "Old zebra.", 2_000)
            assert [each.name for each in await store.recall([["zebra"]], ALL, limit=9)] == ["pdf"]
            assert await store.recall([["giraff"]], ALL, limit=9) == []
            job = await store.claim(now=3_000, lease=1)
            assert job is not None
            assert (job.kind, job.subject) == ("index", "skill:pdf")
            await store.yank(card.id, "1.0.0", reason="too", event=event())
            assert await store.browse(ALL, sort=Sort.NAME, after=None, limit=9) == []
            await store.yank(card.id, "2.0.0", reason=None, event=event())
            assert [each.version for each in await store.browse(ALL, sort=Sort.NAME, after=None, limit=9)] == ["2.0.0"]
            release = await store.release(card.id, "1.0.0")
            assert release is not None
            assert (release.yanked, release.yank_reason) == (2_000, "too")

        self._with(tmp_path, body)

    def test_lists_are_filtered_sorted_and_paged(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            for number, name in enumerate(("a", "b", "c", "d")):
                mit = {"license": "MIT", "tags": ("even",)} if number % 2 == 0 else {"license": "Apache-2.0"}
                await store.publish(draft(name, at=1_000 + number, visibility="public" if number else "private", **mit), None)

            async def names(filters: PackageFilters = ALL, sort: Sort = Sort.NAME, after: Any = None, limit: int = 9) -> str:
                return "".join(card.name for card in await store.browse(filters, sort=sort, after=after, limit=limit))

            assert await names() == "abcd"
            assert await names(limit=2) == "ab"
            assert await names(after=("b", "b")) == "cd"
            assert await names(sort=Sort.UPDATED) == "dcba"
            assert await names(sort=Sort.UPDATED, after=(1_002, "c")) == "ba"
            assert await names(PackageFilters()) == "bcd"
            assert await names(PackageFilters(readable_namespaces=("acme",))) == "abcd"
            assert await names(PackageFilters(readable_namespaces=("other",))) == "bcd"
            assert await names(PackageFilters(readable_namespaces=None, tag="even")) == "ac"
            assert await names(PackageFilters(readable_namespaces=None, license="mit")) == "ac"
            assert await names(PackageFilters(readable_namespaces=None, owner="acme", verdict="pass")) == "abcd"
            assert (
                await names(PackageFilters(readable_namespaces=None, owner="other"))
                + await names(PackageFilters(readable_namespaces=None, kind="agent"))
                == ""
            )

        self._with(tmp_path, body)

    def test_words_are_found_in_name_tags_description_and_body(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(
                draft("code-review", tags=("security",), description="Reads diffs.", body="Mentions kubernetes."), None
            )
            await store.publish(draft("other", description="Nothing of it, but security."), None)

            async def names(*groups: str, **more: Any) -> list[str]:
                return sorted(card.name for card in await store.recall([[group] for group in groups], ALL, limit=9, **more))

            for term in ("review", "diff", "kubernet"):
                assert await names(term) == ["code-review"], term
            assert await names("secur") == ["code-review", "other"]
            assert await names("review", "absent") == ["code-review"]
            assert await names("absent") == []
            assert await names("revi", prefix="revi") == ["code-review"]
            assert await store.recall([["review"]], PackageFilters(readable_namespaces=None, tag="none"), limit=9) == []

        self._with(tmp_path, body)

    def test_a_word_that_occurs_nowhere_is_corrected(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(draft("kubernetes", description="Deploys clusters."), None)
            assert await store.spellings(["kubernets", "clsuters", "deploys", "wholly"], PackageFilters()) == {
                "kubernets": ["kubernetes"], "clsuters": ["clusters"], "wholly": [],
            }  # fmt: skip

        self._with(tmp_path, body)

    def test_a_deleted_package_keeps_its_name_until_it_is_purged(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf"), None)
            await store.set_status(card.id, "deleted", reason="leak", event=event("delete", at=5_000))
            gone = await store.find_package("skill", "pdf")
            assert gone is not None
            assert (gone.status, gone.removed, gone.reason) == ("deleted", 5_000, "leak")
            assert await store.browse(ALL, sort=Sort.NAME, after=None, limit=9) == []
            assert await store.recall([["pdf"]], ALL, limit=9) == []
            await raises(ConflictError, store.publish(draft("pdf", "2.0.0"), None))
            assert await store.purge(before=5_000, at=9_000) == []
            assert await store.purge(before=5_001, at=9_000) == ["pdf"]
            assert (await store.events(limit=1))[0][1] == AuditEvent(9_000, "registry", "purge", "skill:pdf")
            assert await store.find_package("skill", "pdf") is None
            assert [archive async for archive in store.archives()] == []

        self._with(tmp_path, body)

    def test_a_purged_name_and_its_versions_stay_reserved(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            for version in ("1.0.0", "1.1.0"):
                card, _, _ = await store.publish(draft("pdf", version), ("acme",))
            await store.set_owner(card.id, "second", present=True, event=event())
            await store.set_status(card.id, "deleted", reason="", event=event(at=5_000))
            assert await store.purge(before=5_001, at=5_001) == ["pdf"]
            await raises(RefusedError, store.publish(draft("pdf", "2.0.0", namespace="evil"), ("evil",)))
            assert await store.find_package("skill", "pdf") is None
            await raises(ConflictError, store.publish(draft("pdf", "1.0.0", description="Other."), ("acme",)))
            await raises(ConflictError, store.publish(draft("pdf", "1.0.0+x", description="Other."), None))
            _, same, created = await store.publish(draft("pdf", "1.0.0", namespace="second"), ("second",))
            assert (same.version, created) == ("1.0.0", True)
            _, following, _ = await store.publish(draft("pdf", None, description="New.", namespace="second"), ("second",))
            assert following.version == "1.1.1"
            await store.publish(draft("pdf", kind="agent", namespace="evil"), ("evil",))

        self._with(tmp_path, body)

    def test_a_quarantine_covers_what_is_deleted_before_and_after_it(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            async def status(name: str) -> tuple[str, str]:
                card = await store.find_package("skill", name)
                assert card is not None
                return card.status, card.reason

            for name in ("before", "after", "archived"):
                card, _, _ = await store.publish(draft(name), None)
                if name == "before":
                    await store.set_status(card.id, "deleted", reason="mine", event=event(at=5_000))
                if name == "archived":
                    await store.set_status(card.id, "archived", reason="old", event=event(at=5_000))
                await store.quarantine(card.id, reason="steals keys", event=event())
                await store.quarantine(card.id, reason="steals keys", event=event())
                if name == "after":
                    await store.set_status(card.id, "deleted", reason="mine", event=event(at=6_000))
                assert await status(name) == ("quarantined", "steals keys")
            assert await store.purge(before=9_000, at=9_000) == []
            for name, expected in (
                ("before", ("deleted", "mine")),
                ("after", ("deleted", "mine")),
                ("archived", ("archived", "old")),
            ):
                found = await store.find_package("skill", name)
                assert found is not None
                assert await store.end_quarantine(found.id, event=event())
                assert not await store.end_quarantine(found.id, event=event())
                assert await status(name) == expected
            assert await store.purge(before=5_001, at=5_001) == ["before"]

        self._with(tmp_path, body)

    def test_two_owners_removed_at_once_leave_one(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            for turn in range(8):
                card, _, _ = await store.publish(draft(f"pdf-{turn}"), None)
                await store.set_owner(card.id, "second", present=True, event=event())
                removals = (store.set_owner(card.id, name, present=False, event=event()) for name in ("acme", "second"))
                results = await asyncio.gather(*removals, return_exceptions=True)
                assert sorted(type(result).__name__ for result in results) == ["ConflictError", "NoneType"]
                (left,) = await store.owners(card.id)
                shown = await store.find_package("skill", f"pdf-{turn}")
                assert shown is not None
                assert shown.namespace == left

        self._with(tmp_path, body)

    def test_changes_of_one_package_at_once_leave_its_row_and_its_releases_in_agreement(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf", "1.0.0"), None)
            for version in ("2.0.0", "3.0.0"):
                await store.publish(draft("pdf", version), None)
            for _ in range(6):
                yanks = (store.yank(card.id, version, reason="r", event=event()) for version in ("2.0.0", "3.0.0"))
                tags = (store.set_tag(card.id, "beta", "1.0.0", event=event()) for _ in range(3))
                await asyncio.gather(*yanks, *tags)
                shown = await store.find_package("skill", "pdf")
                assert shown is not None
                assert shown.version == "1.0.0"
                await asyncio.gather(*(store.yank(card.id, each, reason=None, event=event()) for each in ("2.0.0", "3.0.0")))

        self._with(tmp_path, body)

    def test_owners_share_and_hand_on(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf"), None)
            await store.set_owner(card.id, "second", present=True, event=event())
            assert await store.owners(card.id) == ("acme", "second")
            await store.publish(draft("pdf", "1.1.0", namespace="second"), ("second",))
            await store.set_owner(card.id, "acme", present=False, event=event())
            left = await store.find_package("skill", "pdf")
            assert left is not None
            assert left.namespace == "second"
            await raises(ConflictError, store.set_owner(card.id, "second", present=False, event=event()))
            await raises(NotFoundError, store.transfer(card.id, "third", event=event()))
            await store.offer(card.id, "third", event=event())
            assert await store.offered_to(card.id) == "third"
            await store.transfer(card.id, "third", event=event())
            assert await store.owners(card.id) == ("third",)
            assert await store.offered_to(card.id) is None

        self._with(tmp_path, body)

    def test_tags_point_to_versions(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf"), None)
            await store.set_tag(card.id, "beta", "1.0.0", event=event())
            await store.publish(draft("pdf", "1.1.0"), None)
            await store.set_tag(card.id, "beta", "1.1.0", event=event())
            assert await store.tags(card.id) == {"beta": "1.1.0"}
            await store.set_tag(card.id, "beta", None, event=event())
            assert await store.tags(card.id) == {}

        self._with(tmp_path, body)

    def test_a_release_that_is_not_online_is_seen_by_reviews_only(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, release, created = await store.publish(draft("pdf", state="review", description="Reads plums."), ("acme",))
            assert (created, release.state, card.version, card.hidden) == (True, "review", "", 1)
            assert (await store.release(card.id, "1.0.0"), await store.releases(card.id)) == (None, [])
            assert await store.browse(ALL, sort=Sort.NAME, after=None, limit=9) == []
            assert await store.recall([["plum"]], ALL) == []
            assert (await store.totals())["releases"] == 0
            assert await store.any_release(card.id, "1.0.0") == release
            assert [each.id for _, each in await store.waiting(("review",), ("acme",))] == [release.id]
            assert await store.waiting(("review",), ()) == await store.waiting(("draft",), None) == []
            stale = replace(release, digest="sha256:other")
            assert not await store.set_state(stale, "online", reason="", event=event())
            assert await store.set_state(release, "online", reason="", event=event())
            shown = await store.find_package("skill", "pdf")
            assert shown is not None
            assert (shown.version, shown.hidden, shown.description) == ("1.0.0", 0, "Reads plums.")
            assert [each.name for each in await store.recall([["plum"]], ALL)] == ["pdf"]
            online = await store.release(card.id, "1.0.0")
            assert online is not None
            await store.set_state(online, "quarantined", reason="bad", event=event())
            hidden = await store.find_package("skill", "pdf")
            assert hidden is not None
            assert (hidden.version, hidden.hidden) == ("", 0)

        self._with(tmp_path, body)

    def test_an_upload_that_waits_is_replaced_and_one_that_was_online_is_kept_in_mind(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.publish(draft("pdf", state="draft"), None)
            card, second, created = await store.publish(draft("pdf", state="review", description="Other."), None)
            assert (created, second.description) == (True, "Other.")
            assert await store.expired(drafts_before=5_000, yanked_before=5_000) == []
            assert await store.remove_release(second, event=event())
            assert await store.find_package("skill", "pdf") is None
            card, first, _ = await store.publish(draft("pdf"), None)
            await store.set_state(first, "quarantined", reason="bad", event=event())
            held = await store.any_release(card.id, "1.0.0")
            assert held is not None
            assert await store.remove_release(held, event=event())
            await raises(ConflictError, store.publish(draft("pdf", description="Evil."), None))

        self._with(tmp_path, body)

    def test_releases_are_read_by_pages(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            for version in ("1.0.0", "1.1.0"):
                await store.publish(draft("pdf", version), None)
            await store.publish(draft("csv", state="draft"), None)
            first = await store.release_page(after=0, limit=2)
            assert [(package.name, release.version) for package, release in first] == [("pdf", "1.0.0"), ("pdf", "1.1.0")]
            second = await store.release_page(after=first[-1][1].id, limit=2)
            assert [(package.name, release.state) for package, release in second] == [("csv", "draft")]
            assert await store.release_page(after=second[-1][1].id, limit=2) == []

        self._with(tmp_path, body)

    def test_a_namespace_asks_for_reviews(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            assert not await store.demands_review(("acme",))
            assert await store.set_demands_review("acme", demanded=True, event=event())
            assert not await store.set_demands_review("acme", demanded=True, event=event())
            assert await store.demands_review(("other", "acme"))
            _, release, _ = await store.publish(draft("pdf"), None)
            assert release.state == "review"
            _, release, _ = await store.publish(draft("pdf", "2.0.0", state="online"), None)
            assert release.state == "online"

        self._with(tmp_path, body)

    def test_a_version_in_its_cooldown_is_shown_only_if_there_is_no_other(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf", cooldown=500), None)
            assert (card.version, card.fresh, card.latest, card.available) == ("1.0.0", "1.0.0", "", 1_500)
            await store.end_cooldown(card.id, at=1_500)
            card, _, _ = await store.publish(draft("pdf", "1.1.0", at=2_000, cooldown=500), None)
            assert (card.version, card.fresh, card.latest, card.available) == ("1.0.0", "1.1.0", "1.0.0", 2_500)
            assert await store.claim(now=2_499, lease=1) is not None, "of the first version"
            await store.end_cooldown(card.id, at=2_500)
            shown = await store.find_package("skill", "pdf")
            assert shown is not None
            assert (shown.version, shown.fresh, shown.latest) == ("1.1.0", "", "1.1.0")

        self._with(tmp_path, body)

    def test_a_token_is_known_by_its_hash_until_it_is_revoked(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            wanted = RegistryToken(id=0, prefix="mtr_ab", holder="acme", scopes=("read", "publish:acme"), note="ci", created=1,
                           expires=5, revoked=None)  # fmt: skip
            first = await store.add_token(wanted, "h1", event=event(), first=True)
            assert first is not None
            assert await store.add_token(wanted, "h2", event=event(), first=True) is None
            assert await store.token("h1") == first
            await store.mark_used([(first.id, 6), (first.id + 1, 6)])
            await store.mark_used([(first.id, 5)])
            assert await store.token("h1") == replace(first, used=6)
            assert (first.scopes, first.expires) == (("read", "publish:acme"), 5)
            assert await store.revoke_token(first.id, event=event(at=7))
            assert not await store.revoke_token(first.id, event=event())
            known = await store.token("h1")
            assert known is not None
            assert known.revoked == 7
            assert (await store.tokens("acme"), await store.tokens("other")) == ([known], [])

        self._with(tmp_path, body)

    def test_keys_and_signatures_are_kept(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            key = await store.add_key(SigningKey(0, "acme", "k1", "cHVi", "ann", 1, None), event=event())
            assert await store.keys("acme") == [key]
            card, release, _ = await store.publish(draft("pdf"), None)
            signature = Signature("1.0.0", "ed25519", "acme", "k1", "c2ln", 2)
            await store.sign(release.id, signature, event=event())
            assert await store.signatures(card.id) == [signature]
            signed = await store.find_package("skill", "pdf")
            assert signed is not None
            assert signed.signed == "acme"
            assert await store.revoke_key("acme", "k1", event=event(at=9))
            assert [each.revoked for each in await store.keys("acme")] == [9]

        self._with(tmp_path, body)

    def test_every_change_leaves_a_line_that_stays(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf"), None)
            await store.set_visibility(card.id, "private", event=AuditEvent(5, "ann", "visibility", "skill:pdf", "private"))
            await store.add_event(AuditEvent(6, "bob", "login", "token:x"))
            lines = await store.events()
            assert [each.action for _, each in lines] == ["login", "visibility", "publish"]
            assert lines[1][1] == AuditEvent(5, "ann", "visibility", "skill:pdf", "private")
            assert [each.action for _, each in await store.events(subject="skill:pdf", limit=1)] == ["visibility"]
            assert [each.action for _, each in await store.events(before=lines[1][0])] == ["publish"]

        self._with(tmp_path, body)

    def test_reports_are_open_until_they_are_decided(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf"), None)
            number = await store.report(AbuseReport(reason="spam", details="é", reporter="ann"), card.id, event=event())
            assert number is not None
            (report,) = await store.reports()
            assert (report.id, report.name, report.reason, report.details) == (number, "pdf", "spam", "é")
            assert await store.resolve(number, state="accepted", note="gone", event=event())
            assert not await store.resolve(number, state="rejected", note="", event=event())
            assert await store.reports() == []
            assert [each.note for each in await store.reports(state="accepted")] == ["gone"]

        self._with(tmp_path, body)

    def test_a_download_counts_once_for_each_identity_and_day(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            card, _, _ = await store.publish(draft("pdf"), None)
            assert (
                await store.count(DAY, [(card.id, "1.0.0", "ann"), (card.id, "1.0.0", "bob"), (card.id, "1.0.0", "ann")]) == 2
            )
            assert await store.count(DAY, [(card.id, "1.0.0", "ann")]) == 0
            assert await store.count("2026-01-02", [(card.id, "1.0.0", "ann")]) == 1
            assert await store.count(DAY, [(card.id + 99, "1.0.0", "ann")]) == 1
            counted = await store.find_package("skill", "pdf")
            assert counted is not None
            assert counted.downloads == 3
            assert [(row.day, row.downloads) for row in await store.days(card.id, since=DAY)] == [(DAY, 2), ("2026-01-02", 1)]
            assert [(each.name, total) for each, total in await store.trending(ALL, since=DAY, limit=5)] == [("pdf", 3)]
            await store.forget_identities(before="2026-01-02")
            assert (await store.totals())["downloads"] == 3

        self._with(tmp_path, body)

    def test_a_job_is_done_by_one_and_again_if_that_one_dies(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await store.enqueue("scan", "a", due=100)
            await store.enqueue("scan", "a", due=50)
            assert await store.claim(now=49, lease=10) is None
            job = await store.claim(now=50, lease=10)
            assert job is not None
            assert (job.kind, job.subject, job.attempts) == ("scan", "a", 1)
            assert await store.claim(now=59, lease=10) is None
            late = await store.claim(now=60, lease=10)
            assert late is not None
            assert (late.id, late.attempts) == (job.id, 2)
            await store.fail(job.id, error="oh", retry=200)
            assert await store.claim(now=199, lease=10) is None
            await store.finish(job.id, again=300)
            assert (await store.claim(now=300, lease=10)) is not None
            await store.finish(job.id)
            assert await store.claim(now=9_999, lease=10) is None

        self._with(tmp_path, body)

    def test_two_concurrent_workers_get_different_jobs(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            for number in range(4):
                await store.enqueue("scan", str(number), due=0)
            claimed = await asyncio.gather(*(store.claim(now=1, lease=100) for _ in range(8)))
            got = sorted(job.subject for job in claimed if job)
            assert got == sorted(set(got))
            while job := await store.claim(now=1, lease=100):
                got.append(job.subject)
            assert sorted(got) == ["0", "1", "2", "3"]

        self._with(tmp_path, body)

    def test_many_at_once_lose_nothing(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            await asyncio.gather(*(store.publish(draft("pdf", None, description=f"Text {n}."), None) for n in range(8)))
            card = await store.find_package("skill", "pdf")
            assert card is not None
            assert sorted(release.version for release in await store.releases(card.id)) == [f"0.1.{n}" for n in range(8)]
            counts = await asyncio.gather(*(store.count(DAY, [(card.id, "0.1.0", "ann")]) for _ in range(8)))
            assert sum(counts) == 1
            cards = await asyncio.gather(*(store.find_package("skill", "pdf" if n % 2 else "none") for n in range(40)))
            assert [bool(each) for each in cards] == [bool(n % 2) for n in range(40)]

        self._with(tmp_path, body)

    def test_the_first_value_of_a_setting_is_kept(self, tmp_path: Path) -> None:
        async def body(store: RegistryStore) -> None:
            assert await store.setting("k", "one") == "one"
            assert await store.setting("k", "two") == "one"
            await store.ping()

        self._with(tmp_path, body)
