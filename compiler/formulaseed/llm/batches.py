"""Batches of calls: created, polled, and their results read one by one, in any order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from formulaseed.llm.calls import Answer, Call, answer_of, params
from formulaseed.llm.client import CallFailed, Client, failure_of

_SECONDS_TO_SEND = 600.0
_NEVER_ARRIVED = ("ConnectError", "ConnectTimeout", "PoolTimeout")
_HOPELESS = ("invalid_request_error", "request_too_large")
_READS_AT_MOST = 5


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


class BatchClient(Client):
    """A client for batches, too. Every method raises `CallFailed`."""

    async def create_batch(self, calls: Sequence[Call]) -> str:
        """Create a batch and return its id. Never retried once sending began, since the batch may exist."""
        requests: list[Any] = [{"custom_id": call.key, "params": params(call)} for call in calls]
        once = self.sdk.with_options(timeout=max(_SECONDS_TO_SEND, self.limits.timeout), middleware=[_sent_once])
        try:
            return (await once.messages.batches.create(requests=requests)).id
        except CallFailed:
            raise
        except Exception as error:
            raise failure_of(error) from None

    async def has_ended(self, batch: str) -> bool:
        """Whether the batch's results are there."""
        try:
            return (await self.sdk.messages.batches.retrieve(batch)).processing_status == "ended"
        except Exception as error:
            raise failure_of(error) from None

    async def results(self, batch: str) -> AsyncIterator[BatchResult]:
        """Yield the results; from the start again where the connection breaks in the middle."""
        for left in reversed(range(_READS_AT_MOST)):
            try:
                async for entry in await self.sdk.messages.batches.results(batch):
                    yield _result(entry)
                return
            except Exception as error:
                failed = failure_of(error)
                if failed.status is not None or not left:
                    raise failed from None


async def _sent_once(request: Any, call_next: Any) -> Any:
    """Keep the SDK from sending again what may have arrived."""
    try:
        return await call_next(request)
    except Exception as error:
        if type(error.__cause__).__name__ in _NEVER_ARRIVED:
            raise
        message = f"{failure_of(error)} while a batch was sent; the API may have it, so it is not sent again"
        raise CallFailed(message, is_final=True) from None


def _result(entry: Any) -> BatchResult:
    key, result = entry.custom_id, entry.result
    if result.type == "succeeded":
        try:
            return BatchResult(key, result.type, answer_of(result.message.to_dict()))
        except ValueError as error:
            return BatchResult(key, result.type, reason=str(error), may_help=True)
    if result.type == "errored":
        said = result.error.error
        reason = f"the API could not answer: {said.message}"
        return BatchResult(key, result.type, reason=reason, may_help=said.type not in _HOPELESS)
    return BatchResult(
        key, result.type, reason=f"its call in a batch was {result.type}", may_help=result.type == "expired"
    )
