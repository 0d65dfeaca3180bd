"""SKILL.md as HTML for strangers' eyes. The text is hostile: it is escaped once and cleaned a second time.

Raw HTML is shown, not obeyed; links must be http, https or mailto, and say that they lead away; images are replaced by
their description, because loading one tells its owner who is looking.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from metier.spec import split_document

__all__ = ["markdown_html", "skill_html"]

_ATTRIBUTES = {
    "a": {"href", "title"}, "code": {"class"}, "ol": {"start"}, "td": {"class"}, "th": {"class"},
    "h1": {"id"}, "h2": {"id"}, "h3": {"id"}, "h4": {"id"}, "h5": {"id"}, "h6": {"id"},
}  # fmt: skip
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_LONGEST = 512 * 1024


def skill_html(text: str) -> str:
    """The body of a SKILL.md; its frontmatter is shown elsewhere."""
    return markdown_html(split_document(text.encode("utf-8", "replace")).body)


@lru_cache(maxsize=128)
def markdown_html(text: str) -> str:
    import nh3

    html = _parser().render(text[:_LONGEST])
    return nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"}, attribute_filter=_kept,
        link_rel="nofollow noopener noreferrer ugc",
    )  # fmt: skip


def _kept(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "class":
        return value if re.fullmatch(r"language-[\w+#.-]{1,30}|align-(left|center|right)", value) else None
    if attribute == "href" and tag == "a":
        # A relative address would lead to a page of the registry that the author does not know.
        return value if value.startswith(("https://", "http://", "mailto:", "#")) else None
    return value


@lru_cache(maxsize=1)
def _parser() -> Any:  # Any: markdown-it is only there with the extra
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("td_open", _cell)
    parser.add_render_rule("th_open", _cell)
    return parser


def _image(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:  # Any: markdown-it's own
    from markdown_it.common.utils import escapeHtml

    return f"<em>[{escapeHtml(tokens[index].content or 'image')}]</em>"


def _heading(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:  # Any: markdown-it's own
    words = re.findall(r"[a-z0-9]+", tokens[index + 1].content.lower())
    # Prefixed, so that no heading can take the place of something of the page.
    return f'<{tokens[index].tag} id="skill-{"-".join(words)[:60]}">'


def _cell(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:  # Any: markdown-it's own
    # A class instead of markdown-it's style: pages forbid styles that are written into the text.
    aligned = str(tokens[index].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tokens[index].tag} class="align-{aligned}">' if aligned else f"<{tokens[index].tag}>"
