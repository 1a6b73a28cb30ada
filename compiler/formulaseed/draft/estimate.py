"""What a draft may take, before anything is asked: the calls, their prompts as far as they are known, and two costs.

The likely one takes answers to be as long, for the number of sentences, as those of the recorded example; the bound
takes every answer to be as long as it may be. An answer's thinking counts in the bound alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from formulaseed.diagnostics.model import number_of
from formulaseed.draft.prompts import MAX_TOKENS, REPAIR, STEPS, Step, sentences, shown, system_prompt
from formulaseed.draft.task import Task
from formulaseed.draft.transcript import Settings
from formulaseed.llm.calls import Usage
from formulaseed.llm.prices import Prices, cost_text

_BYTES_A_TOKEN = 3
_USUAL_BYTES_A_TOKEN = 4
EXAMPLE = "examples/draft-g1a_v2"
EXAMPLE_SENTENCES = 49
EXAMPLE_OUTPUT = {"conditions": 1_134, "graph": 1_425, "seed": 1_413, "repair": 181}
"""The tokens of its answers, by step; it needed one repair."""


def estimate(task: Task, settings: Settings, prices: Prices) -> list[str]:
    """Lines for people. Prompts are counted by their bytes, generously; later ones also hold earlier answers."""
    text = _tokens(shown({"sentences": sentences(task)}))
    repairs = settings.max_repairs
    steps = [*STEPS, *[REPAIR] * repairs]
    own = [_own_tokens(step) + text for step in steps]
    usages = [Usage(cache_write=tokens + before * MAX_TOKENS, output=MAX_TOKENS) for before, tokens in enumerate(own)]
    costs = [prices.cost(settings.model, usage) for usage in usages]
    most = None if None in costs else sum(cost for cost in costs if cost is not None)
    plain = sum(not sentence.is_frame for sentence in task.sentences)
    likely = _likely(steps[: len(STEPS) + 1], text, plain, settings, prices)
    return [
        f"{number_of(plain, 'sentence')}; {len(STEPS)} calls to {settings.model}, and at most {repairs} more to repair",
        *(
            f"{number:02}-{step.name}: about {tokens:,} tokens of prompt{', and what was answered before' if number > 1 else ''}"
            for number, (step, tokens) in enumerate(zip(STEPS, own, strict=False), 1)
        ),
        f"likely {cost_text(likely)}, if answers are as long for each sentence as those of {EXAMPLE} "
        f"(written by hand, without thinking){', with one repair' if repairs else ''}",
        f"an answer has {MAX_TOKENS:,} tokens at most, thinking included; all of it costs {cost_text(most)} at most",
    ]


def _likely(steps: Sequence[Step], text: int, plain: int, settings: Settings, prices: Prices) -> float | None:
    """What the calls cost with answers of the usual length; each is part of the prompts behind it."""
    answered, costs = 0, []
    for step in steps:
        prompt = (_own_tokens(step) + text) * _BYTES_A_TOKEN // _USUAL_BYTES_A_TOKEN + answered
        output = round(EXAMPLE_OUTPUT[step.name] * plain / EXAMPLE_SENTENCES)
        costs.append(prices.cost(settings.model, Usage(cache_write=prompt, output=output)))
        answered += output
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _own_tokens(step: Step) -> int:
    return _tokens(system_prompt(step)) + _tokens(json.dumps(dict(step.schema)))


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_A_TOKEN)
