"""Define the differences between a seed and the policy that it cites (FS64)."""

from __future__ import annotations

from formulaseed.diagnostics.catalogue import define_1, define_2

sentence_not_in_policy = define_2(
    "FS641",
    "{0} cites `{1}`, which the policy does not say",
    "copy a sentence or a row of the policy word for word, or at least four words of one",
)
value_not_in_policy = define_2(
    "FS642",
    "{0} uses `{1}`, which no sentence that it cites contains",
    'cite the sentence with it, or give the reason: "allow": {{"FS642": "…"}}',
)
uncited_sentence = define_1(
    "FS643",
    "nothing in the seed cites `{0}`",
    "cite it in the `sources` of a part, or of the seed; if it states no rule, list it in `no_rule`",
)
part_without_source = define_1(
    "FS644",
    "{0} cites no sentence of the policy",
    'cite the sentence that it follows, "sources": ["…"], or give the reason: "allow": {{"FS644": "…"}}',
)
