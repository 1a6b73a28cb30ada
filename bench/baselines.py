"""What people do today for such a policy: the contenders, all with the values of all 33 steps."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from math import log
from types import CodeType
from typing import Any, Literal

from hand_written import CUISINES, Values, hand_merged, scores
from pydantic import BaseModel, ConfigDict, TypeAdapter
from typing_extensions import TypedDict

Rows = list[dict[str, Any]]
Context = dict[str, Any]
Baseline = Callable[[Rows, Context], Values]

_FIRSTHAND = "r['extraction']['account_type'] == 'firsthand'"
_INCIDENT = f"{_FIRSTHAND} and r['extraction']['incident_severity'] in ['mild', 'moderate', 'severe']"

FORMULAS: dict[str, str] = {
    "N_MILD": f"sum(1 for r in rows if r['extraction']['incident_severity'] == 'mild' and {_FIRSTHAND})",
    "N_MODERATE": f"sum(1 for r in rows if r['extraction']['incident_severity'] == 'moderate' and {_FIRSTHAND})",
    "N_SEVERE": f"sum(1 for r in rows if r['extraction']['incident_severity'] == 'severe' and {_FIRSTHAND})",
    "N_TOTAL_INCIDENTS": "N_MILD + N_MODERATE + N_SEVERE",
    "N_POSITIVE": "sum(1 for r in rows if r['extraction']['safety_interaction'] == 'positive')",
    "N_NEGATIVE": "sum(1 for r in rows if r['extraction']['safety_interaction'] == 'negative')",
    "N_BETRAYAL": "sum(1 for r in rows if r['extraction']['safety_interaction'] == 'betrayal')",
    "N_ALLERGY_REVIEWS": "len(rows)",
    "TRUST_RAW": "1.0 + (N_POSITIVE * 0.1) - (N_NEGATIVE * 0.2) - (N_BETRAYAL * 0.5)",
    "TRUST_SCORE": "max(0.1, min(1.0, TRUST_RAW))",
    "MILD_WEIGHT": "2 * (1.5 - TRUST_SCORE)",
    "MODERATE_WEIGHT": "5 * (1.3 - 0.3 * TRUST_SCORE)",
    "SEVERE_WEIGHT": "15",
    "ADJUSTED_INCIDENT_SCORE": "(N_MILD * MILD_WEIGHT) + (N_MODERATE * MODERATE_WEIGHT) + (N_SEVERE * SEVERE_WEIGHT)",
    "N_RECENT": f"sum(1 for r in rows if {_INCIDENT} and r['meta']['year'] >= 2023)",
    "N_OLD": f"sum(1 for r in rows if {_INCIDENT} and r['meta']['year'] < 2023)",
    "RECENT_RATIO": "N_RECENT / N_TOTAL_INCIDENTS if N_TOTAL_INCIDENTS > 0 else 0",
    "TRAJECTORY_MULTIPLIER": "1.3 if RECENT_RATIO > 0.7 else 0.7 if RECENT_RATIO < 0.3 and N_TOTAL_INCIDENTS > 0 else 1.0",
    "CUISINE_MODIFIER": "max([value for key, value in cuisines.items() if key in categories], default=1.0)",
    "SILENCE_PENALTY": "CUISINE_MODIFIER * 0.5 if N_ALLERGY_REVIEWS == 0 else 0",
    "CUISINE_IMPACT": "(CUISINE_MODIFIER * 0.5) + SILENCE_PENALTY",
    "MOST_RECENT_YEAR": f"max([r['meta']['year'] for r in rows if {_INCIDENT}], default=2020)",
    "INCIDENT_AGE": "2025 - MOST_RECENT_YEAR",
    "RECENCY_DECAY": "max(0.3, 1.0 - (INCIDENT_AGE * 0.15))",
    "TOTAL_WEIGHT": f"sum([(5 - r['meta']['stars']) + log(r['meta']['useful'] + 1) for r in rows if {_INCIDENT}], 0.0)",
    "CREDIBILITY_FACTOR": "TOTAL_WEIGHT / N_TOTAL_INCIDENTS if N_TOTAL_INCIDENTS > 0 else 1.0",
    "INCIDENT_IMPACT": "ADJUSTED_INCIDENT_SCORE * TRAJECTORY_MULTIPLIER * RECENCY_DECAY * CREDIBILITY_FACTOR",
    "TRUST_IMPACT": "(1.0 - TRUST_SCORE) * 3.0",
    "POSITIVE_CREDIT": "N_POSITIVE * TRUST_SCORE * 0.5",
    "BASE_RISK": "2.0",
    "RAW_RISK": "BASE_RISK + INCIDENT_IMPACT + TRUST_IMPACT + CUISINE_IMPACT - POSITIVE_CREDIT",
    "FINAL_RISK_SCORE": "max(0.0, min(20.0, RAW_RISK))",
    "VERDICT": "'Low Risk' if FINAL_RISK_SCORE < 4.0 else 'High Risk' if FINAL_RISK_SCORE < 8.0 else 'Critical Risk'",
}
"""The policy as strings that Python evaluates, one a step."""


def one_pass_a_count(rows: Rows, context: Context) -> Values:
    """One comprehension over the rows for each aggregate."""
    return scores(
        sum(1 for r in rows if r["extraction"]["incident_severity"] == "mild" and _is_firsthand(r)),
        sum(1 for r in rows if r["extraction"]["incident_severity"] == "moderate" and _is_firsthand(r)),
        sum(1 for r in rows if r["extraction"]["incident_severity"] == "severe" and _is_firsthand(r)),
        sum(1 for r in rows if r["extraction"]["safety_interaction"] == "positive"),
        sum(1 for r in rows if r["extraction"]["safety_interaction"] == "negative"),
        sum(1 for r in rows if r["extraction"]["safety_interaction"] == "betrayal"),
        len(rows),
        sum(1 for r in rows if _is_incident(r) and r["meta"]["year"] >= 2023),
        sum(1 for r in rows if _is_incident(r) and r["meta"]["year"] < 2023),
        max((r["meta"]["year"] for r in rows if _is_incident(r)), default=None),
        sum(((5 - r["meta"]["stars"]) + log(r["meta"]["useful"] + 1) for r in rows if _is_incident(r)), 0.0),
        context["categories"],
    )


def _is_firsthand(row: dict[str, Any]) -> bool:
    return bool(row["extraction"]["account_type"] == "firsthand")


def _is_incident(row: dict[str, Any]) -> bool:
    return _is_firsthand(row) and row["extraction"]["incident_severity"] in ("mild", "moderate", "severe")


_COMPILED: dict[str, CodeType] = {name: compile(text, name, "eval") for name, text in FORMULAS.items()}


def cached_eval(rows: Rows, context: Context) -> Values:
    """Formulas as data, compiled once and kept; `eval` of each step over the values so far."""
    scope = _scope(rows, context)
    for name, code in _COMPILED.items():
        scope[name] = eval(code, scope)
    return {name: scope[name] for name in _COMPILED}


def eval_strings(rows: Rows, context: Context) -> Values:
    """The same without keeping the compiled code."""
    scope = _scope(rows, context)
    for name, text in FORMULAS.items():
        scope[name] = eval(text, scope)
    return {name: scope[name] for name in FORMULAS}


def _scope(rows: Rows, context: Context) -> dict[str, Any]:
    return {"rows": rows, "categories": context["categories"], "cuisines": CUISINES, "log": log}


_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_Severity = Literal["none", "mild", "moderate", "severe"]
_Account = Literal["none", "firsthand", "secondhand", "hypothetical"]
_Safety = Literal["none", "positive", "negative", "betrayal"]


class _ExtractionModel(BaseModel):
    model_config = _STRICT
    incident_severity: _Severity
    account_type: _Account
    safety_interaction: _Safety


class _MetaModel(BaseModel):
    model_config = _STRICT
    stars: float
    useful: int
    year: int


class _RowModel(BaseModel):
    model_config = _STRICT
    extraction: _ExtractionModel
    meta: _MetaModel


class _ContextModel(BaseModel):
    model_config = _STRICT
    categories: str


class _ExtractionDict(TypedDict):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    incident_severity: _Severity
    account_type: _Account
    safety_interaction: _Safety


class _MetaDict(TypedDict):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    stars: float
    useful: int
    year: int


class _RowDict(TypedDict):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    extraction: _ExtractionDict
    meta: _MetaDict


class _ContextDict(TypedDict):
    __pydantic_config__ = _STRICT  # type: ignore[misc]
    categories: str


_MODELS = TypeAdapter(list[_RowModel])
_DICTS = TypeAdapter(list[_RowDict])
_CONTEXT_DICT = TypeAdapter(_ContextDict)


def pydantic_models(rows: Rows, context: Context) -> Values:
    """Rows checked with pydantic models, then the hand-written loop.

    It reads the dictionaries that have been checked, which takes no longer than reading the models.
    """
    _MODELS.validate_python(rows)
    _ContextModel.model_validate(context)
    return hand_merged(rows, context)


def pydantic_dicts(rows: Rows, context: Context) -> Values:
    """Rows checked with pydantic's typed dictionaries, which makes no objects, then the hand-written loop."""
    checked: Any = _DICTS.validate_python(rows)
    checked_context: Any = _CONTEXT_DICT.validate_python(context)
    return hand_merged(checked, checked_context)


def simpleeval_parsed() -> Baseline | None:
    """Formulas for the package simpleeval, parsed before; None where it is not installed."""
    try:
        package = import_module("simpleeval")
    except ImportError:
        return None
    functions = {"sum": sum, "len": len, "max": max, "min": min, "log": log}
    parsed = {name: package.EvalWithCompoundTypes.parse(text) for name, text in FORMULAS.items()}

    def simple(rows: Rows, context: Context) -> Values:
        names: dict[str, Any] = {"rows": rows, "categories": context["categories"], "cuisines": CUISINES}
        evaluator = package.EvalWithCompoundTypes(names=names, functions=functions)
        for name, tree in parsed.items():
            names[name] = evaluator.eval(FORMULAS[name], previously_parsed=tree)
        return {name: names[name] for name in parsed}

    return simple
