"""The quick check of plans says what jsonschema says, of right plans and of wrong ones."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tilelang_tt.runtime.plan import plan_schema, validate
from tilelang_tt.runtime.quick_schema import checker

GOLDEN = Path(__file__).parents[1] / "golden"
PLANS = [GOLDEN / name / "tt.plan.json" for name in ("gemm", "gemm_dynamic", "first_drop")]
OTHERS: tuple[Any, ...] = (None, True, -1, 0, 1, 0.5, "", "fast", [], {}, [1], ["", ""], {"name": ""})


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object in data and each key of it; of a long list the first and the last."""
    keys = list(data) if isinstance(data, dict) else sorted({0, len(data) - 1}) if data else []
    for key in keys:
        yield data, key
        if isinstance(data[key], dict | list):
            yield from places(data[key])


def wrong(plan: Any) -> Iterator[Any]:
    """The plan with one value at a time replaced, left out or added."""
    for inside, key in places(plan):
        before = copy.copy(inside)
        for other in OTHERS:
            inside[key] = other
            yield plan
        del inside[key]
        yield plan
        inside.clear()
        inside.update(before) if isinstance(inside, dict) else inside.extend(before)
        if isinstance(inside, dict):
            inside["unknown"] = 1
            yield plan
            del inside["unknown"]


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.parent.name)
def test_agrees_with_jsonschema(path: Path) -> None:
    plan = json.loads(path.read_text())
    quick, thorough = checker(plan_schema()), jsonschema.Draft202012Validator(plan_schema())
    assert quick(plan)
    answers = [(quick(one), thorough.is_valid(one)) for one in wrong(plan)]
    assert all(quickly == thoroughly for quickly, thoroughly in answers)
    assert (False, False) in answers
    assert (True, True) in answers


def test_says_what_is_wrong() -> None:
    plan = json.loads(PLANS[0].read_text())
    plan["launches"][0]["grid"] = [0, 1]
    with pytest.raises(jsonschema.ValidationError, match="0 is less than the minimum of 1"):
        validate(plan)


def test_unknown_keywords_are_errors() -> None:
    with pytest.raises(KeyError, match="pattern"):
        checker({"type": "string", "pattern": "a+"})
