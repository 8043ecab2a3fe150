"""The stand-in `tilelang_tt.ttnn` beside a real ttnn: names, parameters, enumerations. No device is needed."""

from __future__ import annotations

import enum
import inspect
import json
import subprocess
from typing import Any

import pytest

import tilelang_tt.ttnn as stand_in
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime.ttnn_find import find_ttnn, worker_environment

OURS = {"use_virtual_device"}
POSITIONAL = {
    "CoreCoord",
    "MeshShape",
    "MeshCoordinate",
    "num_cores_to_corerangeset",
    "VectorUInt32",
    "Tensor",
    "Shape",
}
QUESTION = """
import enum, json, re, sys
import ttnn

def parameters(thing):
    made = getattr(thing, "__init__", None) if isinstance(thing, type) else thing
    texts = [re.sub(r"\\\\[[^\\\\[\\\\]]*\\\\]", "", text[0]) for text in getattr(made, "__nb_signature__", None) or []]
    return sorted({name for text in texts for name in re.findall(r"[(,] *([a-z_0-9]+):", text)})

answer = {}
for name in json.loads(sys.argv[1]):
    thing = getattr(ttnn, name, None)
    listed = isinstance(thing, type) and issubclass(thing, enum.Enum)
    members = {item.name: item.value for item in thing} if listed else None
    answer[name] = {"there": thing is not None, "members": members, "parameters": parameters(thing)}
print(json.dumps(answer))
"""


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    try:
        ttnn = find_ttnn()
    except EnvironmentProblem as problem:
        pytest.skip(f"NOT RUN, the stand-in was compared with nothing: {problem.message}")
    names = json.dumps(sorted(set(stand_in.__all__) - OURS))
    done = subprocess.run(
        [ttnn.python, "-c", QUESTION, names], capture_output=True, text=True, env=worker_environment(ttnn.python)
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("name", sorted(set(stand_in.__all__) - OURS))
def test_the_real_one_has_it_alike(answer: dict[str, Any], name: str) -> None:
    real, mine = answer[name], getattr(stand_in, name)
    assert real["there"]
    if isinstance(mine, type) and issubclass(mine, enum.Enum):
        shared = set(real["members"]) & set(mine.__members__)
        assert shared
        assert all(mine[member].value == real["members"][member] for member in shared)
    elif name not in POSITIONAL and isinstance(mine, type):
        assert set(inspect.signature(mine).parameters) & set(real["parameters"]) or not real["parameters"]
