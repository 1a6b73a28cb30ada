"""Opens an extractor by its name, from plain options: what `formulaseed run` and `formulaseed.run` have in common."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from formulaseed.data.jsonl import Line, Lines, LocatedRestaurant, lines_of
from formulaseed.data.results import Extractor, Failures, ReviewInput
from formulaseed.diagnostics.model import number_of
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.errors import DataError, FormulaSeedError
from formulaseed.extractors.base import SyncExtractor, fields_of
from formulaseed.ir import nodes
from formulaseed.llm.calls import EFFORTS, Effort, cost_text

if TYPE_CHECKING:
    from formulaseed.extractors.model.answers import UsageStats
    from formulaseed.extractors.recorded import RecordedExtractor
    from formulaseed.extractors.trained.classifying import RecordedAnswer
    from formulaseed.extractors.trained.measuring import FieldMeasure

Restaurants = Callable[[], Iterator[LocatedRestaurant]]
Reviews = Callable[[], Iterable[Sequence[ReviewInput]]]
"""Restaurants, and their reviews to extract, from the start each time they are called."""


class ModelOptions(TypedDict, total=False):
    """The options of `anthropic` and `cascade`, as `formulaseed run` has them. Times are seconds, costs US dollars."""

    model: str
    effort: Effort
    concurrency: int
    batch: bool
    poll: float
    max_usd: float | None
    prices: str | os.PathLike[str] | None
    store: str | os.PathLike[str] | None
    examples: Lines | None
    retry_errors: bool
    timeout: float
    deadline: float
    retries: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    notify: Callable[[str], None] | None
    """Called with lines about the run: how far it is, why it waits or ends early, and at its end what it has cost."""
    target_agreement: float
    """Of the extractor `cascade` alone."""


DEFAULTS: ModelOptions = {
    "model": "claude-haiku-5-5", "effort": "low", "concurrency": 16, "batch": False, "poll": 30.0, "max_usd": None,
    "prices": None, "store": None, "examples": None, "retry_errors": False, "timeout": 60.0, "deadline": 300.0, "retries": 8,
    "requests_per_minute": None, "tokens_per_minute": None, "notify": None, "target_agreement": 0.95,
}  # fmt: skip
"""What is not given; None stands for no limit, and for the file that comes with this package or is in the cache folder."""
_SECONDS_BETWEEN_LINES = 10.0
FIRST_SAMPLE = 300
"""So many reviews a cascade asks the model about at first, if nothing else is given."""


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not _is_flag(value) and 0 < value < 1e15


def _between(low: int, high: int) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and low <= value <= high, f"an integer from {low} to {high}"


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model": (lambda value: isinstance(value, str), "a string"),
    "effort": (lambda value: value in EFFORTS, f"one of {', '.join(EFFORTS)}"),
    "concurrency": _between(1, 1000),
    "retries": _between(0, 20),
    "target_agreement": (lambda value: _is_positive(value) and 0.5 <= value <= 0.999, "a number from 0.5 to 0.999"),
    "examples": (lambda value: value is not None, "a path or a list of objects"),
    "notify": (callable, "a function"),
    **dict.fromkeys(("batch", "retry_errors"), (_is_flag, "true or false")),
    **dict.fromkeys(("prices", "store"), (_is_path, "a path")),
    **dict.fromkeys(
        ("poll", "max_usd", "timeout", "deadline", "requests_per_minute", "tokens_per_minute"),
        (_is_positive, "a number above 0"),
    ),
}


def sync_extractor(
    program: nodes.Program, recorded: Iterable[Line] | None, failures: Failures, *, strict: bool = False
) -> SyncExtractor:
    """Return the extractor of recorded extractions, whose invalid lines are failures, or else the lexical one."""
    from formulaseed.extractors.lexical import LexicalExtractor
    from formulaseed.extractors.recorded import RecordedExtractor

    fields = fields_of(program)
    if recorded is None:
        return LexicalExtractor(fields)
    found = RecordedExtractor(fields, recorded, strict=strict)
    for place, reason in found.faults:
        failures.add_unreadable(place, reason)
    return found


def trained_extractor(
    program: nodes.Program,
    recorded: Iterable[Line],
    reviews: Reviews,
    failures: Failures,
    *,
    strict: bool = False,
    min_confidence: float = 0.0,
) -> SyncExtractor:
    """Return the extractor that learns from recorded extractions, whose invalid lines are failures.

    `reviews` have the texts of the recorded ones. Raises `DataError` where there is nothing to learn from, and
    `UnreadableError` without the extra `train`.
    """
    from formulaseed.extractors.trained.classifying import Trained
    from formulaseed.extractors.trained.extractor import TrainedExtractor

    known, answers = _to_learn_from(program, recorded, reviews, strict=strict)
    for place, reason in known.faults:
        failures.add_unreadable(place, reason)
    return TrainedExtractor(known.fields, known, Trained(known.fields, answers), min_confidence)


def require_training() -> None:
    """Raise `UnreadableError` where the extra `train` is not installed, before anything is read or asked."""
    from formulaseed.extractors.trained.features import one_thread

    with one_thread():
        pass


def measured_training(
    program: nodes.Program, recorded: Iterable[Line], reviews: Reviews
) -> tuple[SyncExtractor, list[FieldMeasure]]:
    """Return what predicts each recorded review by training on other restaurants, and how well. Raises as `trained_extractor`."""
    from formulaseed.extractors.trained.extractor import HeldOutExtractor
    from formulaseed.extractors.trained.measuring import cross_validated, measures

    known, answers = _to_learn_from(program, recorded, reviews)
    predictions = cross_validated(known.fields, answers)
    return HeldOutExtractor(predictions), measures(known.fields, answers, predictions)


def _to_learn_from(
    program: nodes.Program, recorded: Iterable[Line], reviews: Reviews, *, strict: bool = False
) -> tuple[RecordedExtractor, list[RecordedAnswer]]:
    from formulaseed.extractors.recorded import RecordedExtractor
    from formulaseed.extractors.trained.extractor import recorded_answers

    require_training()
    known = RecordedExtractor(fields_of(program), recorded, strict=strict, keeps_texts=True)
    answers = recorded_answers(known, reviews(), program.review_handling)
    if not answers:
        raise DataError("no recorded extraction has a review to learn from: in the contexts, or as `text` in its line")
    return known, answers


@contextmanager
def model_extractor(
    program: nodes.Program,
    restaurants: Restaurants,
    reviews: Reviews,
    failures: Failures,
    given: Mapping[str, Any],
    first: tuple[int, int] | None = None,
) -> Iterator[tuple[Extractor, UsageStats]]:
    """Open the store and what asks a model about the reviews, as `given` says; why no more was asked is a failure.

    The usage is that of this run, and counts while it goes on.

    `first`, the size and the seed of a sample, makes it a cascade: a classifier that learns from the model has its part.

    Raises `FormulaSeedError` for options that are out of range, and where no call can be made although some are needed.
    """
    from formulaseed.extractors.cascade import Cascade, CascadeOptions
    from formulaseed.extractors.model.answers import AnswerCache, UsageStats
    from formulaseed.extractors.model.asking import LiveExtractor
    from formulaseed.extractors.model.batching import BatchRun
    from formulaseed.extractors.model.examples import reviewed_answers, texts_of
    from formulaseed.extractors.model.prompting import PromptSpec
    from formulaseed.extractors.model.store import Store, default_path, opened_for_run
    from formulaseed.llm.connecting import Limits, NotReady, must_be_ready
    from formulaseed.llm.limiter import CostBudget
    from formulaseed.llm.prices import read_prices

    options = _checked(given)
    if first is not None:
        if options["batch"]:
            raise FormulaSeedError("the extractor `cascade` asks in rounds, not in batches")
        require_training()
    elif "target_agreement" in given:
        raise FormulaSeedError("`target_agreement` goes with the extractor `cascade`")
    _refuse_running_loop()
    prices = read_prices(Path(options["prices"]) if options["prices"] is not None else None)
    if options["max_usd"] is not None and options["model"] not in prices.models:
        raise FormulaSeedError(f"`max_usd` needs a price, and there is none for {options['model']}; `prices` gives one")
    asked, examples = fields_of(program), program.examples
    if options["examples"] is not None:
        lines = lines_of(options["examples"], "examples")
        examples = reviewed_answers(lines, asked, program.review_handling, lambda keys: texts_of(restaurants(), keys))
        if not examples:
            raise DataError("there is no reviewed answer in `examples`")
    spec = PromptSpec(
        asked,
        model=options["model"],
        effort=options["effort"],
        passes=program.passes,
        own_prompt=program.extraction_prompt,
        examples=examples,
    )
    path = Path(options["store"]) if options["store"] is not None else default_path()

    def cache(store: Store) -> AnswerCache:
        return AnswerCache(spec, store, UsageStats(prices), retry_errors=options["retry_errors"])

    try:
        must_be_ready()
    except NotReady:
        with Store(path, read_only=True) as store:
            if first is None and next(cache(store).unanswered(reviews()), None) is not None:
                raise
    limits = Limits(**{name: options[name] for name in Limits.__slots__})  # type: ignore[literal-required]
    with opened_for_run(path) as store:
        transport: BatchRun | LiveExtractor | Cascade
        answers, notify = cache(store), options["notify"] or (lambda _: None)
        try:
            if options["batch"]:
                transport = BatchRun(answers, limits, most_usd=options["max_usd"], poll=options["poll"], notify=notify)
                transport.ask(reviews)
            else:
                answers.unconfirmed()
                budget = CostBudget(prices, options["max_usd"], answers.usage.unconfirmed_usd)
                progress = _progress(answers.usage, notify)

                def live() -> LiveExtractor:
                    budget.use_in_new_loop()
                    return LiveExtractor(answers, limits, budget, progress, notify)

                transport = live()
                if first is not None:
                    cascade = CascadeOptions(*first, options["target_agreement"])
                    transport = Cascade(asked, live, spec.model, reviews, cascade, spec.passes)
            yield transport, answers.usage
            if transport.stopped:
                failures.add("stopped", transport.stopped)
        finally:
            for line in answers.lines():
                notify(line)


def _progress(usage: UsageStats, notify: Callable[[str], None]) -> Callable[[bool], None]:
    """Return what is called with every answer, and says now and then how many calls there were and what they have cost."""
    last = time.monotonic()

    def answered(_: bool) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            notify(f"{number_of(usage.asked, 'call')}, {cost_text(usage.paid)}")

    return answered


def _checked(given: Mapping[str, Any]) -> ModelOptions:
    """The options with the defaults of those that are not given. Raises `FormulaSeedError` for one that cannot be."""
    defaults: Mapping[str, Any] = DEFAULTS
    for name, value in given.items():
        if name not in defaults:
            raise FormulaSeedError(f"there is no option `{name}`; {did_you_mean(name, defaults, what='options')}")
        is_right, what = _CHECKS[name]
        if not (is_right(value) or (value is None and defaults[name] is None)):
            raise FormulaSeedError(f"`{name}` must be {what}, not {value!r:.80}")
    return cast(ModelOptions, {**defaults, **given})


def _refuse_running_loop() -> None:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    what = "a model cannot be asked from inside a running event loop"
    raise FormulaSeedError(f"{what}; write `await asyncio.to_thread(formulaseed.run, …)`")
