"""Write the columns of a plan as one query: common table expressions, each a layer of columns over the one before.

Reviews are read and checked, totals are taken for each restaurant and joined to its context, and the steps follow. If a column
of reviews needs a step, the reviews are joined with the restaurants for another pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from formulaseed.backends.sql.columns import Column, Place
from formulaseed.backends.sql.dialects import Sql
from formulaseed.backends.sql.faults import BEYOND, DATA
from formulaseed.backends.sql.inputs import Input
from formulaseed.backends.sql.steps import QueryPlan

ERROR_STEP, ERROR_KIND = "error_step", "error_kind"
ROW_COUNT, IS_ORPHAN = "row_count", "is_orphan"
"""The columns of a query for `score`: the number of rows of a restaurant, and whether it has no context."""
_INTERNAL = (
    "is_valid", "is_exact", ROW_COUNT, "valid_count", "exact_count", "order_count", "id_count", "distinct_id_count",
    "context_count", "is_valid_context", "is_exact_context", "input_fault", ERROR_STEP, ERROR_KIND,
)  # fmt: skip
RESERVED = (*_INTERNAL, IS_ORPHAN)
"""The names of columns that no step or field has in a query."""
Item = tuple[str, str, tuple[Sql, ...]]
"""A column of a SELECT: its SQL, its name, which is empty if the SQL is a name, and the comments above it."""


@dataclass
class QueryWriter:
    """A writer of the query of a plan. `outputs` are the steps in the result; `has_comments` is false for the bare build."""

    plan: QueryPlan
    outputs: Sequence[str]
    header: Sequence[Sql] = ()
    has_comments: bool = True
    for_score: bool = False
    parts: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    joined: set[str] = field(default_factory=set)
    """The columns of restaurants that reviews have."""

    def write(self) -> str:
        """Return the text of the query, which ends with a line break."""
        quote = self.plan.columns.dialect.quote_name
        self.names = {name: quote(name) for name in RESERVED}
        self.key = quote(self.plan.tables.key)
        self.order = quote(self.plan.tables.order)
        review = self._write_review_input()
        restaurant = self._write_contexts()
        for stage in range(1 + max((column.place.stage for column in self.plan.columns.columns), default=0)):
            review = self._write_reviews(stage, review, restaurant)
            restaurant = self._write_totals(stage, review, restaurant)
            restaurant = self._write_layers("restaurant", Place(stage, 1, 0), restaurant)
        result = self._write_result(restaurant)
        lines = [f"-- {line}".rstrip() for line in self.header] if self.has_comments else []
        parts = ",\n".join(self.parts)
        return "\n".join([*lines, f"WITH\n{parts}", *result]) + "\n"

    def _add(self, name: str, items: Iterable[Item], source: str, tail: str = "", comment: str = "") -> str:
        """Add a common table expression below a comment, and return its name: `name`, or `name_2` for the second one."""
        self.counts[name] += 1
        free = name if self.counts[name] == 1 else f"{name}_{self.counts[name]}"
        select = "\n  ".join("\n".join(self._print_select(items, source, tail)).split("\n"))
        above = f"-- {comment}\n" if comment and self.has_comments else ""
        self.parts.append(f"{above}{free} AS (\n  {select}\n)")
        return free

    def _print_select(self, items: Iterable[Item], source: str, tail: str = "") -> list[str]:
        """Return the lines of a SELECT."""
        lines = []
        for sql, name, comments in items:
            above = [f"-- {comment}\n  " for comment in comments if self.has_comments]
            alias = f" AS {name}" if name else ""
            lines.append(f"{''.join(above)}{sql.replace(chr(10), chr(10) + '  ')}{alias}")
        text = ",\n  ".join(lines)
        return ["SELECT", f"  {text}", f"FROM {source}", *([tail] if tail else [])]

    def _columns_at(self, place: Place) -> list[Column]:
        return [column for column in self.plan.columns.columns if column.place == place]

    def _write_layers(self, name: str, place: Place, source: str) -> str:
        """Add a table expression for each layer above `place`, and return the name of the last one."""
        layer = place.layer + 1
        while columns := self._columns_at(place._replace(layer=layer)):
            source = self._add(name, [("*", "", ()), *map(_item, columns)], source)
            layer += 1
        return source

    # --- inputs

    def _write_review_input(self) -> str:
        """Add the rows as they are read, then with checked values, and return the name of the latter."""
        names = [self.key, self.order]
        if self.plan.tables.ids:
            names.append(self.plan.columns.dialect.quote_name(self.plan.tables.ids))
        return self._write_inputs("review", names, self.plan.rows, self.plan.tables.rows)

    def _write_contexts(self) -> str:
        """Add the contexts, one for each restaurant, and return their name; empty if there is no table of contexts."""
        if self.plan.tables.contexts is None:
            return ""
        inputs = self.plan.contexts
        source = self._write_inputs("context", [self.key], inputs, self.plan.tables.contexts)
        checks = self._print_checks(inputs, "is_valid_context", "is_exact_context")
        names = [*(item.value.sql for item in inputs), *(name for _, name, _ in checks)]
        items: list[Item] = [(self.key, "", ()), *((f"ANY_VALUE({name})", name, ()) for name in names)]
        items.append(("COUNT(*)", self.names["context_count"], ()))
        return self._add("context", items, source, f"GROUP BY {self.key}", "Restaurants; two contexts are an error.")

    def _write_inputs(self, name: str, keys: Sequence[str], inputs: Sequence[Input], table: str) -> str:
        """Add the columns of a table as they are read, then their values and checks; return the name of the latter."""
        first: list[Item] = [(key, "", ()) for key in keys]
        read = [*first, *((item.read, item.value.sql, ()) for item in inputs)]
        where = "" if self.for_score else f"WHERE {self.key} IS NOT NULL"
        source = self._add(f"{name}_input", read, table, where, f"{name.title()}s as read: NULL if the type is wrong.")
        names = ("is_valid", "is_exact") if name == "review" else ("is_valid_context", "is_exact_context")
        values = [(item.sql, item.value.sql if item.sql != item.value.sql else "", ()) for item in inputs]
        comment = f"{name.title()}s with checked values: a restaurant with an invalid one has no results."
        return self._add(name, [*first, *values, *self._print_checks(inputs, *names)], source, comment=comment)

    def _print_checks(self, inputs: Sequence[Input], valid: str, exact: str) -> list[Item]:
        """Return the columns that say whether the inputs are valid, and known exactly; none if all always are."""
        items: list[Item] = []
        for name, tests in ((valid, [item.is_valid for item in inputs]), (exact, [item.is_exact for item in inputs])):
            present = [test for test in tests if test]
            if present:
                items.append(("\n  AND ".join(present), self.names[name], ()))
        return items

    # --- reviews and totals

    def _write_reviews(self, stage: int, review: str, restaurant: str) -> str:
        """Add the layers of reviews of a stage, and return the name of the last one.

        Columns of restaurants that they or their totals read are joined to them first.
        """
        columns = self.plan.columns.columns
        is_read = [
            column for column in columns if column.place.stage == stage and (column.place.level == 0 or column.is_total)
        ]
        text = "\n".join(column.sql for column in is_read)
        known = [item.value.sql for item in self.plan.contexts]
        known += [column.name for column in columns if column.place.level == 1 and column.place.stage < stage]
        used = [name for name in known if name in text and name not in self.joined]
        self.joined.update(used)
        if used:
            items: list[Item] = [("r.*", "", ()), *((f"s.{name}", "", ()) for name in used)]
            review = self._add("review", items, self._print_join(review, "LEFT", restaurant))
        return self._write_layers("review", Place(stage, 0, 0), review)

    def _print_join(self, left: str, kind: str, right: str) -> str:
        """Return a join of two table expressions, called r and s, by the key."""
        return f"{left} AS r\n{kind} JOIN {right} AS s ON r.{self.key} = s.{self.key}"

    def _write_totals(self, stage: int, review: str, restaurant: str) -> str:
        """Add the totals of reviews of a stage, joined to `restaurant` unless that is empty; return the name of the result."""
        totals: list[tuple[str, str, tuple[Sql, ...], str]] = [
            (column.sql, column.name, column.comments, column.default)
            for column in self._columns_at(Place(stage, 1, 0))
        ]
        if stage == 0:
            totals = [
                *((sql, self.names[name], comments, "0") for sql, name, comments in self._print_counts()),
                *totals,
            ]
        is_joined = bool(restaurant)
        items: list[Item] = [(self.key, "", ())]
        for sql, name, comments, default in totals:
            value = sql if is_joined or not default or sql.startswith("COUNT(") else f"COALESCE({sql}, {default})"
            items.append((value, name, comments))
        total = self._add("total", items, review, f"GROUP BY {self.key}", "Totals of each restaurant's reviews.")
        if not is_joined:
            return total
        defaults = [(name, default) for _, name, _, default in totals]
        return self._join_totals(restaurant, total, defaults, is_full=self.for_score and stage == 0)

    def _join_totals(self, restaurant: str, total: str, defaults: Sequence[tuple[str, str]], *, is_full: bool) -> str:
        """Add the restaurants with their totals, or the defaults of these; if `is_full`, also totals without a restaurant.

        Returns the name of the result.
        """
        items: list[Item] = [("r.*", "", ())]
        if is_full:
            names: list[str] = [item.value.sql for item in self.plan.contexts]
            checks = self._print_checks(self.plan.contexts, "is_valid_context", "is_exact_context")
            names += [name for _, name, _ in checks]
            items = [(f"COALESCE(r.{self.key}, s.{self.key})", self.key, ())]
            items += [(f"r.{name}", "", ()) for name in (self.names["context_count"], *names)]
        for name, default in defaults:
            sql = f"COALESCE(s.{name}, {default})" if default else f"s.{name}"
            items.append((sql, name if default else "", ()))
        join = self._print_join(restaurant, "FULL" if is_full else "LEFT", total)
        return self._add("restaurant", items, join, comment="Restaurants with their totals, also without reviews.")

    def _print_counts(self) -> list[Item]:
        """Return the counts of rows by which a restaurant with invalid rows is recognised, with their names."""
        counts: list[Item] = [("COUNT(*)", ROW_COUNT, ())]
        names = {name for _, name, _ in self._print_checks(self.plan.rows, "is_valid", "is_exact")}
        for check, count in (("is_valid", "valid_count"), ("is_exact", "exact_count")):
            if self.names[check] in names:
                counts.append((f"COUNT_IF({self.names[check]})", count, ()))
        dialect = self.plan.columns.dialect
        template = dialect.distinct_orders if self.plan.tables.has_integer_order else "COUNT(DISTINCT {0})"
        comments = (Sql(f"how many different values of {self.plan.tables.order}, which must be unique"),)
        counts.append((template.format(self.order), "order_count", comments))
        if self.plan.tables.ids:
            ids = dialect.quote_name(self.plan.tables.ids)
            counts += [(f"COUNT({ids})", "id_count", ()), (f"COUNT(DISTINCT {ids})", "distinct_id_count", ())]
        return counts

    # --- the result

    def _print_input_fault(self) -> str:
        """Return the SQL of the kind of fault of a restaurant's inputs."""
        names = self.names
        invalid = [f"({names[ROW_COUNT]} > 1 AND {names['order_count']} <> {names[ROW_COUNT]})"]
        inexact = []
        checked = {name for _, name, _ in self._print_counts()}
        if "valid_count" in checked:
            invalid.append(f"{names['valid_count']} <> {names[ROW_COUNT]}")
        if "exact_count" in checked:
            inexact.append(f"{names['exact_count']} <> {names[ROW_COUNT]}")
        if "id_count" in checked:
            invalid.append(f"{names['distinct_id_count']} <> {names['id_count']}")
        if self.plan.tables.contexts is not None:
            invalid.append(f"{names['context_count']} > 1")
            for _, name, _ in self._print_checks(self.plan.contexts, "is_valid_context", "is_exact_context"):
                tests = invalid if name == names["is_valid_context"] else inexact
                tests.append(f"{name} IS NOT TRUE")
        whens = [f"WHEN {test} THEN '{DATA}'" for test in invalid] + [
            f"WHEN {test} THEN '{BEYOND}'" for test in inexact
        ]
        return "\n  ".join(["CASE", *whens]) + "\nEND"

    def _write_result(self, restaurant: str) -> list[str]:
        """Add the errors, and return the lines of the last SELECT."""
        fault = self.names["input_fault"]
        items: list[Item] = [("*", "", ()), (self._print_input_fault(), fault, ())]
        checked = self._add(
            "checked", items, restaurant, comment="The error of a restaurant's inputs, if they have one."
        )
        faults = [(step, column.sql) for step, column in self.plan.faults]
        string = self.plan.columns.dialect.string
        kind, step = self.names[ERROR_KIND], self.names[ERROR_STEP]
        if faults:
            whens = [f"WHEN {fault} IS NOT NULL THEN NULL"]
            whens += [f"WHEN {column} IS NOT NULL THEN {string(name)}" for name, column in faults]
            items = [
                ("*", "", ()),
                ("\n  ".join(["CASE", *whens]) + "\nEND", step, ()),
                (f"COALESCE({', '.join([fault, *(column for _, column in faults)])})", kind, ()),
            ]
        else:
            items = [
                ("*", "", ()),
                (f"CAST(NULL AS {self.plan.columns.dialect.string_type})", step, ()),
                (fault, kind, ()),
            ]
        result = self._add("result", items, checked, comment="The first error, in the order of the seed's steps.")
        quote = self.plan.columns.dialect.quote_name
        items = [(self.key, "", ())]
        for name in self.outputs:
            items.append((f"CASE WHEN {kind} IS NULL THEN {self.plan.values[name].sql} END", quote(name), ()))
        items += [(step, "", ()), (kind, "", ())]
        if self.for_score:
            count = self.names["context_count"]
            has_contexts = self.plan.tables.contexts is not None
            items += [(self.names[ROW_COUNT], "", ())]
            items += (
                [(count, "", ()), (f"{count} IS NULL", self.names[IS_ORPHAN], ())]
                if has_contexts
                else [("0", count, ()), ("FALSE", self.names[IS_ORPHAN], ())]
            )
        return self._print_select(items, result)


def _item(column: Column) -> Item:
    return column.sql, column.name, column.comments
