"""Random names and descriptions, as the author of a spec may write them."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from ullage.expr.parse import FUNCTIONS
from ullage.text.characters import FORBIDDEN
from ullage.text.values import is_identifier

LOOK_LIKE_YAML = (
    "off", "017", "~", "null", "yes", "1.5", "0x1f", "- x", "-", "? x", "a: b", "a:", ":a", "# x",
    "a #b", "a#b", "&a", "*a", "!a", "|", ">-", "'", '"', "it's", 'say "so"', "@a", "`a`", "%a",
    "[a", "a]", "{a: b}", "a, b", "a (b", "a) b", "x for x in xs", "---", "...", "<<", "=", "\\n",
    " a", "a ", "a  b", "a\tb", "a\nb", "a\n\n  b\n", "\n", " ", "a\u00a0b", "schön ≤ 🛢", "日本語",
)  # fmt: skip
_KEYS = ("where", "doc", "when", "let", "arguments", "collective", "in_batch", "after", "all")


@cache
def names() -> st.SearchStrategy[str]:
    """Legal names that stand for nothing else where they are used."""
    plain = st.from_regex(r"[a-z][a-z0-9_]{0,7}", fullmatch=True)
    taken = (*FUNCTIONS, *_KEYS)
    return st.one_of(st.sampled_from(("no", "off", "null", "e9")), plain).filter(
        lambda name: is_identifier(name) and name not in taken
    )


@cache
def texts() -> st.SearchStrategy[str]:
    """Descriptions with everything in them that a spec may contain."""
    allowed = st.characters(
        codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")
    ).filter(lambda char: not FORBIDDEN.match(char))
    marks = st.sampled_from(" :-#,[]{}()'\"\\\n?a")
    words = st.lists(st.sampled_from(("padded", "rows:", "(of", "a)", "#1")), max_size=30)
    return st.one_of(
        st.sampled_from(("", *LOOK_LIKE_YAML)),
        st.text(st.one_of(allowed, marks), max_size=30),
        words.map(" ".join),
    )
