"""Creates batches of the Message Batches API, polls and lists them, and reads their results.

A creation is not sent again once it may have arrived, since two batches of the same calls would both be paid.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from formulaseed.llm.calls import Answer, ModelCall, build_request, parse_answer
from formulaseed.llm.client import Client
from formulaseed.llm.connecting import NEVER_ARRIVED, CallFailed, summarize_error, translate_error


class NoBatches(CallFailed):
    """Raised if a server that is not Anthropic's own has no batches."""


class BatchMayExist(CallFailed):
    """Raised if it is unknown whether the API has created a batch."""


_SECONDS_TO_SEND = 600.0
_PERMANENT_ERRORS = (
    "invalid_request_error", "request_too_large", "not_found_error", "authentication_error", "permission_error",
    "billing_error",
)  # fmt: skip
_MAX_READS = 5
_NO_SUCH_ENDPOINT = (404, 405, 501)
_OVERLOADED = (503, 529)  # a server that is too busy has not taken the batch in


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one call of a batch: an answer, or the reason why there is none.

    `status` is the API's word: succeeded, errored, canceled or expired. `may_help` is True if the same call may succeed later.
    """

    key: str
    status: str
    answer: Answer | None = None
    reason: str = ""
    may_help: bool = False


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch: its id, the number of its calls, and `has_ended`, which is True if its results can be read."""

    id: str
    count: int
    has_ended: bool


class BatchClient(Client):
    """A client that also creates and reads batches. Every method raises `CallFailed` if the API gives no usable answer."""

    async def create_batch(self, calls: Sequence[ModelCall]) -> str:
        """Create a batch, which will be paid, and return its id.

        Raises `BatchMayExist` if the API may have created the batch; a retry could then create, and pay, a second one.
        Raises `NoBatches` if the server has none, and another `CallFailed` if the batch was not created.
        """
        requests: list[Any] = [{"custom_id": call.key, "params": build_request(call)} for call in calls]
        is_accepted = False

        async def note_status(request: Any, call_next: Any) -> Any:
            """Send the request once, and set `is_accepted`."""
            nonlocal is_accepted
            response = await _send_once(request, call_next)
            is_accepted = response.status_code == 200
            return response

        sdk = self.sdk.with_options(timeout=max(_SECONDS_TO_SEND, self.limits.timeout), middleware=[note_status])
        try:
            batch_id = (await sdk.messages.batches.create(requests=requests)).id
            if not isinstance(batch_id, str):
                raise ValueError("it has no id")
            return batch_id
        except CallFailed:
            raise
        except Exception as error:
            if is_accepted:
                reason = summarize_error(error)
                raise BatchMayExist(f"the API accepted a batch, and its answer cannot be read: {reason}") from None
            failure = translate_error(error)
            if failure.status in _NO_SUCH_ENDPOINT and self.is_foreign:
                raise NoBatches("the server has no batches") from None
            raise failure from None

    async def read_state(self, batch_id: str) -> BatchState:
        """Ask the API for the state of a batch. Raises `CallFailed`, with `status` 404 if there is no such batch."""
        try:
            return _read_batch_state(await self.sdk.messages.batches.retrieve(batch_id))
        except Exception as error:
            raise translate_error(error) from None

    async def list_batches(self, created_since: float) -> AsyncIterator[BatchState]:
        """Yield the batches that were created since a time, in seconds since 1970, the latest first.

        Yields nothing if the server has no list of batches, as servers with a similar interface may not. Raises
        `CallFailed` for other errors.
        """
        try:
            async for batch in self.sdk.messages.batches.list(limit=100):
                if batch.created_at.timestamp() < created_since:
                    return
                yield _read_batch_state(batch)
        except Exception as error:
            failure = translate_error(error)
            if failure.status != 404:
                raise failure from None

    async def read_first_key(self, batch: BatchState) -> str | None:
        """Return the key of the first result of a batch; None if it has no results, or the API has deleted them.

        Raises `CallFailed` for other errors.
        """
        try:
            async with aclosing(self.read_results(batch)) as results:
                return (await anext(results)).key
        except (CallFailed, StopAsyncIteration) as error:
            if isinstance(error, CallFailed) and error.status != 404:
                raise
            return None

    async def read_results(self, batch: BatchState) -> AsyncGenerator[BatchResult]:
        """Yield the results of a batch that has ended.

        Reads them from the start again, up to `_MAX_READS` times, if the connection breaks or there are too few, so
        that results may be repeated. In the end there may still be too few. Raises `CallFailed` if the API answers with
        an error, or the last connection breaks.
        """
        for remaining_reads in reversed(range(_MAX_READS)):
            count = 0
            try:
                entries = await self.sdk.messages.batches.results(batch.id)
                try:
                    async for entry in entries:
                        count += 1
                        yield _read_batch_result(entry)
                finally:
                    await entries.close()
                if count >= batch.count:
                    return
            except Exception as error:
                failure = translate_error(error)
                if failure.status is not None or not remaining_reads:
                    raise failure from None


async def _send_once(request: Any, call_next: Any) -> Any:
    """Send a request as the SDK's middleware, and return the response.

    Raises `BatchMayExist` if the API may have the request; the SDK retries other errors.
    """
    try:
        response = await call_next(request)
    except Exception as error:
        if type(error.__cause__).__name__ in NEVER_ARRIVED:
            raise
        raise BatchMayExist(f"{translate_error(error)} while a batch was sent, and the API may have it") from None
    status = response.status_code
    if status == 408 or (status >= 500 and status not in _OVERLOADED):
        raise BatchMayExist(f"the API answered {status} to a batch, and may have it")
    return response


def _read_batch_state(batch: Any) -> BatchState:
    """Return the state in a batch of the API; its count are the calls in every status, finished or not."""
    counts = batch.request_counts
    count = sum(getattr(counts, name) or 0 for name in ("processing", "succeeded", "errored", "canceled", "expired"))
    return BatchState(batch.id, count, batch.processing_status == "ended")


def _read_batch_result(entry: Any) -> BatchResult:
    """Return the result in an entry of the API; an unreadable answer is a result without an answer.

    `may_help` is True for an unreadable answer, an expired call, and an error that is not permanent.
    """
    key = entry.custom_id
    result = entry.result
    status = result.type
    if status == "succeeded":
        try:
            return BatchResult(key, status, parse_answer(result.message.to_dict()))
        except ValueError as error:
            return BatchResult(key, status, None, str(error), may_help=True)
    if status == "errored":
        api_error = result.error.error
        reason = f"the API could not answer: {api_error.message}"
        return BatchResult(key, status, None, reason, may_help=api_error.type not in _PERMANENT_ERRORS)
    return BatchResult(key, status, None, f"its call in a batch was {status}", may_help=status == "expired")
