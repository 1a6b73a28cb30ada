"""What the policies are to say of places that we know."""


def test_a_place_without_reviews_is_unknown(formulaseed_evaluator):
    """Without a review nothing is known of a place."""
    evaluator = formulaseed_evaluator("tasks/my_policy/seed.json")
    assert evaluator.evaluate([], {})["VERDICT"] == "unknown"


def test_three_praises_make_a_good_place(formulaseed_evaluator):
    """Three reviews that praise a place are enough."""
    evaluator = formulaseed_evaluator("tasks/my_policy/seed.json")
    rows = [{"review_id": f"r{number}", "extraction": {"work": "praise"}} for number in range(3)]
    assert evaluator.evaluate(rows, {})["VERDICT"] == "good"
