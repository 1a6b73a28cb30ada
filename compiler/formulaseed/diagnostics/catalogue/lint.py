"""Likely mistakes in seeds (FS6)."""

from __future__ import annotations

from collections.abc import Sequence

from formulaseed.diagnostics.catalogue import of_one, of_two
from formulaseed.diagnostics.model import Diagnostic, diagnostic, number_of
from formulaseed.source.text import Span

unused_value = of_two(
    "FS612",
    "no condition tests whether `extraction.{0}` is {1}",
    "test for it where it matters, or leave the value out, so that the extractor need not distinguish it",
)
hard_coded_year = of_two(
    "FS613",
    "the year {0} is hard-coded, and `{1}` means something else every year",
    'make it a parameter, "parameters": {{"AS_OF_YEAR": {{"type": "integer", "default": {0}}}}}, and write `param.AS_OF_YEAR`',
)
keyword_too_long = of_one(
    "FS616", "the keyword has {0} characters, and no review is as long", "write a few characteristic words"
)
keyword_repeated = of_two("FS617", "`{0}` adds nothing: case is ignored, and `{1}` is there", "remove it")
keyword_covered = of_two(
    "FS617", "`{0}` adds nothing: every review that contains it contains `{1}`", "remove it, or make `{1}` more precise"
)
unused_suppression = of_one("FS620", "there is no warning `{0}` to suppress here", "remove it from `allow`")


def unused_step(span: Span, name: str, is_filter: bool) -> Diagnostic:
    what, use = ("filter", "use it") if is_filter else ("step", "use it, return it in `output`")
    return diagnostic("FS602", span, f"the {what} `{name}` is never used", f"{use}, or remove it")


def constant_result(span: Span, name: str, value: str, depends: bool) -> Diagnostic:
    """`value` is empty if it is not known; `depends` says whether the step reads any data."""
    help = "check its bounds and values: it reads the data, but they change nothing"
    if not depends:
        help = "leave it out of `output`, or compute it from the data"
    return diagnostic("FS608", span, f"`{name}` is {value or 'the same'} for every restaurant", help)


def missing_bound(span: Span, name: str, described: str, bound: str, *, is_above: bool) -> Diagnostic:
    ends = f"{bound}, HIGHEST" if is_above else f"LOWEST, {bound}"
    message = f"`{name}` is {described}: it has no {'upper' if is_above else 'lower'} bound"
    return diagnostic("FS609", span, message, f"to bound it, write `clamp(…, {ends})`")


def unused_input(span: Span, name: str, is_extracted: bool) -> Diagnostic:
    why = ": every review is read for it" if is_extracted else ""
    return diagnostic("FS611", span, f"`{name}` is never used", f"use it in a step, or remove it{why}")


def keyword_inside_words(span: Span, keyword: str, words: Sequence[str]) -> Diagnostic:
    *first, last = [f"`{word}`" for word in words[:4]]
    shown = f"{', '.join(first)} and {last}" if first else last
    more = f", and in {number_of(len(words) - 4, 'more word')}" if len(words) > 4 else ""
    help = "write the intended words, or suppress this warning if the extraction sorts it out"
    return diagnostic("FS614", span, f"`{keyword}` is also found inside {shown}{more}", help)


def keyword_misses(span: Span, keyword: str, forms: Sequence[str]) -> Diagnostic:
    shown = " and ".join(f"`{form}`" for form in forms)
    return diagnostic("FS615", span, f"`{keyword}` does not find {shown}", f"add {shown}")


def keyword_pattern(span: Span, keyword: str, plain: str) -> Diagnostic:
    """`plain` is the keyword without what makes it a pattern; may be empty."""
    message = f"`{keyword}` is a pattern, and reviews are searched for these very characters"
    return diagnostic("FS616", span, message, "write the words themselves" + (f", such as `{plain}`" if plain else ""))


def keyword_characters(span: Span, keyword: str, holds: str, plain: str) -> Diagnostic:
    """`plain` is the keyword as reviews write it; empty if there is no such form."""
    message = f"`{keyword}` has {holds}, which reviews do not"
    return diagnostic("FS616", span, message, f"write `{plain}`" if plain else "remove it")


def hidden_key(span: Span, key: str, shorter: str, value: str) -> Diagnostic:
    """`value` is what the shorter key gives if the highest is taken; empty if the first is."""
    message = f"`{key}` decides nothing: wherever it is found, `{shorter}` is found too"
    if value:
        return diagnostic("FS618", span, f"{message}, and gives {value}", f"give `{key}` a higher value, or remove it")
    return diagnostic("FS618", span, f"{message}, and comes before it", f"put `{key}` before `{shorter}`, or remove it")


def entry_is_default(span: Span, key: str, value: str, is_exact: bool) -> Diagnostic:
    effect = "the entry changes nothing" if is_exact else "it matters only if another key is found too"
    help = (
        "or change its value" if is_exact else "change its value, or suppress this warning if several keys may be found"
    )
    message = f"`{key}` gives {value}, which is the default: {effect}"
    return diagnostic("FS619", span, message, f"remove the entry, {help}")
