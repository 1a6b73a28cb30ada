"""The G1a-v2 policy as one writes it by hand: one pass over dictionaries, all 33 values in a dictionary.

`hand_merged` is the 1.00 of all ratios.
"""

from __future__ import annotations

from math import log
from typing import Any

Values = dict[str, Any]

CUISINES = {
    "Thai": 2.0,
    "Vietnamese": 1.8,
    "Chinese": 1.5,
    "Asian Fusion": 1.5,
    "Indian": 1.3,
    "Japanese": 1.2,
    "Korean": 1.2,
    "Mexican": 1.0,
    "Italian": 0.5,
    "American": 0.5,
    "Pizza": 0.5,
}


def hand_written(rows: list[dict[str, Any]], context: dict[str, Any]) -> Values:
    """One condition for each count, as the policy states them."""
    n_mild = n_moderate = n_severe = n_positive = n_negative = n_betrayal = n_reviews = n_recent = n_old = 0
    most_recent_year = None
    total_weight = 0.0
    for row in rows:
        e = row["extraction"]
        m = row["meta"]
        if e["incident_severity"] == "mild" and e["account_type"] == "firsthand":
            n_mild += 1
        if e["incident_severity"] == "moderate" and e["account_type"] == "firsthand":
            n_moderate += 1
        if e["incident_severity"] == "severe" and e["account_type"] == "firsthand":
            n_severe += 1
        if e["safety_interaction"] == "positive":
            n_positive += 1
        if e["safety_interaction"] == "negative":
            n_negative += 1
        if e["safety_interaction"] == "betrayal":
            n_betrayal += 1
        n_reviews += 1
        if e["account_type"] == "firsthand" and e["incident_severity"] in ("mild", "moderate", "severe"):
            if m["year"] >= 2023:
                n_recent += 1
            if m["year"] < 2023:
                n_old += 1
            if most_recent_year is None or m["year"] > most_recent_year:
                most_recent_year = m["year"]
            total_weight += (5 - m["stars"]) + log(m["useful"] + 1)
    return scores(
        n_mild, n_moderate, n_severe, n_positive, n_negative, n_betrayal, n_reviews, n_recent, n_old,
        most_recent_year, total_weight, context["categories"],
    )  # fmt: skip


def hand_merged(rows: list[dict[str, Any]], context: dict[str, Any]) -> Values:
    """The same, its conditions merged and nested with care: as fast as it gets, and no longer the policy's text."""
    n_mild = n_moderate = n_severe = n_positive = n_negative = n_betrayal = n_recent = n_old = 0
    most_recent_year = None
    total_weight = 0.0
    for row in rows:
        e = row["extraction"]
        safety = e["safety_interaction"]
        if safety == "positive":
            n_positive += 1
        elif safety == "negative":
            n_negative += 1
        elif safety == "betrayal":
            n_betrayal += 1
        if e["account_type"] != "firsthand":
            continue
        severity = e["incident_severity"]
        if severity == "mild":
            n_mild += 1
        elif severity == "moderate":
            n_moderate += 1
        elif severity == "severe":
            n_severe += 1
        else:
            continue
        m = row["meta"]
        year = m["year"]
        if year >= 2023:
            n_recent += 1
        else:
            n_old += 1
        if most_recent_year is None or year > most_recent_year:
            most_recent_year = year
        total_weight += (5 - m["stars"]) + log(m["useful"] + 1)
    return scores(
        n_mild, n_moderate, n_severe, n_positive, n_negative, n_betrayal, len(rows), n_recent, n_old,
        most_recent_year, total_weight, context["categories"],
    )  # fmt: skip


def scores(  # noqa: PLR0913 - the counts of a policy, as a person writes them down
    n_mild: int,
    n_moderate: int,
    n_severe: int,
    n_positive: int,
    n_negative: int,
    n_betrayal: int,
    n_reviews: int,
    n_recent: int,
    n_old: int,
    most_recent_year: int | None,
    total_weight: float,
    categories: str,
) -> Values:
    """Everything that follows from the counts."""
    n_incidents = n_mild + n_moderate + n_severe
    trust_raw = 1.0 + n_positive * 0.1 - n_negative * 0.2 - n_betrayal * 0.5
    trust = max(0.1, min(1.0, trust_raw))
    mild_weight = 2 * (1.5 - trust)
    moderate_weight = 5 * (1.3 - 0.3 * trust)
    severe_weight = 15
    incident_score = n_mild * mild_weight + n_moderate * moderate_weight + n_severe * severe_weight
    recent_ratio = n_recent / n_incidents if n_incidents > 0 else 0
    if recent_ratio > 0.7:
        trajectory = 1.3
    elif recent_ratio < 0.3 and n_incidents > 0:
        trajectory = 0.7
    else:
        trajectory = 1.0
    cuisine_modifier = None
    for key, value in CUISINES.items():
        if key in categories and (cuisine_modifier is None or value > cuisine_modifier):
            cuisine_modifier = value
    if cuisine_modifier is None:
        cuisine_modifier = 1.0
    silence_penalty = cuisine_modifier * 0.5 if n_reviews == 0 else 0
    cuisine_impact = cuisine_modifier * 0.5 + silence_penalty
    if most_recent_year is None:
        most_recent_year = 2020
    incident_age = 2025 - most_recent_year
    recency_decay = max(0.3, 1.0 - incident_age * 0.15)
    credibility = total_weight / n_incidents if n_incidents > 0 else 1.0
    incident_impact = incident_score * trajectory * recency_decay * credibility
    trust_impact = (1.0 - trust) * 3.0
    positive_credit = n_positive * trust * 0.5
    base_risk = 2.0
    raw_risk = base_risk + incident_impact + trust_impact + cuisine_impact - positive_credit
    final_risk = max(0.0, min(20.0, raw_risk))
    if final_risk < 4.0:
        verdict = "Low Risk"
    elif final_risk < 8.0:
        verdict = "High Risk"
    else:
        verdict = "Critical Risk"
    return {
        "N_MILD": n_mild,
        "N_MODERATE": n_moderate,
        "N_SEVERE": n_severe,
        "N_TOTAL_INCIDENTS": n_incidents,
        "N_POSITIVE": n_positive,
        "N_NEGATIVE": n_negative,
        "N_BETRAYAL": n_betrayal,
        "N_ALLERGY_REVIEWS": n_reviews,
        "TRUST_RAW": trust_raw,
        "TRUST_SCORE": trust,
        "MILD_WEIGHT": mild_weight,
        "MODERATE_WEIGHT": moderate_weight,
        "SEVERE_WEIGHT": severe_weight,
        "ADJUSTED_INCIDENT_SCORE": incident_score,
        "N_RECENT": n_recent,
        "N_OLD": n_old,
        "RECENT_RATIO": recent_ratio,
        "TRAJECTORY_MULTIPLIER": trajectory,
        "CUISINE_MODIFIER": cuisine_modifier,
        "SILENCE_PENALTY": silence_penalty,
        "CUISINE_IMPACT": cuisine_impact,
        "MOST_RECENT_YEAR": most_recent_year,
        "INCIDENT_AGE": incident_age,
        "RECENCY_DECAY": recency_decay,
        "TOTAL_WEIGHT": total_weight,
        "CREDIBILITY_FACTOR": credibility,
        "INCIDENT_IMPACT": incident_impact,
        "TRUST_IMPACT": trust_impact,
        "POSITIVE_CREDIT": positive_credit,
        "BASE_RISK": base_risk,
        "RAW_RISK": raw_risk,
        "FINAL_RISK_SCORE": final_risk,
        "VERDICT": verdict,
    }
