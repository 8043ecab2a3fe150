"""Packages that are not installed: stood in for where a script cannot do without them, and only there."""

import subprocess
import sys
from pathlib import Path

SETUP = """
import sys
from pathlib import Path
from tilelang_tt.conformance.absent import AbsentPackages
absent = AbsentPackages(Path(__file__).parent)
sys.meta_path.append(absent)
"""
USE = """
import no_such_package.testing as testing
from no_such_package.ops import attention, VERSION

@testing.jit(configs=[1])
def kernel(): ...

kernel[3, 4](1, out=attention(2) * 2 + 1)
first, second = attention(7)
assert first == attention(7)[0] == 7
first, *_ = attention(7)
first, second, third, fourth = attention(7)
assert first == 7 and len(list(attention(7))) == 2
class Special(attention): ...
assert testing.version >= "2"
assert absent.names == {"no_such_package"}, absent.names
"""
GUARDED = """
try:
    import no_such_package
except ImportError:
    print("without")
"""


KNOWS_WITHOUT = """
try:
    from no_such_package import attention
except ImportError:
    def attention(x):
        return x + 1
print(attention(1))
"""
ONLY_INSIDE = """
try:
    import no_such_package
except ImportError:
    pass
x = no_such_package.f(1)[0]
try:
    from no_such_package.ops import attention
    x = attention(x)
except ImportError:
    pass
print(x)
"""
USED_ALL_THE_SAME = """
try:
    import no_such_package
    print(no_such_package.__file__)
    from no_such_package.ops import attention
except ImportError:
    no_such_package = None
print(attention(5)[0])
"""


def run(tmp_path: Path, text: str) -> str:
    script = tmp_path / "script.py"
    script.write_text(text)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_can_be_done_with_it(tmp_path: Path) -> None:
    run(tmp_path, SETUP + USE)


def test_a_script_that_knows_better_is_left_alone(tmp_path: Path) -> None:
    assert run(tmp_path, SETUP + GUARDED) == "without\n"
    assert run(tmp_path, SETUP + KNOWS_WITHOUT) == "2\n"
    assert run(tmp_path, SETUP + ONLY_INSIDE) == "1\n"


def test_a_script_that_goes_on_with_what_it_has_not(tmp_path: Path) -> None:
    assert run(tmp_path, SETUP + USED_ALL_THE_SAME) == "(not installed)\n5\n"


def test_other_packages_are_left_alone(tmp_path: Path) -> None:
    library = tmp_path / "elsewhere" / "library.py"
    library.parent.mkdir()
    library.write_text("import no_such_package\n")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    text = f"""
sys.path.insert(0, {str(library.parent)!r})
try:
    import library
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(checkout, SETUP + text) == "no_such_package\n"
