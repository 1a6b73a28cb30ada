"""Validates the arguments of the public functions, by one table of argument names and types.

In: a public function. Out: the same function, which rejects an unknown option, a missing argument and a value of the wrong kind
with a `FormulaSeedError` that names the argument. Seeds, files and data are validated where they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from formulaseed.data.duplicates import Duplicates
from formulaseed.diagnostics.suggestions import did_you_mean, find_close_matches
from formulaseed.errors import ArgumentError, FormulaSeedError

if TYPE_CHECKING:
    from inspect import Signature

    from pydantic import TypeAdapter, ValidationError

_MIN_SIMILARITY = 0.5
"""The least similarity of an option that is proposed; among a few options it may be lower than among names of a seed."""
_Function = TypeVar("_Function", bound=Callable[..., Any])


def validate_arguments(function: _Function) -> _Function:
    """Decorate a function so that each call validates its arguments first.

    A call raises `FormulaSeedError` for an unknown or missing argument, `ArgumentError` for a value of the wrong type.
    """
    return validate_arguments_with(lambda name: "")(function)


def validate_arguments_with(find_home: Callable[[str], str]) -> Callable[[_Function], _Function]:
    """Return a decorator like `validate_arguments`, with better help for options that belong to other functions.

    `find_home` maps the name of an option that the function does not have to its help, or to an empty string.
    """

    def decorate(function: _Function) -> _Function:
        """Return `function` with a check of its arguments before each call."""

        @wraps(function)
        def call_validated(*arguments: Any, **options: Any) -> Any:
            """Validate the arguments, then call the function. Raises `FormulaSeedError` for a wrong one."""
            signature = _signature_of(function)
            unknown = next((name for name in options if name not in signature.parameters), None)
            if unknown is not None:
                raise unknown_option(function.__name__, unknown, list(signature.parameters), find_home(unknown))
            try:
                bound = signature.bind(*arguments, **options)
            except TypeError as error:
                raise FormulaSeedError(f"`{function.__name__}`: {error}") from None
            for name, value in bound.arguments.items():
                _validate(name, value)
            return function(*arguments, **options)

        return cast(_Function, call_validated)

    return decorate


def unknown_option(owner: str, name: str, names: list[str], help: str = "") -> FormulaSeedError:
    """Return, not raise, the error for an option that a function or a class does not have.

    `owner` is the name of the function or class. Without a `help`, the message proposes the nearest of `names` even if
    it is not close, or lists all of them.
    """
    from difflib import get_close_matches

    if not help and not find_close_matches(name, names):
        nearest = get_close_matches(name, names, 1, _MIN_SIMILARITY)
        help = f"did you mean `{nearest[0]}`?" if nearest else ""
    help = help or str(did_you_mean(name, names, noun="options", limit=len(names)))
    return FormulaSeedError(f"`{owner}` has no option `{name}`; {help}")


def argument_error(name: str, error: ValidationError) -> ArgumentError:
    """Return, not raise, the error for a wrong value of the argument `name`, from the first error of pydantic."""
    first = error.errors(include_url=False)[0]
    reason = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return ArgumentError(name, f"must be {reason}, not {first['input']!r:.80}")


_FLAGS = (
    "allow_edited", "any_parameters", "fingerprint", "formatted", "prove", "quick", "strict", "trace", "wide", "with_text",
)  # fmt: skip


@cache
def _signature_of(function: Callable[..., Any]) -> Signature:
    from inspect import signature

    return signature(function)


def _validate(name: str, value: object) -> None:
    """Raise `ArgumentError` if the value of the argument `name` is of a wrong type. Unknown names are not checked."""
    from pydantic import ValidationError

    adapter = _adapters().get(name)
    if adapter is None:
        return
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        raise argument_error(name, error) from None


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    """Return the validators by the name of the argument, cached. Arguments that are seeds, files or data have none."""
    from pydantic import Field, StrictBool, StrictInt, StrictStr, TypeAdapter

    parameters = Mapping[str, Any] | None
    types: dict[str, Any] = {
        "backend": Literal["module", "sql"] | None,
        "business_id": StrictStr,
        "by": Annotated[float, Field(gt=0, strict=True)],
        "dialect": Literal["duckdb", "spark"] | None,
        "duplicates": Duplicates,
        "effort": Annotated[StrictInt, Field(ge=1)],
        "engine": Literal["duckdb", "python"],
        "key": StrictStr,
        "limit": Annotated[StrictInt, Field(ge=0)] | None,
        "notify": Callable[..., Any] | None,
        "on_error": Literal["fail", "skip"],
        "output": StrictStr | None,
        "parameters": parameters,
        "parameters_new": parameters,
        "parameters_old": parameters,
        "properties": Sequence[StrictStr],
        "sample": Annotated[StrictInt, Field(ge=1)] | None,
        "sample_seed": StrictInt,
        "since": StrictStr | Path | None,
        "target": StrictStr,
        "text": StrictStr,
        **dict.fromkeys(_FLAGS, StrictBool),
    }
    return {name: TypeAdapter(ty) for name, ty in types.items()}
