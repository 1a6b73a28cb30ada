"""A compiled seed, ready for JSON: rows and a context in, plain dictionaries out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, Protocol, cast, get_args, get_origin, get_type_hints

from formulaseed.data.duplicates import refuse_duplicates
from formulaseed.data.results import Provenance
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import object_of, rows_of
from formulaseed.runtime.typed_rows import ParsedRows, TypedRows, typed_rows
from formulaseed.seed.standard_fields import FIELDS_BY_NAMESPACE
from formulaseed.source.text import shortened

JsonRow = Mapping[str, Any]
Locate = Callable[[str, str], str]
"""Maps the name of a step and the kind of its error to the place in the seed, as `file:line:column`."""

Values = dict[str, str | int | float | bool | None]


class GeneratedModule(Protocol):
    """What a generated module offers; `parse_parameters` where the seed has parameters. Source: docs/modules.md."""

    TASK_NAME: str
    SEED_VERSION: str | None
    SEED_SHA256: str
    KEYWORDS: tuple[str, ...]
    OUTPUT: tuple[str, ...]
    STEPS: tuple[str, ...]
    INPUTS: dict[str, tuple[str, ...]]
    Result: type[tuple[Any, ...]]
    EvaluationError: type[Exception]
    DataError: type[Exception]

    def is_relevant(self, text: str) -> bool: ...
    def parse_row(self, row: Mapping[str, Any]) -> tuple[Any, ...]: ...
    def parse_context(self, context: Mapping[str, Any]) -> tuple[Any, ...]: ...
    def parse_parameters(self, record: Mapping[str, Any]) -> tuple[Any, ...]: ...
    def evaluate(self, rows: Sequence[Any], *arguments: Any) -> tuple[Any, ...]: ...
    def trace(self, rows: Sequence[Any], *arguments: Any) -> tuple[Any, ...]: ...
    def evidence(self, rows: Sequence[Any], *arguments: Any) -> dict[str, list[int]]: ...


class Evaluator:
    """Evaluates restaurants with one generated module. `locate` finds the place of an error in the seed.

    Rows and contexts are JSON objects: `{"review_id", "extraction": {…}, "meta": {…}}` and the context's
    fields. Every method raises `DataError` for input that the seed does not allow and `EvaluationError`
    for a step without a value. With `strict` a key of `extraction` or `meta` that the seed does not know is not
    allowed. `is_edited` marks a module that is not as its seed compiles, in results too. `program` is the seed that the
    module was compiled from, where it is known.
    """

    def __init__(
        self,
        module: GeneratedModule,
        locate: Locate | None = None,
        *,
        strict: bool = False,
        is_edited: bool = False,
        program: nodes.Program | None = None,
    ) -> None:
        self.module = module
        self._program = program
        self._locate = locate
        self._inputs = module.INPUTS
        self._strict = strict
        self._is_edited = is_edited
        self.task_name = module.TASK_NAME
        self.output: tuple[str, ...] = module.OUTPUT
        self.seed_sha256 = module.SEED_SHA256

    def __repr__(self) -> str:
        return shortened(f"Evaluator({self.task_name!r}, output {', '.join(self.output)})")

    def is_relevant(self, text: str) -> bool:
        """Return whether a review's text passes the seed's filter."""
        return self.module.is_relevant(text)

    def typed_rows(self) -> TypedRows | None:
        """Return what decodes lines of rows for `evaluate`; None where the module has to read them itself."""
        return typed_rows(self._program) if self._program is not None and not self._strict else None

    def evaluate(
        self, rows: Iterable[JsonRow] | ParsedRows, context: JsonRow, parameters: Mapping[str, Any] | None = None
    ) -> Values:
        """Return the seed's outputs by name."""
        return dict(zip(self.output, self._run(self.module.evaluate, rows, context, parameters), strict=True))

    def trace(
        self, rows: Iterable[JsonRow] | ParsedRows, context: JsonRow, parameters: Mapping[str, Any] | None = None
    ) -> Values:
        """Return every step's value by name, in the seed's order."""
        return dict(zip(self.module.STEPS, self._run(self.module.trace, rows, context, parameters), strict=True))

    def evidence(
        self, rows: Iterable[JsonRow], context: JsonRow, parameters: Mapping[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Return the ids of the reviews that each aggregate counted."""
        listed = list(rows_of(rows))
        ids = [_review_id(row, index) for index, row in enumerate(listed)]
        positions = self.positions(listed, context, parameters)
        return {name: [ids[position] for position in found] for name, found in positions.items()}

    def positions(
        self, rows: Iterable[JsonRow] | ParsedRows, context: JsonRow, parameters: Mapping[str, Any] | None = None
    ) -> dict[str, list[int]]:
        """Return the positions of the reviews that each aggregate counted."""
        found: dict[str, list[int]] = self._run(self.module.evidence, rows, context, parameters)
        return found

    def parsed_rows(self, rows: Iterable[JsonRow]) -> ParsedRows:
        """Return rows as the module takes them, to evaluate some of them many times; those that are equal count alike."""
        return ParsedRows(self._parsed_rows(list(rows_of(rows))))

    def parse_parameters(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the parameters as the module takes them. Raises `DataError` for one that is unknown or out of bounds."""
        object_of(given, "the parameters")
        if not hasattr(self.module, "parse_parameters"):
            raise DataError(f"the seed `{self.task_name}` has no parameters, and `{next(iter(given))}` was given")
        try:
            return self.module.parse_parameters(given)
        except self.module.DataError as error:
            raise DataError(str(error)) from None

    def provenance(
        self,
        parameters: Mapping[str, Any] | None = None,
        extractor: str | None = None,
        prompt_sha256: str | None = None,
    ) -> Provenance:
        """Return what results are made with; parameters that are not given have their defaults."""
        values = self.parse_parameters(parameters or {}) if hasattr(self.module, "parse_parameters") else ()
        names = self._inputs.get("param", ())
        version, given = getattr(self.module, "SEED_VERSION", None), dict(zip(names, values, strict=True))
        return Provenance(self.seed_sha256, version, given, extractor, prompt_sha256, self._is_edited)

    def check(self, rows: Iterable[JsonRow], context: JsonRow) -> None:
        """Raise the `DataError` that evaluating these rows and this context would raise, if any."""
        self._parsed(rows, context)

    def located(self, error: EvaluationError) -> EvaluationError:
        """Return the error with its place in the seed; the place is empty if the seed is not available."""
        place = self._locate(error.step, error.kind) if self._locate is not None else ""
        return EvaluationError(error.step, error.kind, error.message, error.operands, place)

    def output_types(self) -> dict[str, type]:
        """Return the type of each output: `str`, `int`, `float` or `bool`; all of them may be null if the seed says so."""
        declared = get_type_hints(self.module.Result, vars(self.module), {}).values()
        return {name: _plain_type(each) for name, each in zip(self.output, declared, strict=True)}

    def _run(self, function: Any, rows: Iterable[Any], context: JsonRow, given: Mapping[str, Any] | None) -> Any:
        arguments = self._parsed(rows, context)
        if given is not None and object_of(given, "the parameters"):
            arguments.append(self.parse_parameters(given))
        module: Any = self.module
        try:
            return function(*arguments)
        except module.EvaluationError as error:
            raise self.located(EvaluationError(error.step, error.kind, error.message, error.operands)) from None
        except Exception as error:  # only a module that was edited by hand raises another
            message = f"the module failed with {type(error).__name__}: {error}"
            raise EvaluationError(self.task_name, "type", message) from None

    def _parsed(self, rows: Iterable[Any], context: JsonRow) -> list[Any]:
        """Return the rows and the context as the module takes them."""
        parsed_rows = rows if type(rows) is ParsedRows else self._parsed_rows(list(rows_of(rows)))
        return [parsed_rows, _parsed(self.module, self.module.parse_context, object_of(context, "the context"))]

    def _parsed_rows(self, rows: list[Any]) -> list[tuple[Any, ...]]:
        module = self.module
        refuse_duplicates(rows)
        if not self._strict:
            try:
                return [module.parse_row(row) for row in rows]
            except Exception:  # one by one, so that the error names the row
                pass
        parsed_rows = []
        for index, row in enumerate(rows):
            try:
                self._refuse_flat(object_of(row, "a row"))
                self._refuse_unknown(row)
                parsed_rows.append(_parsed(module, module.parse_row, row))
            except DataError as error:
                raise DataError(str(error), _row_place(row, index)) from None
        return parsed_rows

    def _refuse_flat(self, row: JsonRow) -> None:
        """Refuse a row with its fields on the top level, in words that say where they go."""
        if "extraction" in row or "meta" in row:
            return
        for section in ("extraction", "meta"):
            for name in self._inputs.get(section, ()):
                if name in row:
                    raise DataError(f"a row has `extraction` and `meta`: put `{name}` into `{section}`")

    def _refuse_unknown(self, row: JsonRow) -> None:
        """With `strict`, refuse the keys of the row's sections that no field has."""
        for section in ("extraction", "meta") if self._strict else ():
            found = row.get(section)
            for key in found if isinstance(found, Mapping) else ():
                names = (*FIELDS_BY_NAMESPACE.get(section, ()), *self._inputs.get(section, ()))
                if key not in names:
                    known = ", ".join(names) or "none"
                    raise DataError(f"the seed has no field `{section}.{str(key)[:80]}`; there are: {known}")


def _plain_type(declared: Any) -> type:
    """The type of the values of an annotation such as `Literal["a", "b"] | None`."""
    kinds = {type(value) for value in get_args(declared)} if get_origin(declared) is Literal else set()
    if not kinds and get_args(declared):  # a union with None
        kinds = {_plain_type(each) for each in get_args(declared) if each is not NoneType}
    [found] = kinds or {declared}
    return cast(type, found)


def _parsed(module: GeneratedModule, parse: Callable[[JsonRow], tuple[Any, ...]], value: JsonRow) -> tuple[Any, ...]:
    try:
        return parse(value)
    except module.DataError as error:
        raise DataError(str(error)) from None
    except Exception as error:  # keys that no JSON object has, or a module that was edited by hand
        raise DataError(f"the module cannot read it: {type(error).__name__}: {error}") from None


def _row_place(row: object, index: int) -> str:
    review = row.get("review_id") if isinstance(row, Mapping) else None
    return f"rows[{index}]" + (f" (review {review})" if isinstance(review, str) else "")


def _review_id(row: object, index: int) -> str:
    review = row.get("review_id") if isinstance(row, Mapping) else None
    if isinstance(review, str):
        return review
    raise DataError("`review_id` is missing; evidence names reviews by it", f"rows[{index}]")
