"""Evaluates restaurants with a generated module: JSON rows and a context in, plain dictionaries out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, Protocol, cast, get_args, get_origin, get_type_hints

from formulaseed.data.duplicates import refuse_duplicates
from formulaseed.data.results import Provenance
from formulaseed.errors import DataError, EvaluationError
from formulaseed.ir import nodes
from formulaseed.ir.inputs import check_object, check_rows
from formulaseed.runtime.typed_rows import ParsedRows, RowDecoder, create_row_decoder
from formulaseed.seed.standard_fields import FIELDS_BY_NAMESPACE
from formulaseed.source.text import shorten

JsonObject = Mapping[str, Any]
LocateError = Callable[[str, str], str]
"""Maps the name of a step and the kind of its error to their place in the seed, as `file:line:column`."""

Rows = Iterable[JsonObject] | ParsedRows
StepValues = dict[str, str | int | float | bool | None]


class GeneratedModule(Protocol):
    """A generated module's interface, as docs/modules.md describes it; only a seed with parameters has `parse_parameters`."""

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

    def is_relevant(self, text: str) -> bool:
        """Return whether a review's text passes the seed's filter."""

    def parse_row(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the tuple of a JSON row. Raises the module's `DataError`."""

    def parse_context(self, context: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the tuple of a JSON context. Raises the module's `DataError`."""

    def parse_parameters(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the tuple of parameters, with defaults for missing ones. Raises the module's `DataError`."""

    def evaluate(self, rows: Sequence[Any], *arguments: Any) -> tuple[Any, ...]:
        """Return the outputs; `arguments` are the context, and the parameters if the seed has any."""

    def trace(self, rows: Sequence[Any], *arguments: Any) -> tuple[Any, ...]:
        """Return the value of every step, with the arguments of `evaluate`."""

    def evidence(self, rows: Sequence[Any], *arguments: Any) -> dict[str, list[int]]:
        """Return the positions of the rows that each aggregate counted, with the arguments of `evaluate`."""


class Evaluator:
    """An evaluator of restaurants, with one generated module.

    Rows and contexts are JSON objects: `{"review_id", "extraction": {…}, "meta": {…}}` and the context's
    fields. Every method that takes them raises `DataError` for input that the seed does not allow, and every method
    that computes steps raises `EvaluationError` for a step without a value.
    """

    def __init__(
        self,
        module: GeneratedModule,
        locate: LocateError | None = None,
        *,
        strict: bool = False,
        is_edited: bool = False,
        program: nodes.Program | None = None,
    ) -> None:
        """Prepare to evaluate with `module`.

        Args:
            module: an imported generated module.
            locate: finds the place of an evaluation error in the seed; without it, errors have no place.
            strict: reject keys of `extraction` or `meta` that the seed does not know.
            is_edited: mark the provenance of results, since the module is not as its seed compiles.
            program: the checked seed that the module was compiled from, if known; `row_decoder` needs it.
        """
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
        return shorten(f"Evaluator({self.task_name!r}, output {', '.join(self.output)})")

    def is_relevant(self, text: str) -> bool:
        """Return whether a review's text passes the seed's filter; nothing is extracted from other reviews."""
        return self.module.is_relevant(text)

    def row_decoder(self) -> RowDecoder | None:
        """Return a decoder of lines of rows for `evaluate`; None if rows must be read as objects.

        That is so if the evaluator is strict, its program is not known, or msgspec is not installed.
        """
        if self._program is None or self._strict:
            return None
        return create_row_decoder(self._program)

    def evaluate(self, rows: Rows, context: JsonObject, parameters: JsonObject | None = None) -> StepValues:
        """Return the seed's outputs by name."""
        return dict(zip(self.output, self._run(self.module.evaluate, rows, context, parameters), strict=True))

    def trace(self, rows: Rows, context: JsonObject, parameters: JsonObject | None = None) -> StepValues:
        """Return every step's value by name, in the seed's order."""
        return dict(zip(self.module.STEPS, self._run(self.module.trace, rows, context, parameters), strict=True))

    def evidence(
        self, rows: Iterable[JsonObject], context: JsonObject, parameters: JsonObject | None = None
    ) -> dict[str, list[str]]:
        """Return the ids of the reviews that each aggregate counted, by the aggregate's name.

        Missing `parameters`, or all of them if None, have their defaults. Raises `DataError` for invalid input or a row
        without a string `review_id`, and `EvaluationError` for a step without a value.
        """
        listed_rows = list(check_rows(rows))
        ids = [_read_review_id(row, index) for index, row in enumerate(listed_rows)]
        positions = self.positions(listed_rows, context, parameters)
        return {name: [ids[position] for position in counted] for name, counted in positions.items()}

    def positions(self, rows: Rows, context: JsonObject, parameters: JsonObject | None = None) -> dict[str, list[int]]:
        """Return the positions in `rows` of the reviews that each aggregate counted."""
        positions: dict[str, list[int]] = self._run(self.module.evidence, rows, context, parameters)
        return positions

    def parse_rows(self, rows: Iterable[JsonObject]) -> ParsedRows:
        """Return rows as the module's tuples, which can be evaluated many times without being parsed again.

        Equal rows share one tuple. Raises `DataError` for an invalid row or duplicate ids.
        """
        shared: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        return ParsedRows(shared.setdefault(row, row) for row in self._parse_rows(list(check_rows(rows))))

    def parse_parameters(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the module's tuple of parameters; those not in `values` have their defaults.

        Raises `DataError` for a parameter that is unknown or out of bounds; a seed without parameters has an empty tuple.
        """
        check_object(values, "the parameters")
        if not hasattr(self.module, "parse_parameters"):
            if not values:
                return ()
            raise DataError(f"the seed `{self.task_name}` has no parameters, and `{next(iter(values))}` was given")
        try:
            return self.module.parse_parameters(values)
        except self.module.DataError as error:
            raise DataError(str(error)) from None

    def provenance(
        self, parameters: JsonObject | None = None, extractor: str | None = None, prompt_sha256: str | None = None
    ) -> Provenance:
        """Return the provenance of results: seed, version, parameters, extractor, prompt, and whether it is edited.

        Missing parameters have their defaults; without an extractor or a prompt hash those members are None. Raises
        `DataError` as `parse_parameters` does, but ignores parameters if the seed has none.
        """
        values = self.parse_parameters(parameters or {}) if hasattr(self.module, "parse_parameters") else ()
        names = self._inputs.get("param", ())
        version = getattr(self.module, "SEED_VERSION", None)
        parameter_values = dict(zip(names, values, strict=True))
        return Provenance(self.seed_sha256, version, parameter_values, extractor, prompt_sha256, self._is_edited)

    def check(self, rows: Rows, context: JsonObject) -> None:
        """Raise the `DataError` that evaluating these rows and this context would raise, if any."""
        self._parse_inputs(rows, context)

    def locate(self, error: EvaluationError) -> EvaluationError:
        """Return a copy of `error` with its place in the seed; the place is empty if the seed is not available."""
        place = self._locate(error.step, error.kind) if self._locate is not None else ""
        return EvaluationError(error.step, error.kind, error.message, error.operands, place)

    def output_types(self) -> dict[str, type]:
        """Return the type of each output: `str`, `int`, `float` or `bool`. A value may also be None if the seed allows null."""
        declared = get_type_hints(self.module.Result, vars(self.module), {}).values()
        return {name: _find_plain_type(annotation) for name, annotation in zip(self.output, declared, strict=True)}

    def _run(
        self, function: Any, rows: Iterable[Any], context: JsonObject, parameters: Mapping[str, Any] | None
    ) -> Any:
        """Call a `function` of the module with parsed arguments; parameters that are None or empty are not passed.

        Raises `DataError` for invalid input, and `EvaluationError`, with its place in the seed, for a failing step. Any
        other exception of the module becomes an `EvaluationError` too.
        """
        arguments = self._parse_inputs(rows, context)
        if parameters is not None and check_object(parameters, "the parameters"):
            arguments.append(self.parse_parameters(parameters))
        module: Any = self.module
        try:
            return function(*arguments)
        except module.EvaluationError as error:
            raise self.locate(EvaluationError(error.step, error.kind, error.message, error.operands)) from None
        except Exception as error:  # only a module that was edited by hand raises another
            message = f"the module failed with {type(error).__name__}: {error}"
            raise EvaluationError(self.task_name, "type", message) from None

    def _parse_inputs(self, rows: Iterable[Any], context: JsonObject) -> list[Any]:
        """Return a list of the parsed rows and the parsed context.

        `ParsedRows` are not parsed again. Raises `DataError`.
        """
        parsed_rows = rows if type(rows) is ParsedRows else self._parse_rows(list(check_rows(rows)))
        return [parsed_rows, _parse_value(self.module, self.module.parse_context, check_object(context, "the context"))]

    def _parse_rows(self, rows: list[Any]) -> list[tuple[Any, ...]]:
        """Return the module's tuples of the rows.

        Raises `DataError` with the row's position, or for duplicate ids. If the evaluator is strict, unknown keys are
        rejected.
        """
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
                self._check_sections(check_object(row, "a row"))
                self._check_keys(row)
                parsed_rows.append(_parse_value(module, module.parse_row, row))
            except DataError as error:
                raise DataError(str(error), _describe_row_place(row, index)) from None
        return parsed_rows

    def _check_sections(self, row: JsonObject) -> None:
        """Raise `DataError` if a row has fields at its top level but neither `extraction` nor `meta`."""
        if "extraction" in row or "meta" in row:
            return
        for section in ("extraction", "meta"):
            for name in self._inputs.get(section, ()):
                if name in row:
                    raise DataError(f"a row has `extraction` and `meta`: put `{name}` into `{section}`")

    def _check_keys(self, row: JsonObject) -> None:
        """Raise `DataError` for a key of `extraction` or `meta` that no field has, if the evaluator is strict."""
        for section in ("extraction", "meta") if self._strict else ():
            members = row.get(section)
            for key in members if isinstance(members, Mapping) else ():
                names = (*FIELDS_BY_NAMESPACE.get(section, ()), *self._inputs.get(section, ()))
                if key not in names:
                    known = ", ".join(names) or "none"
                    raise DataError(f"the seed has no field `{section}.{str(key)[:80]}`; there are: {known}")


def _find_plain_type(annotation: Any) -> type:
    """Return the class of an annotation's values, ignoring None: `str` for `Literal["a", "b"] | None`."""
    kinds = {type(value) for value in get_args(annotation)} if get_origin(annotation) is Literal else set()
    if not kinds and get_args(annotation):  # a union with None
        kinds = {_find_plain_type(member) for member in get_args(annotation) if member is not NoneType}
    [kind] = kinds or {annotation}
    return cast(type, kind)


def _parse_value(
    module: GeneratedModule, parse: Callable[[JsonObject], tuple[Any, ...]], value: JsonObject
) -> tuple[Any, ...]:
    """Return the tuple that `parse`, a function of `module`, makes of `value`.

    Raises `DataError` if it raises anything.
    """
    try:
        return parse(value)
    except module.DataError as error:
        raise DataError(str(error)) from None
    except Exception as error:  # keys that no JSON object has, or a module that was edited by hand
        raise DataError(f"the module cannot read it: {type(error).__name__}: {error}") from None


def _describe_row_place(row: object, index: int) -> str:
    """Return a row's place in messages: its index, and its review's id if it has one."""
    if isinstance(row, Mapping) and isinstance(row.get("review_id"), str):
        return f"rows[{index}] (review {row['review_id']})"
    return f"rows[{index}]"


def _read_review_id(row: object, index: int) -> str:
    """Return the id of a row's review. Raises `DataError` if it is missing or not a string."""
    if isinstance(row, Mapping) and isinstance(review_id := row.get("review_id"), str):
        return review_id
    raise DataError("`review_id` is missing; evidence names reviews by it", f"rows[{index}]")
