"""A plan, or a compilation, that comes from elsewhere is data: it is checked, and nothing in it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError

from tilelang_tt.diagnostics import TenstorrentError
from tilelang_tt.runtime.line_map import lines_from_json
from tilelang_tt.runtime.plan import Plan, evaluate

GOLDEN = Path(__file__).parents[1] / "golden"
_REFUSED = (TenstorrentError, ValidationError, ValueError, SyntaxError, KeyError, TypeError)
EVIL = "__import__('os').system('touch evil')"


@pytest.fixture(autouse=True)
def _nothing_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


def plan() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / "gemm_dynamic" / "tt.plan.json").read_text())
    return loaded


@pytest.mark.parametrize(
    "text",
    [
        EVIL,
        "(lambda: 1)()",
        "m.__class__",
        "m if m else 1",
        "[1][0]",
        "m **  m",
        "1 +",
        "m" * 3 + "; import os",
        "f'{m}'",
        "m := 3",
    ],
)
def test_a_size_is_arithmetic_and_nothing_else(text: str) -> None:
    with pytest.raises(_REFUSED):
        evaluate(text, {"m": 3, "n": 4})


@pytest.mark.parametrize("text", [EVIL, "m.__class__"])
def test_a_plan_with_code_in_it_is_refused(text: str) -> None:
    data = plan()
    param = next(param for param in data["params"] if param["kind"] == "tensor")
    param["shape"] = [text for _ in param["shape"]]
    with pytest.raises(_REFUSED):
        evaluate(Plan.from_json(json.dumps(data)).params[data["params"].index(param)].shape[0], {"m": 64, "n": 64})


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.pop("launches"),
        lambda data: data.update(version=99),
        lambda data: data.update(grid="8x8"),
        lambda data: data.update(unknown=1),
        lambda data: data["launches"][0].update(cbs=None),
        lambda data: data["launches"][0]["kernels"][0].update(file=["../../etc/passwd"]),
    ],
)
def test_a_damaged_plan_is_refused(damage: Any) -> None:
    data = plan()
    damage(data)
    with pytest.raises(_REFUSED):
        Plan.from_json(json.dumps(data))


@pytest.mark.parametrize(
    "text", ["null", "[1]", '{"a": 1}', '{"a": {"1": "k.py"}}', '{"a": {"x": "k.py:1"}}', '{"a": {"1": 2}}']
)
def test_what_is_no_line_map_is_refused(text: str) -> None:
    with pytest.raises(TenstorrentError, match="TT317"):
        lines_from_json(text)


@pytest.mark.parametrize("text", ["", "null", "[]", "{", "42", '"plan"', "{}"])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(_REFUSED):
        Plan.from_json(text)
