"""Validates the arguments of the public functions, by name: one table says what each may be.

In: a public function. Out: the same function, which refuses an unknown option, a missing argument and a value of the wrong kind
with a `FormulaSeedError` that names the argument. Seeds, files and data are validated where they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from formulaseed.data.duplicates import Duplicates
from formulaseed.diagnostics.suggestions import did_you_mean, find_close_matches
from formulaseed.errors import ArgumentError, FormulaSeedError

if TYPE_CHECKING:
    from inspect import Signature

    from pydantic import TypeAdapter, ValidationError

_LEAST_RATIO = 0.5
"""How similar the nearest option is at least; among a few options a name may be further off than in a seed."""
_Function = TypeVar("_Function", bound=Callable[..., Any])


def validated(function: _Function) -> _Function:
    """Return the function with its arguments validated when it is called."""
    return validated_with(lambda name: "")(function)


def validated_with(find_home: Callable[[str], str]) -> Callable[[_Function], _Function]:
    """Return the decorator `validated` for a function some of whose options have moved.

    `find_home` returns the help for an option that the function does not have; empty if it knows none.
    """

    def decorate(function: _Function) -> _Function:
        @wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
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

        return cast(_Function, checked)

    return decorate


def unknown_option(owner: str, name: str, names: list[str], help: str = "") -> FormulaSeedError:
    """Return the error for an option that a function or a class does not have.

    Without a `help` it proposes the nearest of `names`, though it may be far, or lists all of them.
    """
    from difflib import get_close_matches

    if not help and not find_close_matches(name, names):
        nearest = get_close_matches(name, names, 1, _LEAST_RATIO)
        help = f"did you mean `{nearest[0]}`?" if nearest else ""
    help = help or str(did_you_mean(name, names, noun="options", limit=len(names)))
    return FormulaSeedError(f"`{owner}` has no option `{name}`; {help}")


def argument_error(name: str, error: ValidationError) -> ArgumentError:
    """Return the first error of pydantic as one of the argument `name`."""
    first = error.errors(include_url=False)[0]
    reason = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return ArgumentError(name, f"must be {reason}, not {first['input']!r:.80}")


@cache
def _signature_of(function: Callable[..., Any]) -> Signature:
    from inspect import signature

    return signature(function)


def _validate(name: str, value: object) -> None:
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
    """Return what validates each argument that is not validated elsewhere."""
    from pydantic import Field, StrictBool, StrictInt, StrictStr, TypeAdapter

    named = Mapping[str, Any] | None
    types: dict[str, Any] = {
        "business_id": StrictStr,
        "by": Annotated[float, Field(gt=0, strict=True)],
        "duplicates": Duplicates,
        "engine": Literal["duckdb", "python"],
        "limit": Annotated[StrictInt, Field(ge=0)] | None,
        "notify": Callable[..., Any] | None,
        "on_error": Literal["fail", "skip"],
        "output": StrictStr | None,
        "parameters": named,
        "parameters_new": named,
        "parameters_old": named,
        "sample": Annotated[StrictInt, Field(ge=1)] | None,
        "sample_seed": StrictInt,
        "target": StrictStr,
        "text": StrictStr,
        **dict.fromkeys(("allow_edited", "formatted", "strict", "trace", "with_text"), StrictBool),
    }
    return {name: TypeAdapter(ty) for name, ty in types.items()}
