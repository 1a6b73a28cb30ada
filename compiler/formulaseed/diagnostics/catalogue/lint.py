"""Define the likely mistakes in seeds (FS6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from formulaseed import limits
from formulaseed.diagnostics.catalogue import define_1
from formulaseed.diagnostics.model import Diagnostic, Help, Suggestion, diagnostic
from formulaseed.source.printing import number_of
from formulaseed.source.text import Span

_YEAR = '"parameters": {{"AS_OF_YEAR": {{"type": "integer", "default": {0}}}}}'
_MERGED = {
    "FS611": (
        "{0} inputs are never used: {1}",
        "use them in a step, or remove them: every review is read for each field",
    ),
    "FS612": (
        "no condition tests whether {1}",
        "test for them where they matter, or leave the values out, so that the extractor need not distinguish them",
    ),
    "FS613": (
        "{0} years are hard-coded, and mean something else every year: {1}",
        f"make them parameters, such as {_YEAR.format(2025)}, and write `param.AS_OF_YEAR`",
    ),
    "FS614": (
        "{0} keywords are also found inside other words: {1}",
        "write the intended words, or suppress this warning if the extraction sorts it out",
    ),
    "FS615": ("{0} keywords miss other forms of their words: {1}", "add the other forms, or write what they share"),
    "FS616": ("{0} keywords are in no review: {1}", "write them as reviews do"),
    "FS617": ("{0} keywords add nothing: {1}", "remove them, or make the others more precise"),
    "FS618": (
        "{0} keys decide nothing: {1}",
        "put a longer key before the one inside it, with `substring_max` give it a higher value, or remove it",
    ),
    "FS619": ("{0} entries give the default: {1}", "remove them, or change their values"),
    "FS628": (
        "{0} categories are in other case than Yelp's: {1}",
        "write them as Yelp does, each word with a capital, and remove those that are there already",
    ),
    "FS629": ("{0} strings begin or end with white space: {1}", "write them without it"),
    "FS631": ("{0} keys differ from others in case alone: {1}", "give both the same value, or remove one"),
}
"""The message and the help for several diagnostics of a code: `{0}` is their number, `{1}` lists their subjects."""

unused_suppression = define_1("FS620", "there is no `{0}` to suppress here", "remove it from `allow`")


def merge_by_code(diagnostics: Sequence[Diagnostic]) -> Diagnostic:
    """Return one diagnostic for several of one code, at the place of the first; the others' places are `related`.

    The message lists the first `limits.MERGED_SUBJECTS` subjects, in the order of the file. Raises `KeyError` for a
    code that is never merged, and `ValueError` if there are no diagnostics.
    """
    first, *rest = sorted(diagnostics, key=lambda d: d.span.start)
    message, help = _MERGED[first.code]
    subjects = [d.subject for d in (first, *rest)]
    listed = subjects[: limits.MERGED_SUBJECTS]
    if len(subjects) > len(listed):
        listed.append(f"{len(subjects) - len(listed)} more")
    merged = diagnostic(first.code, first.span, message.format(len(subjects), "; ".join(listed)), help)
    return replace(merged, related=tuple(d.span for d in rest))


def unused_value(span: Span, name: str, values: str) -> Diagnostic:
    """Return FS612: no condition tests for values of an enum. `values` are their literals, joined by `or`."""
    subject = f"`extraction.{name}` is {values}"
    help = "test for it where it matters, or leave the value out, so that the extractor need not distinguish it"
    return diagnostic("FS612", span, f"no condition tests whether {subject}", help, subject=subject)


def hard_coded_year(span: Span, year: int, use: str) -> Diagnostic:
    """Return FS613: a formula or a condition, `use`, names a year."""
    message = f"the year {year} is hard-coded, and `{use}` means something else every year"
    help = f"make it a parameter, {_YEAR.format(year)}, and write `param.AS_OF_YEAR`"
    return diagnostic("FS613", span, message, help, subject=f"{year} in `{use}`")


def keyword_too_long(span: Span, length: int) -> Diagnostic:
    """Return FS616: a keyword is longer than any review."""
    subject = f"one of {length} characters"
    message = f"the keyword has {length} characters, and no review is as long"
    return diagnostic("FS616", span, message, "write a few characteristic words", subject=subject)


def keyword_repeated(span: Span, keyword: str, other: str) -> Diagnostic:
    """Return FS617: a keyword is the same as another one, except for case."""
    message = f"`{keyword}` adds nothing: case is ignored, and `{other}` is there"
    return diagnostic("FS617", span, message, "remove it", subject=f"`{keyword}`, as `{other}`")


def keyword_covered(span: Span, keyword: str, shorter: str) -> Diagnostic:
    """Return FS617: a keyword contains a shorter one, which finds all of its reviews."""
    message = f"`{keyword}` adds nothing: every review that contains it contains `{shorter}`"
    help = f"remove it, or make `{shorter}` more precise"
    return diagnostic("FS617", span, message, help, subject=f"`{keyword}` beside `{shorter}`")


def unused_step(span: Span, name: str, is_filter: bool, may_fail: bool) -> Diagnostic:
    """Return FS602: nothing uses a step, or a filter if `is_filter`.

    `may_fail` says that a restaurant has no result if the step has no value.
    """
    noun = "filter" if is_filter else "step"
    help = "use it, or remove it" if is_filter else "use it, return it in `output`, or remove it"
    effect = ", and a restaurant fails where it has no value" if may_fail else ""
    return diagnostic("FS602", span, f"the {noun} `{name}` is never used{effect}", help)


def constant_result(span: Span, name: str, value: str, depends: bool) -> Diagnostic:
    """Return FS608: an output is the same for every restaurant.

    `value` is empty if it is not known; `depends` says that the step reads data.
    """
    help = "check its bounds and values: it reads the data, but they change nothing"
    if not depends:
        help = "leave it out of `output`, or compute it from the data"
    return diagnostic("FS608", span, f"`{name}` is {value or 'the same'} for every restaurant", help)


def missing_bound(span: Span, name: str, described: str, bound: str, *, is_above: bool) -> Diagnostic:
    """Return FS609: an output has one bound only, as `described`; `is_above` says that the upper one is missing.

    `bound` is the other one, for the example in the help.
    """
    side = "upper" if is_above else "lower"
    ends = f"{bound}, HIGHEST" if is_above else f"LOWEST, {bound}"
    message = f"`{name}` is {described}: it has no {side} bound"
    return diagnostic("FS609", span, message, f"to bound it, write `clamp(…, {ends})`")


def unused_input(span: Span, name: str, is_extracted: bool) -> Diagnostic:
    """Return FS611: nothing uses a field or parameter; `is_extracted` if every review is read for it."""
    help = "use it in a step, or remove it"
    if is_extracted:
        help += ": every review is read for it"
    return diagnostic("FS611", span, f"`{name}` is never used", help, subject=f"`{name}`")


def keyword_inside_words(span: Span, keyword: str, words: Sequence[str]) -> Diagnostic:
    """Return FS614: a keyword is also found inside `words`, of which the first four are listed.

    The others are counted in the message.
    """
    listed = _join_words(words[:4])
    message = f"`{keyword}` is also found inside {listed}"
    if len(words) > 4:
        message += f", and in {number_of(len(words) - 4, 'more word')}"
    help = "write the intended words, or suppress this warning if the extraction sorts it out"
    return diagnostic("FS614", span, message, help, subject=f"`{keyword}` in {listed}")


def _join_words(words: Sequence[str]) -> str:
    """Return the words in backticks, joined by commas and `and`."""
    *first, last = [f"`{word}`" for word in words]
    return f"{', '.join(first)} and {last}" if first else last


def keyword_misses(span: Span, keyword: str, forms: Sequence[str]) -> Diagnostic:
    """Return FS615: a keyword does not find other forms of its word."""
    listed = " and ".join(f"`{form}`" for form in forms)
    message = f"`{keyword}` does not find {listed}"
    return diagnostic("FS615", span, message, f"add {listed}", subject=f"`{keyword}` ({listed})")


def keyword_pattern(span: Span, keyword: str, words: Sequence[str]) -> Diagnostic:
    """Return FS616: a keyword is written as a pattern. `words` are those that the pattern matches; may be empty."""
    message = f"`{keyword}` is a pattern, and reviews are searched for these very characters"
    subject = f"`{keyword}` is a pattern"
    if not words:
        return diagnostic("FS616", span, message, "write the words themselves", subject=subject)
    help = f"write {_join_words(words)}"
    return diagnostic("FS616", span, message, help, subject=f"{subject}, {help}")


def keyword_characters(span: Span, keyword: str, holds: str, plain: str) -> Diagnostic:
    """Return FS616: a keyword has characters, described by `holds`, that reviews do not have.

    `plain` is the keyword as reviews write it; empty if there is no such form.
    """
    message = f"`{keyword}` has {holds}, which reviews do not"
    help = f"write `{plain}`" if plain else "remove it"
    return diagnostic("FS616", span, message, help, subject=f"`{keyword}` has {holds}, {help}")


exact_match_in_list = define_1(
    "FS623",
    "`{0}` lists several categories, such as `Thai, Bars`, and `exact` compares the whole",
    'write "match": "substring_first", or "substring_max" for the highest value of those found',
)


def comparison_with_list(span: Span, name: str, operator: str, help: Help) -> Diagnostic:
    """Return FS623: a condition compares the whole of a field that lists several categories."""
    message = f"`{name}` lists several categories, such as `Thai, Bars`, and `{operator}` compares the whole"
    return diagnostic("FS623", span, message, help)


def other_case(span: Span, written: str, titled: str, *, is_there: bool) -> Diagnostic:
    """Return FS628: a lookup's key is a category in other case than Yelp's, `titled`.

    `is_there` says that the table has that key, too: the help is then to remove the other.
    """
    help = f"remove it: `{titled}` is there" if is_there else Suggestion(f"write `{titled}`", titled, "unsafe")
    message = f"`{written}` misses `{titled}`: case matters, and Yelp begins each word of a category with a capital"
    return diagnostic("FS628", span, message, help, subject=f"`{written}` for `{titled}`")


def keys_alike(span: Span, key: str, other: str) -> Diagnostic:
    """Return FS631: two keys of a lookup differ in case alone, and have different values."""
    message = f"only case tells `{key}` and `{other}` apart, and they give different values"
    return diagnostic(
        "FS631", span, message, "give both the same value, or remove one", subject=f"`{key}` and `{other}`"
    )


def beyond_range(span: Span, name: str, range: str, comparison: str, result: bool) -> Diagnostic:
    """Return FS630: a comparison with a value outside of a field's range in Yelp's data has always the same result.

    `result` is this result, `range` the field's range in words.
    """
    message = f"`{name}` is {range} in Yelp's data, so `{comparison}` is always {str(result).lower()}"
    help = "compare with a value that can make a difference, or remove the comparison"
    return diagnostic("FS630", span, message, help)


def surrounding_space(span: Span, text: str, noun: str) -> Diagnostic:
    """Return FS629: a string, called `noun`, begins or ends with white space. The help suggests it without."""
    stripped = text.strip()
    side = "begins and ends"
    if text == text.lstrip():
        side = "ends"
    elif text == text.rstrip():
        side = "begins"
    help = Suggestion(f"write `{stripped}`", stripped, "unsafe")
    return diagnostic("FS629", span, f"{noun} `{text}` {side} with white space", help, subject=f"`{text}`")


def placeholder_in_quotes(span: Span, written: str, name: str, *, is_whole: bool) -> Diagnostic:
    """Return FS627: the prompt has quotes around the placeholder `name`; `written` is both together.

    If `is_whole`, they are on both sides, and the suggestion replaces them, too; otherwise there is no suggestion.
    """
    message = f"`{written}` has quotes around a placeholder, which is filled with a JSON string in quotes of its own"
    help = f"write `{{{name}}}` without quotes"
    if is_whole:
        return diagnostic("FS627", span, message, Suggestion(help, f"{{{name}}}", "unsafe", is_verbatim=True))
    return diagnostic("FS627", span, message, help)


def hidden_key(span: Span, key: str, shorter: str, value: str) -> Diagnostic:
    """Return FS618: a key of a lookup is never decisive, since a shorter key is found in the same strings.

    `value` is that of the shorter key if the highest value is taken; empty if the first key found is.
    """
    message = f"`{key}` decides nothing: wherever it is found, `{shorter}` is found too"
    subject = f"`{key}` beside `{shorter}`"
    if value:
        help = f"give `{key}` a higher value, or remove it"
        return diagnostic("FS618", span, f"{message}, and gives {value}", help, subject=subject)
    help = f"put `{key}` before `{shorter}`, or remove it"
    return diagnostic("FS618", span, f"{message}, and comes before it", help, subject=subject)


def entry_is_default(span: Span, key: str, value: str, is_exact: bool) -> Diagnostic:
    """Return FS619: an entry of a lookup gives the default, `value`.

    `is_exact` says that it then changes nothing at all; otherwise it matters if another key is found, too.
    """
    message = f"`{key}` gives {value}, which is the default: it matters only if another key is found too"
    help = "remove the entry, change its value, or suppress this warning if several keys may be found"
    if is_exact:
        message = f"`{key}` gives {value}, which is the default: the entry changes nothing"
        help = "remove the entry, or change its value"
    return diagnostic("FS619", span, message, help, subject=f"`{key}`")


def unreachable_rule(span: Span, is_else: bool, lost: str, reason: str) -> Diagnostic:
    """Return FS607: a rule of a `case` never applies. `lost` is the value that no other rule gives; empty if one does."""
    noun = "`else`" if is_else else "rule"
    help = "change the condition, or remove the rule"
    if is_else:
        help = "check the conditions before it; if they are right, put `else` in place of the last of them"
    effect = f", so that {lost} is never given" if lost else ""
    return diagnostic("FS607", span, f"this {noun} is unreachable{effect}: {reason}", help)
