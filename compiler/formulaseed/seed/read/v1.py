"""A Formula Seed of the older shape: fields, a prompt, and steps that are Python expressions over `extractions`.

In: the document's JSON tree. Out: the same `surface.Program` as of the newer shape; what the formulas say of the
reviews has become counts, sums and extremes. Source: the two-phase design's section on the Formula Seed.
"""

from __future__ import annotations

import re

from formulaseed import limits
from formulaseed.diagnostics.model import Problems
from formulaseed.diagnostics.suggestions import did_you_mean
from formulaseed.language.parser import parse_v1_formula
from formulaseed.seed import standard_fields, surface
from formulaseed.seed.read.keys import NEWER_KEYS, OLDER_KEYS, OLDER_STEP_KEYS, OLDER_TOP_KEYS
from formulaseed.seed.read.loops import FormulaReader, Written
from formulaseed.seed.read.review_names import Inputs
from formulaseed.seed.read.sections import Sections
from formulaseed.seed.read.shape import Shape
from formulaseed.seed.surface import Named
from formulaseed.source.json_reader import JsonArray, JsonObject, JsonValue, Member
from formulaseed.source.text import Span

PLACEHOLDERS = ("review_text", "review_date", "review_stars", "review_useful")
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


def lower_older_seed(document: JsonObject, problems: Problems) -> surface.Program | None:
    """Lower a seed of the older shape; None where it is far too long to be looked at."""
    steps = document.get("compute_dag")
    if isinstance(steps, JsonArray) and len(steps.items) > limits.STEPS:
        Shape(problems).too_many(steps.span, "`compute_dag`", len(steps.items), limits.STEPS)
        return None
    return _Older(document, problems).program()


class _Older(Sections):
    values_make_an_enum = True

    def program(self) -> surface.Program:
        document, shape = self.document, self.shape
        self.top_keys(OLDER_TOP_KEYS, OLDER_KEYS, self.marking_key())
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
            task_name=task_name or Named(document.span, "task"),
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
            allowances=tuple(self.allowances),
            incomplete=frozenset(self.incomplete),
            span=document.span,
        )

    def as_ours(self, member: Member) -> JsonValue | None:
        inner = {"filter": "keywords", "extract": "fields"}.get(member.key.value)
        if inner is None:
            return super().as_ours(member)
        if isinstance(member.value, JsonObject):
            return member.value.get(inner)
        return member.value if isinstance(member.value, JsonArray) else None

    def marking_key(self) -> str:
        """The first key that makes this a seed of the older shape."""
        return next(key.value for key in self.document.names() if key.value in NEWER_KEYS)

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
                self.problems.add("FS201", span, f"there is no placeholder `{{{name}}}`", help)
        if not shows_review:
            help = "write `{review_text}` where the review is to stand"
            if "{{review_text}}" in text.value:
                help = "write `{review_text}` in single braces"
            self.problems.add("FS509", text.span, "the prompt does not show the review", help)
        return text.value

    def steps(self, compute: JsonValue | None, inputs: Inputs, returned: tuple[Named, ...]) -> tuple[surface.Step, ...]:
        if not isinstance(compute, JsonArray):
            self.incomplete.add("compute")
        written = []
        for item in self.shape.list(compute, "`compute_dag`", limits.STEPS):
            section = self.shape.object(
                item, "a step", 'an object such as {"name": "n", "formula": "len(extractions)"}'
            )
            step = self.step(section) if section is not None else None
            if step is not None:
                written.append(step)
        return FormulaReader(inputs, written, [name.text for name in returned], self.problems).steps()

    def step(self, section: JsonObject) -> Written | None:
        shape = self.shape
        shape.keys(section, OLDER_STEP_KEYS, "a step")
        self.allow(section)
        name = shape.step_name(shape.need(section, "name", "the step", '"name": such as "n_mild"'))
        shape.text(shape.get(section, "description"), "`description`")
        formula = shape.text(shape.need(section, "formula", "the step", '"formula": such as "n_mild * 2"'), "`formula`")
        expression = parse_v1_formula(formula, self.problems) if formula is not None else None
        if name is None:
            self.incomplete.add("compute")
            return None
        place = Span(section.span.source, section.span.start, section.span.start + 1, section.span.pointer)
        return Written(name, place, expression)
