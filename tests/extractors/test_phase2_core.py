"""The pure core of extraction by a model: what is sent, what an answer means, what it costs, how fast calls go out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from asking import FIELDS, MODEL, questionnaire, seed
from formulaseed.data.results import Quote, ReviewInput, find_quote
from formulaseed.errors import DataError, UnreadableError
from formulaseed.extractors.model.answers import UsageStats
from formulaseed.extractors.model.prompting import PassValues, PromptSpec, choose_majority
from formulaseed.llm.calls import (
    Answer,
    Attempt,
    ModelCall,
    ModelCapabilities,
    UnusableAnswer,
    Usage,
    build_request,
    format_cost,
    parse_answer,
)
from formulaseed.llm.limiter import AdaptiveLimiter, CostBudget, Price, Prices, RateLimiter, read_prices
from helpers import write_json
from hypothesis import given
from hypothesis import strategies as st

GOLDENS = Path(__file__).with_name("prompts")
EVERY = {"extract": {"fields": FIELDS, "validity": True}}
TEXTS = st.text(max_size=80)
SEED_V1 = {
    "task_name": "Older",
    "extraction_prompt": 'Rated {review_stars}, {review_useful} votes, on {review_date}: {review_text}\nAnswer {"mood": {{…}}}',
    "extraction_fields": [{"name": "mood", "values": {"good": "Liked it", "bad": "Hated it"}}],
    "compute_dag": [{"name": "N", "formula": "len(extractions)"}],
    "output_fields": ["N"],
}


def about(text: str, **facts: object) -> ReviewInput:
    return ReviewInput("b", "r", text, facts)


def answered(text: str, stop: str = "end_turn") -> Answer:
    return Answer(text, stop, Usage(1, 2, 3, 4))


def counting(*fields: dict[str, Any]) -> PromptSpec:
    """What is asked for a seed with these fields."""
    return questionnaire(seed(extract={"fields": fields}, compute=[{"name": "N", "op": "count"}], output=["N"]))


REVIEWED = seed(
    extract={
        "fields": [
            {"name": "mood", "type": "enum", "values": {"good": "Liked it", "bad": "Hated it", "none": "Says nothing"},
             "evidence": "required", "reason": True},
            {"name": "spicy", "type": "boolean", "evidence": True},
            {"name": "late", "type": "boolean", "evidence": "required"},
            {"name": "dish", "type": "string", "description": "Name of the soup", "evidence": "required"},
            {"name": "guests", "type": "integer", "reason": True},
        ],
        "examples": [
            {"text": 'Great "tom yum"\nfor two.', "fields": {"mood": "good", "spicy": True, "late": False, "dish": "tom yum",
                                                             "guests": 2},
             "quotes": {"mood": "Great", "dish": "tom yum"}, "reasons": {"mood": "It says great."}},
            {"text": "A soup.", "fields": {"mood": "none", "spicy": False, "late": False, "dish": "soup", "guests": 1},
             "quotes": {"dish": "soup"}},
        ],
    },
)  # fmt: skip
GOOD = {
    "mood": "good", "spicy": True, "guests": 2, "price": 9.5, "dish": "tom yum", "cuisine": "thai",
    "mood_quote": "so good", "price_quote": "",
}  # fmt: skip


# --- what is sent


@pytest.mark.parametrize("name", ["every", "v1", "reviewed"])
def test_the_prompt_and_the_schema_are_as_reviewed(name: str, request: pytest.FixtureRequest) -> None:
    """One field of each type, with and without quotes; required quotes, reasons and examples; `--update-cases` rewrites it."""
    asked = questionnaire({"every": seed(**EVERY), "v1": SEED_V1, "reviewed": REVIEWED}[name])
    facts = {"date": "2024-05-06", "stars": 4.0, "useful": 2}
    [question] = asked.build_questions(about('She said "spicy"\n{review_stars}', **facts))
    sent = build_request(asked.build_call(question, ModelCapabilities(thinking_off=True)))
    [system], [user] = sent.pop("system"), sent.pop("messages")
    assert [*system] == ["type", "text", "cache_control"]
    assert next(iter(user.items())) == ("role", "user")
    parts = (system["text"], "----- user\n", user["content"], "\n----- the rest\n", f"{json.dumps(sent, indent=2)}\n")
    golden = GOLDENS / f"extraction_{name}.txt"
    if request.config.getoption("--update-cases"):
        golden.write_text("\n".join(parts), encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == "\n".join(parts)


@given(TEXTS)
def test_any_review_is_one_json_object_in_one_user_message(text: str) -> None:
    """The user message reads back as the text without the white space around it, and nothing else of the call changes."""
    sent, other = (build_request(ASKED.build_call(ASKED.build_questions(about(said))[0])) for said in (text, ""))
    [message] = sent["messages"]
    assert message == {"role": "user", "content": message["content"]}
    assert json.loads(message["content"]) == {"review": text.strip()}
    assert {**sent, "messages": None} == {**other, "messages": None}


ASKED = questionnaire()
OLDER_ASKED = questionnaire(SEED_V1)


@given(
    TEXTS | st.sampled_from(["{review_stars}", "{review_text}{review_text}", '"}', "{{review_date}}"]),
    st.integers(),
    TEXTS,
)
def test_placeholders_are_filled_in_one_pass(text: str, stars: int, date: str) -> None:
    """What a review or its date says is never looked at for placeholders again."""
    [question] = OLDER_ASKED.build_questions(about(text, stars=stars, date=date))
    a, b, c, d = (json.dumps(value, ensure_ascii=False) for value in (stars, None, date, text.strip()))
    assert question.user == f'Rated {a}, {b} votes, on {c}: {d}\nAnswer {{"mood": {{{{…}}}}}}'


MOOD: dict[str, Any] = {
    "name": "mood", "type": "enum", "description": "What was felt", "evidence": True,
    "values": {"good": "Liked it", "bad": "Hated it", "none": "Says nothing"},
}  # fmt: skip
WAIT: dict[str, Any] = {"name": "wait", "type": "integer", "description": "Minutes"}


def variants() -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Seeds, options and texts, each with one thing changed: something that is sent, or something that is not."""
    changes: list[dict[str, Any]] = [
        {"description": "What was felt "}, {"description": "What  was\nfelt"}, {"description": "What was felt."},
        {"values": {**MOOD["values"], "good": "Liked it "}}, {"values": {**MOOD["values"], "good": " Liked\n it"}},
        {"values": {**MOOD["values"], "good": "Liked it a lot"}}, {"values": dict(reversed(MOOD["values"].items()))},
        {"default": "none"}, {"default": "good"}, {"hint": "stars"}, {"sources": ["A sentence."]},
        {"evidence": "required"}, {"evidence": False}, {"reason": True}, {"reason": False},
    ]  # fmt: skip
    bounds = [{"minimum": 0}, {"maximum": 240}, {"minimum": 0, "maximum": 240}, {"default": 3}]
    both = [MOOD, WAIT]
    fields = [
        both,
        *([{**MOOD, **change}, WAIT] for change in changes),
        *([MOOD, {**WAIT, **bound}] for bound in bounds),
    ]
    example = {"text": "A soup.", "fields": {"mood": "good", "wait": 3}, "quotes": {"mood": "A soup."}}
    examples = [[{**example, "text": text}] for text in ("A soup.", " A soup.\n", "A  soup.")]
    plain, compute = seed(extract={"fields": both}), [{"name": "X", "op": "const", "value": 1}]
    for given_seed in (
        *(seed(extract={"fields": some}) for some in [*fields, [WAIT, MOOD]]),
        *(seed(extract={"fields": both, "examples": shown}) for shown in examples),
        *({**SEED_V1, "extraction_prompt": f"{lead}{{review_text}}"} for lead in ("Look: ", "Look:  ", "")),
        {**SEED_V1, "extraction_prompt": "Look: {review_text} "},
        seed(extract={"fields": both, "validity": True}),
        seed(extract={"fields": both}, filter={"keywords": ["soup"]}, task_name="Other", version="2"),
        seed(extract={"fields": both}, compute=compute, output=["X"]),
    ):
        yield given_seed, {}, "soup"
    for options in ({"model": "claude-opus-5-5"}, {"effort": "high"}, {"effort": None}, {"passes": 2}, {"passes": 3}):
        yield plain, options, "soup"
    for text in ("soup ", "\n soup", "so up", "Soup", ""):
        yield plain, {}, text
        yield SEED_V1, {}, text


def test_two_questions_have_one_key_exactly_where_they_are_the_same_request_of_the_same_pass() -> None:
    """Nothing that is not sent is in the key, and everything that is sent is."""
    requests, keys, count = dict[str, str](), dict[str, str](), 0
    for given_seed, options, text in variants():
        asked = questionnaire(given_seed, **options)
        for index, question in enumerate(asked.build_questions(about(text))):
            count += 1
            request = json.dumps([index, build_request(asked.build_call(question))])
            assert len(question.key) < 64
            assert question.key.isalnum(), "an id of the batch API"
            assert keys.setdefault(request, question.key) == question.key, (given_seed, options, text)
            assert requests.setdefault(question.key, request) == request, (given_seed, options, text)
    assert 15 < len(keys) < count - 10, "some of them are the same request, and some are not"


def test_bounds_of_a_field_are_asked_for_and_kept() -> None:
    """They are in the prompt, the schema and the key; an answer outside of them is of no use."""
    plain: dict[str, Any] = {"name": "wait", "type": "integer"}
    bounded = counting({**plain, "minimum": 0, "maximum": 240})
    assert "A whole number. It is from 0 to 240." in bounded.system
    assert bounded.schema["properties"]["wait"]["description"] == "from 0 to 240"
    assert bounded.id != counting(plain).id
    assert bounded.read_answer(answered('{"wait": 240}')) == {"wait": 240}
    for value in (-1, 241):
        with pytest.raises(UnusableAnswer, match=f"`wait` must be from 0 to 240, not {value}"):
            bounded.read_answer(answered(f'{{"wait": {value}}}'))


def test_a_quote_has_a_key_that_no_field_has() -> None:
    fields = [{"name": "mood", "type": "string", "evidence": True}, {"name": "mood_quote", "type": "string"}]
    asked = counting(*fields)
    assert asked.schema["required"] == ["mood_quote_", "mood", "mood_quote"]
    values = asked.read_values({"mood": "a", "mood_quote": "b", "mood_quote_": "soup"}, "my soup")
    assert values == PassValues({"mood": "a", "mood_quote": "b"}, {"mood": Quote("soup", 3, 7)})


# --- what an answer means


def test_a_whole_answer_gives_values_and_quotes() -> None:
    """An empty quote is none; 2.0 is the integer 2; unexpected keys are left out."""
    read = ASKED.read_answer(answered(json.dumps({**GOOD, "guests": 2.0, "extra": 1})))
    assert read == {**GOOD, "guests": 2.0}
    values = ASKED.read_values(read, "The soup was so\n good!")
    assert values.fields == {name: value for name, value in GOOD.items() if "quote" not in name}
    assert values.quotes == {"mood": Quote("so good", 13, 21)}
    assert ASKED.read_values({**GOOD, "mood_quote": "splendid"}, "so good").quotes["mood"].is_verified is False
    assert ASKED.read_values({**GOOD, "mood_quote": 7, "price_quote": "  "}, "so good").quotes == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"), ("Sure! {}", "not JSON"), ("[1]", "not a JSON object"), ("null", "not a JSON object"),
        ("{}", "lacks `mood`"), ("[" * 100_000, "not JSON"), ('{"mood": NaN}', "`NaN` is not a JSON number"),
        ('{"mood": 1' + "0" * 5000 + "}", "not JSON"),
        (json.dumps({**GOOD, "mood": "Good"}), "`mood` must be one of good, bad, none, not 'Good'"),
        (json.dumps({**GOOD, "mood": None}), "lacks `mood`"), (json.dumps({**GOOD, "spicy": 1}), "`spicy` must be of type"),
        (json.dumps({**GOOD, "spicy": "true"}), "`spicy`"), (json.dumps({**GOOD, "guests": True}), "`guests`"),
        (json.dumps({**GOOD, "guests": 2.5}), "`guests`"), (json.dumps({**GOOD, "guests": 10**30}), "`guests`"),
        (json.dumps({**GOOD, "price": "9"}), "`price`"), (json.dumps({**GOOD}).replace("9.5", "1e999"), "`price`"),
        (json.dumps({**GOOD, "dish": ["tom"]}), "`dish`"), (json.dumps({**GOOD, "cuisine": "french"}), "`cuisine` must be one"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_what_was_asked_for_is_of_no_use(text: str, reason: str) -> None:
    with pytest.raises(UnusableAnswer, match="answer") as raised:
        ASKED.read_answer(answered(text))
    assert reason in str(raised.value)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "pause_turn", "model_context_window_exceeded", "new_reason"])
def test_an_answer_that_stopped_for_any_other_reason_is_of_no_use(stop: str) -> None:
    with pytest.raises(UnusableAnswer):
        ASKED.read_answer(answered(json.dumps(GOOD), stop))


def test_what_is_no_message_is_reported() -> None:
    """Thoughts before the text are skipped; text blocks are put together."""
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": None}
    content = [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": "{"}, {"type": "text", "text": "}"}]
    whole = {"content": content, "stop_reason": "end_turn", "usage": usage}
    assert parse_answer(json.dumps(whole).encode(), "req") == Answer("{}", "end_turn", Usage(1, 0, 0, 2), "req")
    assert parse_answer({**whole, "usage": None}, max_usage=Usage(1)) == Answer(
        "{}", "end_turn", Usage(1), is_bound=True
    )
    for wrong in (b"", b"{}", b"[]", b'"x"', b"\xff", {**whole, "content": [{"type": "text"}]}):
        with pytest.raises(ValueError, match="not a message"):
            parse_answer(wrong)


WORDS = st.sampled_from(["the", "soup", "soups", "a", "aa", "so", "so.", "É", "x\u2028y", "ok"])
SPACES = st.sampled_from([" ", "\n", "\t \u3000", "  ", "\x1f"])


@given(st.lists(st.tuples(WORDS, SPACES), max_size=12), st.data())
def test_a_quote_is_found_where_it_stands_with_white_space_folded(parts: list[tuple[str, str]], data: Any) -> None:
    """Any part of the text, with any white space in place of its own, is found; what is found reads the same."""
    text = "".join(word + space for word, space in parts)
    start = data.draw(st.integers(0, len(text)))
    wanted = text[start : data.draw(st.integers(start, len(text)))].split()
    quote = find_quote(data.draw(SPACES).join(wanted), text)
    assert quote.is_verified is bool(wanted)
    if quote.start is not None:
        assert text[quote.start : quote.end].split() == wanted
        assert not text[quote.start].isspace()


@given(TEXTS, TEXTS)
def test_a_quote_that_is_verified_stands_in_the_text(quote: str, text: str) -> None:
    found = find_quote(quote, text)
    stands = bool(quote.split()) and " ".join(quote.split()) in " ".join(text.split())
    assert found.is_verified == stands
    if found.is_verified:
        assert " ".join(text[found.start : found.end].split()) == " ".join(quote.split())


def test_a_long_quote_in_a_long_text_is_found_at_once() -> None:
    assert not find_quote("a " * 1000 + "b", "a " * 500_000).is_verified


VALUE = st.sampled_from(["good", "bad", 1, 1.0, True, 0, False, ""])


@given(st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=9))
def test_the_majority_decides_each_field_and_the_earliest_pass_a_tie(given: Sequence[tuple[Any, Any]]) -> None:
    """1, 1.0 and True are three values; the quote comes from the first pass that gave the value."""
    passes = [PassValues({"a": a, "b": b}, {"a": Quote(str(n), 0, 1)}) for n, (a, b) in enumerate(given)]
    chosen = choose_majority(passes)
    for index, name in enumerate("ab"):
        values = [(type(one[index]), one[index]) for one in given]
        most = max(map(values.count, values))
        first = next(value for value in values if values.count(value) == most)
        assert (type(chosen.fields[name]), chosen.fields[name]) == first
        if name == "a":
            assert chosen.quotes == {"a": Quote(str(values.index(first)), 0, 1)}
    usage = UsageStats(read_prices())
    usage.add_values(passes, chosen)
    assert usage.compared == (len(given) > 1)
    assert usage.agreed["a"] == (len(given) > 1 and len({(type(a), a) for a, _ in given}) == 1)


# --- costs and speed


PRICES = Prices(models={MODEL: Price(input=1.0, output=0.0)}, per_tokens=1, cache_write=1.0)


def call(key: str = "k", user: str = "u" * 100) -> ModelCall:
    return ModelCall(key, MODEL, "s" * 100, user, {}, 100)


def test_prices_come_from_a_dated_file_and_what_is_not_listed_is_unknown(tmp_path: Path) -> None:
    """Cached tokens have their factors, batches theirs; a prompt over the length that a price holds for has no price."""
    own = read_prices()
    assert own.as_of
    usage = Usage(input=1_000, cache_write=1_000, cache_read=10_000, output=100)
    assert own.cost(MODEL, usage) == pytest.approx((1_000 + 1_250 + 1_000) * 0.1e-6 + 100 * 0.5e-6)
    assert own.cost(MODEL, usage, is_batch=True) == pytest.approx((3_250 * 0.1e-6 + 100 * 0.5e-6) / 2)
    assert own.cost("unlisted", usage) is own.cost(MODEL, Usage(input=100_001)) is None
    assert own.cost(MODEL, Usage(input=100_001), calls=2) is not None
    costs = {None: "an unknown cost", 0.0: "$0.0000", 4e-5: "$0.000040", 0.0012: "$0.0012", 12.345: "$12.35"}
    assert {cost: format_cost(cost) for cost in costs} == costs
    given = {"as_of": "2031-01-01", "models": {"mine": {"input": 1, "output": 2}}, "batch": 0.25}
    mine = read_prices(write_json(tmp_path / "prices.json", given))
    assert mine.cost("mine", Usage(input=1_000_000, output=500_000), is_batch=True) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", '{"models": []}', '{"models": {"m": 1}}', '{"models": {"m": {"input": 1}}}', "[" * 100_000,
        '{"models": {"m": {"input": -1, "output": 1}}}', '{"models": {"m": {"input": 1e400, "output": 1}}}',
        '{"models": {"m": {"input": 1' + "0" * 400 + ', "output": 1}}}', '{"models": {"m": {"input": true, "output": 1}}}',
        '{"models": {}, "per_tokens": 0}', '{"models": {}, "batch": "half"}', '{"models": {"m": {"input": NaN, "output": 1}}}',
    ],
)  # fmt: skip
def test_a_file_of_prices_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"prices\.json"):
        read_prices(path)
    with pytest.raises(UnreadableError):
        read_prices(tmp_path / "nowhere.json")


@given(TEXTS)
def test_no_call_costs_more_than_its_bound(text: str) -> None:
    """The bound counts every byte that is sent as a token, the schema's, too."""
    asked = ASKED.build_call(ASKED.build_questions(about(text))[0])
    prompt = len(asked.system + asked.user + json.dumps(asked.schema))
    prices = read_prices()
    worst = prices.cost(MODEL, Usage(cache_write=prompt, output=asked.max_tokens))
    assert (worst or 9) <= (prices.max_cost(asked) or 0)


def test_a_budget_waits_for_calls_under_way_and_never_for_ever() -> None:
    """A call that does not fit beside others waits for them to end; one that fits with none is refused at once."""
    bound = PRICES.max_cost(call()) or 0.0

    async def scenario() -> list[str]:
        budget, log = CostBudget(PRICES, 2.5 * bound), []

        async def one(name: str, cost: int) -> None:
            if not await budget.reserve(call(name)):
                log.append(f"{name} refused")
                return
            log.append(f"{name} goes")
            await asyncio.sleep(0)
            budget.charge(Attempt(name, MODEL, "200", 1, Usage(input=cost)))
            budget.settle(call(name))

        await asyncio.gather(*(one(name, 10) for name in "abcd"))
        budget.charge(Attempt("e", MODEL, "200", 1, Usage(input=round(2 * bound))))
        assert budget.may_retry()
        await one("f", 0)
        return log

    assert asyncio.run(scenario()) == ["a goes", "b goes", "c goes", "d goes", "f refused"]


def test_an_attempt_without_an_answer_counts_with_all_it_may_have_cost() -> None:
    """A 429 and a server that was not reached cost nothing; what broke may have cost all, so the next one is not sent."""

    async def scenario() -> None:
        budget = CostBudget(PRICES, 1.5 * (PRICES.max_cost(call()) or 0.0))
        assert await budget.reserve(call())
        for status in ("429", "no connection"):
            budget.charge(Attempt("k", MODEL, status, 1))
            assert budget.may_retry()
        budget.charge(Attempt("k", MODEL, "no answer", 1, call().max_usage, is_bound=True))
        assert not budget.may_retry()
        budget.settle(call())
        assert not await budget.reserve(call())
        unknown, unlisted = CostBudget(PRICES, 1.0), ModelCall("k", "unlisted", "", "", {}, 1)
        assert not await unknown.reserve(unlisted)
        assert "unknown" in unknown.explain_refusal(unlisted)
        assert await CostBudget(PRICES, None).reserve(unlisted)

    asyncio.run(scenario())


def test_the_gate_narrows_when_pushed_back_and_widens_again() -> None:
    """A burst of refusals counts once; each time round of answers lets one more through; never less than one at a time."""
    now, widths = 0.0, []
    gate = AdaptiveLimiter(10, clock=lambda: now)
    for seconds, times, method in ((0, 2, gate.slow), (2, 30, gate.slow), (0, 200, gate.recover)):
        for _ in range(times):
            now += seconds
            method()
        widths.append(gate.width)
    assert widths == [7.0, 1.0, 10.0]


def test_as_many_pass_the_gate_as_it_is_wide_and_none_is_forgotten() -> None:

    async def scenario() -> tuple[int, int]:
        gate, most, done = AdaptiveLimiter(3), 0, 0

        async def one() -> None:
            nonlocal most, done
            async with gate:
                most = max(most, gate.active)
                await asyncio.sleep(0.001)
                done += 1

        tasks = [asyncio.create_task(one()) for _ in range(40)]
        await asyncio.sleep(0)
        for task in tasks[5:30:2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (gate.active, len(gate._waiting)) == (0, 0)
        return most, done

    assert asyncio.run(scenario()) == (3, 40 - 13)


def test_whoever_is_pushed_back_gives_up_the_place_and_waits_for_another() -> None:

    async def scenario() -> tuple[int, int]:
        gate = AdaptiveLimiter(4, clock=lambda: 0.0)

        async def one(patience: float) -> None:
            async with gate, asyncio.timeout(patience):
                await asyncio.sleep(0.001)
                gate.slow()
                await gate.reacquire()
                await asyncio.sleep(0.02)

        await asyncio.gather(*(one(0.01 if n % 2 else 5) for n in range(8)), return_exceptions=True)
        return gate.active, len(gate._waiting)

    assert asyncio.run(scenario()) == (0, 0)


def test_a_rate_is_a_steady_flow_that_ends_when_all_is_over() -> None:
    """What is taken is waited for by whoever comes next; no call waits for a turn that is not needed any more."""

    async def scenario() -> tuple[float, float]:
        clock = asyncio.get_running_loop().time
        start, rate = clock(), RateLimiter(60 * 50)
        for _ in range(6):
            await rate.take(1)
        flowed, over = clock() - start, RateLimiter(1, is_over=lambda: True)
        await asyncio.gather(*(over.take(1) for _ in range(5)))
        await RateLimiter(None).take(1e9)
        return flowed, clock() - start - flowed

    flowed, waited = asyncio.run(scenario())
    assert flowed > 0.09
    assert waited < 30
