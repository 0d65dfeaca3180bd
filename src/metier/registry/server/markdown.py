"""Renders SKILL.md as safe HTML. The text is untrusted: the parser escapes it, and nh3 sanitises the result.

Raw HTML is shown as text. Links must be http, https or mailto. Images are replaced by their description, because loading one
would reveal the reader to its host.

The time that this takes is not bounded by the length of the text: call it through `Documents`.
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
LONGEST = 512 * 1024


def skill_html(text: str) -> str:
    """Renders the body of a SKILL.md without its frontmatter."""
    return markdown_html(split_document(text.encode("utf-8", "replace")).body)


def markdown_html(text: str) -> str:
    import nh3

    html = _parser().render(text[:LONGEST])
    return nh3.clean(
        html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"}, attribute_filter=_filter_attribute,
        link_rel="nofollow noopener noreferrer ugc",
    )  # fmt: skip


def _filter_attribute(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "class":
        return value if re.fullmatch(r"language-[\w+#.-]{1,30}|align-(left|center|right)", value) else None
    if attribute == "href" and tag == "a":
        # A relative address would point to a page of the registry.
        return value if value.startswith(("https://", "http://", "mailto:", "#")) else None
    return value


@lru_cache(maxsize=1)
def _parser() -> Any:  # Any: markdown-it is an optional dependency
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("td_open", _cell)
    parser.add_render_rule("th_open", _cell)
    return parser


def _image(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:  # Any: types of markdown-it
    from markdown_it.common.utils import escapeHtml

    return f"<em>[{escapeHtml(tokens[index].content or 'image')}]</em>"


def _heading(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:  # Any: types of markdown-it
    words = re.findall(r"[a-z0-9]+", tokens[index + 1].content.lower())
    # The prefix keeps headings from taking an id of the page.
    return f'<{tokens[index].tag} id="skill-{"-".join(words)[:60]}">'


def _cell(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:  # Any: types of markdown-it
    # A class instead of a style attribute, which the content security policy forbids.
    aligned = str(tokens[index].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tokens[index].tag} class="align-{aligned}">' if aligned else f"<{tokens[index].tag}>"
