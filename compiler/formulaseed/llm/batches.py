"""The API's batches: what creates them, looks at them, lists them and reads their results.

Sending is not retried once it has begun, since a batch that exists would be paid twice.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from formulaseed.llm.calls import Answer, Call, answer_of, params
from formulaseed.llm.client import Client
from formulaseed.llm.failures import NEVER_ARRIVED, CallFailed, failure_of, line_of


class MayExist(CallFailed):
    """Raised where nobody knows whether the API has created a batch."""


_SECONDS_TO_SEND = 600.0
_HOPELESS = (
    "invalid_request_error", "request_too_large", "not_found_error", "authentication_error", "permission_error",
    "billing_error",
)  # fmt: skip
_READS_AT_MOST = 5
_NOT_ACCEPTED = (503, 529)
"""The statuses of a server that is too busy to take anything in."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one call of a batch: an answer, or the reason for none and whether asking again may help.

    `status` is the API's word: succeeded, errored, canceled or expired.
    """

    key: str
    status: str
    answer: Answer | None = None
    reason: str = ""
    may_help: bool = False


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch: the number of its calls, and True if their results are available."""

    id: str
    count: int
    has_ended: bool


class BatchClient(Client):
    """A client for batches, too. Every method raises `CallFailed`."""

    async def create_batch(self, calls: Sequence[Call]) -> str:
        """Create a batch and return its id. Raises `MayExist` instead of sending again what may have arrived."""
        requests: list[Any] = [{"custom_id": call.key, "params": params(call)} for call in calls]
        is_accepted = False

        async def noted(request: Any, call_next: Any) -> Any:
            nonlocal is_accepted
            response = await _sent_once(request, call_next)
            is_accepted = response.status_code == 200
            return response

        once = self.sdk.with_options(timeout=max(_SECONDS_TO_SEND, self.limits.timeout), middleware=[noted])
        try:
            batch = (await once.messages.batches.create(requests=requests)).id
            if not isinstance(batch, str):
                raise ValueError("it has no id")
            return batch
        except CallFailed:
            raise
        except Exception as error:
            if is_accepted:
                raise MayExist(f"the API accepted a batch, and its answer cannot be read: {line_of(error)}") from None
            raise failure_of(error) from None

    async def state(self, batch: str) -> BatchState:
        """Return what the API says of a batch."""
        try:
            return _state(await self.sdk.messages.batches.retrieve(batch))
        except Exception as error:
            raise failure_of(error) from None

    async def batches_since(self, moment: float) -> AsyncIterator[BatchState]:
        """Yield the batches that were created after a moment, in seconds since 1970, the latest first.

        A server without a list of batches lists none.
        """
        try:
            async for batch in self.sdk.messages.batches.list(limit=100):
                if batch.created_at.timestamp() < moment:
                    return
                yield _state(batch)
        except Exception as error:
            failed = failure_of(error)
            if failed.status != 404:
                raise failed from None

    async def first_key(self, batch: BatchState) -> str | None:
        """Return the key of one of a batch's calls; None where its results are not kept any more."""
        try:
            async with aclosing(self.results(batch)) as results:
                return (await anext(results)).key
        except (CallFailed, StopAsyncIteration) as error:
            if isinstance(error, CallFailed) and error.status != 404:
                raise
            return None

    async def results(self, batch: BatchState) -> AsyncGenerator[BatchResult]:
        """Yield the results; from the start again where the connection breaks in the middle, or they end too early."""
        for left in reversed(range(_READS_AT_MOST)):
            count = 0
            try:
                entries = await self.sdk.messages.batches.results(batch.id)
                try:
                    async for entry in entries:
                        count += 1
                        yield _result(entry)
                finally:
                    await entries.close()
                if count >= batch.count:
                    return
            except Exception as error:
                failed = failure_of(error)
                if failed.status is not None or not left:
                    raise failed from None


async def _sent_once(request: Any, call_next: Any) -> Any:
    """Keep the SDK from sending again what may have arrived."""
    try:
        response = await call_next(request)
    except Exception as error:
        if type(error.__cause__).__name__ in NEVER_ARRIVED:
            raise
        raise MayExist(f"{failure_of(error)} while a batch was sent, and the API may have it") from None
    status = response.status_code
    if status == 408 or (status >= 500 and status not in _NOT_ACCEPTED):
        raise MayExist(f"the API answered {status} to a batch, and may have it")
    return response


def _state(batch: Any) -> BatchState:
    counts = batch.request_counts
    count = sum(getattr(counts, name) or 0 for name in ("processing", "succeeded", "errored", "canceled", "expired"))
    return BatchState(batch.id, count, batch.processing_status == "ended")


def _result(entry: Any) -> BatchResult:
    key, result, status = entry.custom_id, entry.result, entry.result.type
    if status == "succeeded":
        try:
            return BatchResult(key, status, answer_of(result.message.to_dict()))
        except ValueError as error:
            return BatchResult(key, status, None, str(error), may_help=True)
    if status == "errored":
        said = result.error.error
        reason = f"the API could not answer: {said.message}"
        return BatchResult(key, status, None, reason, may_help=said.type not in _HOPELESS)
    return BatchResult(key, status, None, f"its call in a batch was {status}", may_help=status == "expired")
