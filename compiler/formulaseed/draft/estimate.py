"""What a draft may take, before anything is asked: the calls, their prompts as far as they are known, and a bound of the cost."""

from __future__ import annotations

import json

from formulaseed.draft.prompts import MAX_TOKENS, REPAIR, STEPS, Step, sentences, shown, system_prompt
from formulaseed.draft.task import Task
from formulaseed.draft.transcript import Settings
from formulaseed.llm.calls import Usage
from formulaseed.llm.prices import Prices, told
from formulaseed.wording import number_of

_BYTES_A_TOKEN = 3


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
    return [
        f"{number_of(plain, 'sentence')}; {len(STEPS)} calls to {settings.model}, and at most {repairs} more to repair",
        *(
            f"{number:02}-{step.name}: about {tokens:,} tokens of prompt{', and what was answered before' if number > 1 else ''}"
            for number, (step, tokens) in enumerate(zip(STEPS, own, strict=False), 1)
        ),
        f"an answer has {MAX_TOKENS:,} tokens at most, thinking included; all of it costs {told(most)} at most",
    ]


def _own_tokens(step: Step) -> int:
    return _tokens(system_prompt(step)) + _tokens(json.dumps(dict(step.schema)))


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_A_TOKEN)
