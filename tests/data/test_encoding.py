"""Every encoder writes the same text: msgspec's, and the standard library's."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from formulaseed.data import encoding
from formulaseed.data.encoding import encode_plain, fast_encoder
from helpers import msgspec_installed
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("msgspec")


@pytest.fixture(params=["msgspec", "standard library"], scope="module", autouse=True)
def _encoder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run all tests with msgspec, and as if it were not installed."""
    with msgspec_installed(request.param == "msgspec", fast_encoder):
        assert (fast_encoder() is encoding._encode_by_type) == (request.param != "msgspec")
        yield


NUMBERS = st.integers() | st.integers(-(2**64), 2**64) | st.floats() | st.floats(-1e-3, 1e-3) | st.floats(1e15, 1e17)
POWERS = [sign * 10.0**power for power in range(-324, 309) for sign in (1, -1)]


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), NUMBERS | st.text()))
@example({f"p{index}": value for index, value in enumerate(POWERS)})
@example({f"p{index}": value for index, value in enumerate([math.inf, -math.inf, math.nan])})
@example({"ONE": 1, "TRUE": True, "FALSE": False, "NONE": None, "ZERO": -0.0})
@example({"TEXT": "5e-7 1e5 null .0000 \ud800"})
def test_the_text_is_that_of_the_standard_library(values: dict[str, Any]) -> None:
    assert encode_plain(values) == json.dumps(values, ensure_ascii=False)
    for name, value in values.items():
        assert encode_plain({name: value}) == json.dumps({name: value}, ensure_ascii=False)


def test_ordinary_values_are_encoded_by_the_fast_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "encode", lambda values: "slow")
    assert encode_plain({"LEAST": 0.0001, "MOST": 1e15, "COUNT": 12, "VERDICT": "none", "IS_SEVERE": True}) != "slow"
    assert encode_plain({"LEAST": math.nan}) == "slow"
