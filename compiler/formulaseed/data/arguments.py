"""Validates the arguments of the public functions, by name: one table says what each may be.

In: a public function. Out: the same function, which refuses an unknown option, a missing argument and a value of the wrong kind
with a `FormulaSeedError` that names the argument. Seeds, files and data are validated where they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from formulaseed.data.duplicates import Duplicates
from formulaseed.diagnostics.suggestions import close_matches, did_you_mean
from formulaseed.errors import FormulaSeedError

if TYPE_CHECKING:
    from inspect import Signature

    from pydantic import TypeAdapter

_REST = "model_options"
"""The parameter of the functions that take further options by name."""
_LEAST_RATIO = 0.5
"""How similar the nearest option is at least; among a few options a name may be further off than in a seed."""
_Function = TypeVar("_Function", bound=Callable[..., Any])


def validated(function: _Function) -> _Function:
    """Return the function with its arguments validated when it is called."""
    return validated_with(())(function)


def validated_with(more: Iterable[str]) -> Callable[[_Function], _Function]:
    """Return the decorator `validated` for a function that takes `more` options, which it validates itself."""
    return lambda function: _validated(function, tuple(more))


def _validated(function: _Function, more: tuple[str, ...]) -> _Function:
    @wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        signature = _signature_of(function)
        names = [name for name in signature.parameters if name != _REST] + [*more]
        for name in options:
            if name not in names:
                raise FormulaSeedError(f"`{function.__name__}` has no option `{name}`; {_nearest(name, names)}")
        try:
            given = signature.bind(*arguments, **options)
        except TypeError as error:
            raise FormulaSeedError(f"`{function.__name__}`: {error}") from None
        for name, value in given.arguments.items():
            _validate(name, value)
        return function(*arguments, **options)

    return cast(_Function, checked)


def _nearest(name: str, names: list[str]) -> str:
    """Return the help for an unknown option: the nearest one, though it may be far, or else all of them."""
    from difflib import get_close_matches

    if not close_matches(name, names) and (found := get_close_matches(name, names, 1, _LEAST_RATIO)):
        return f"did you mean `{found[0]}`?"
    return str(did_you_mean(name, names, what="options", limit=len(names)))


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
        reason = error.errors()[0]["msg"].removeprefix("Input should be ")
        raise FormulaSeedError(f"`{name}` must be {reason}, not {value!r:.80}") from None


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
        "extractor": Literal["lexical", "recorded", "trained", "cascade", "anthropic"],
        "limit": Annotated[StrictInt, Field(ge=0)] | None,
        "min_confidence": Annotated[float, Field(ge=0, le=1, strict=True)],
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
