"""The conformance suite for implementations of `spec.Files`."""

from __future__ import annotations

from collections.abc import Mapping

from metier.errors import MetierError, NotFoundError, RefusedError
from metier.spec import Files

__all__ = ["FilesConformance"]

_SKILL = {
    "SKILL.md": b"---\nname: a\ndescription: d\n---\n",
    "scripts/run.py": b"print(1)\n",
    "references/deep/er.md": b"\xff\x00binary",
}
_HOSTILE = ("..", "../x", "scripts/../../x", "/etc/passwd", "~/x", "C:/x", "a\\b", "a\x00b", "a\nb", "", ".", "./", "x" * 5_000)


class FilesConformance:
    """Subclass it in a test and implement `make`."""

    def make(self, contents: Mapping[str, bytes]) -> Files:
        """Your Files, holding exactly these."""
        raise NotImplementedError

    def test_it_is_a_files(self) -> None:
        assert isinstance(self.make(_SKILL), Files)

    def test_every_byte_is_read_back(self) -> None:
        files = self.make(_SKILL)
        assert {path: files.read(path, limit=1_000) for path in _SKILL} == _SKILL

    def test_the_listing_is_sorted_and_has_sizes(self) -> None:
        listed = [(entry.path, entry.size) for entry in self.make(_SKILL).list()]
        assert listed == sorted((path, len(data)) for path, data in _SKILL.items())

    def test_a_dot_and_double_slashes_in_a_path_do_not_matter(self) -> None:
        assert self.make(_SKILL).read("./scripts//run.py", limit=1_000) == b"print(1)\n"

    def test_a_file_exactly_at_the_limit_is_read_and_one_byte_over_is_refused(self) -> None:
        files = self.make({"SKILL.md": b"x" * 100})
        assert len(files.read("SKILL.md", limit=100)) == 100
        assert _code(files, "SKILL.md", limit=99) == "refused"

    def test_a_missing_item_is_not_found(self) -> None:
        files = self.make(_SKILL)
        for path in ("nothing.md", "scripts/nothing.py", "nothing/at/all", "SKILL.MD"):
            assert _code(files, path) == "not-found", path

    def test_a_folder_is_not_a_file(self) -> None:
        assert _code(self.make(_SKILL), "scripts") in ("refused", "not-found")

    def test_no_path_leads_out(self) -> None:
        files = self.make(_SKILL)
        for path in _HOSTILE:
            assert _code(files, path) == "refused", path

    def test_an_empty_skill_has_no_files(self) -> None:
        assert list(self.make({}).list()) == []


def _code(files: Files, path: str, *, limit: int = 1_000) -> str:
    try:
        files.read(path, limit=limit)
    except (NotFoundError, RefusedError) as error:
        assert error.hint, "a refusal says what to do instead"
        return error.code
    except MetierError as error:
        return f"unexpected {error.code}"
    return "read"
