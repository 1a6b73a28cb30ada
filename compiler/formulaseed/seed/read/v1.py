"""A Formula Seed v1: fields, a prompt, and steps that are Python expressions over `extractions`.

In: the document's JSON tree. Out: the same `surface.Program` as of v2, with aggregates in place of loops. Source: the
two-phase design's section on the Formula Seed.
"""

from __future__ import annotations

import re

from formulaseed import limits
from formulaseed.diagnostics.catalogue import seed as catalogue
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.language.parser import parse_v1_formula
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.read.sections import V1_KEYS, V1_OF_V2, V1_STEP_KEYS, V2_OF_V1, Sections
from formulaseed.seed.read.shape import Shape, first_character
from formulaseed.seed.read.v1_loops import FormulaReader, Written
from formulaseed.seed.read.v1_names import Inputs
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue

_OURS = {
    "filter": "filter_keywords",
    "extract": "extraction_fields",
    "compute": "compute_dag",
    "output": "output_fields",
}
PLACEHOLDERS = ("review_text", "review_date", "review_stars", "review_useful")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


def lower_v1(document: JsonObject, problems: Problems) -> surface.Program | None:
    """Lower a seed v1; None if it is far too long to be read."""
    steps = document.get("compute_dag")
    if isinstance(steps, JsonArray) and len(steps.items) > limits.STEPS:
        Shape(problems).too_many(steps.span, "`compute_dag`", len(steps.items), limits.STEPS)
        return None
    return _SeedV1(document, problems).program()


class _SeedV1(Sections):
    values_make_an_enum = True

    def program(self) -> surface.Program:
        document, shape = self.document, self.shape
        marked_by = next(key.value for key in document.names() if key.value in V2_OF_V1)
        self.top_keys(V1_KEYS, V1_OF_V2, marked_by, _OURS)
        self.allow(document)
        task_name = self.task_name()
        declared_fields = shape.need(document, "extraction_fields", "the seed", '"extraction_fields": […]')
        output = shape.need(document, "output_fields", "the seed", '"output_fields": the names of the steps to return')
        compute = shape.need(document, "compute_dag", "the seed", '"compute_dag": a list of steps')
        fields = tuple(self.field_list(declared_fields, "`extraction_fields`").values())
        context = self.declared(shape.get(document, "context"), "`context`", standard_fields.CONTEXT)
        parameters = self.parameters()
        returned = self.output(output, "output_fields")
        inputs = Inputs(
            extraction={field.name.text: field.type for field in fields},
            meta=standard_fields.META,
            context={**standard_fields.CONTEXT, **{field.name.text: field.type for field in context}},
            parameters={parameter.name.text: parameter.type for parameter in parameters},
            are_complete="extraction" not in self.incomplete,
        )
        return surface.Program(
            task_name=task_name,
            version=self.version(),
            description=self.description(),
            keywords=self.keyword_list(shape.get(document, "filter_keywords"), "`filter_keywords`"),
            fields=fields,
            context=context,
            parameters=parameters,
            review_handling=self.review_handling(),
            extraction_prompt=self.prompt(),
            steps=self.steps(compute, inputs, returned),
            steps_key="compute_dag",
            output=returned,
            suppressions=tuple(self.suppressions),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def prompt(self) -> str:
        text = self.shape.text(self.shape.get(self.document, "extraction_prompt"), "`extraction_prompt`")
        if text is None:
            return ""
        shows_review = False
        for match in _PLACEHOLDER.finditer(text.value):
            name = match.group(1)
            if name == "review_text":
                shows_review = True
            elif name is not None and name not in PLACEHOLDERS:
                help = did_you_mean(name, [f"{{{known}}}" for known in PLACEHOLDERS], what="placeholders")
                span = text.inside(match.start(), match.end())
                self.problems.report(catalogue.unknown_placeholder(span, name, help))
        if not shows_review:
            self.problems.report(catalogue.prompt_without_review(text.span))
        return text.value

    def steps(self, compute: JsonValue | None, inputs: Inputs, returned: tuple[Named, ...]) -> tuple[surface.Step, ...]:
        if not isinstance(compute, JsonArray):
            self.incomplete.add("compute")
        items = self.shape.list(compute, "`compute_dag`", limits.STEPS, '[{"name": …, "formula": …}, …]')
        written = [step for item in items if (step := self.step(item)) is not None]
        return FormulaReader(inputs, written, [name.text for name in returned], self.problems).steps()

    def step(self, item: JsonValue) -> Written | None:
        shape = self.shape
        section = shape.object(item, "a step", 'an object such as {"name": "n", "formula": "len(extractions)"}')
        if section is None:
            self.incomplete.add("compute")
            return None
        shape.keys(section, V1_STEP_KEYS, "a step")
        self.allow(section)
        name = shape.step_name(shape.need(section, "name", "the step", '"name": such as "n_mild"'))
        shape.text(shape.get(section, "description"), "`description`")
        formula = shape.text(shape.need(section, "formula", "the step", '"formula": such as "n_mild * 2"'), "`formula`")
        expression = parse_v1_formula(formula, self.problems) if formula is not None else None
        if name is None:
            self.incomplete.add("compute")
            return None
        return Written(name, first_character(section.span), expression)
