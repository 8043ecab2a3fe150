"""The reader of headers on small headers, the table's round trip, and what the option `sdk` prints."""

import json

import jsonschema
import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function
from tilelang_tt.sdk import check, load, releases_of
from tilelang_tt.sdk.conditionals import live_lines
from tilelang_tt.sdk.declarations import read_declarations
from tilelang_tt.sdk.table import dump, parse

HEADER = """
namespace ckernel {
template <bool out_of_order = false, typename T>
[[deprecated("gone soon")]] ALWI void pack(const T& where, std::uint32_t idst, uint32_t index = f(1), float x = 1.0) {
    helper(1, 2);
}
enum class Order : uint8_t { Regular, Reverse };
class Accessor {
    void hidden();
public:
    explicit Accessor(size_t base);
    constexpr uint32_t size() const { return 1; }
};
}  // namespace ckernel
#define twice(a) (a + a)
"""


def test_declarations_of_a_header() -> None:
    read = read_declarations("a.h", HEADER)
    assert [(f.owner, str(f), f.returns, f.deprecated, f.constexpr) for f in read.functions] == [
        ("", "pack<bool=false, ~type>(object, uint32, uint32=?, float=1.0)", "void", True, False),
        ("Accessor", "Accessor(size)", "Accessor", False, False),
        ("Accessor", "size()", "uint32", False, True),
        ("", "twice(any)", "any", False, True),
    ]
    assert [(n.name, n.sort, n.values) for n in read.names] == [
        ("Order", "enum class", ("Regular", "Reverse")),
        ("Accessor", "type", ()),
    ]
    assert read.unread == []


def test_what_cannot_be_read_is_said() -> None:
    assert read_declarations("a.h", "UNKNOWN_MACRO\nclass Buffer { void f(); };\n").unread != []


@pytest.mark.parametrize(
    ("condition", "live"),
    [
        ("#ifdef A", True),
        ("#ifndef A", False),
        ("#if defined(A) && !defined(B)", True),
        ("#if defined(B) || (A == 2)", False),
        ("#if A >= 1 && !(defined B)", True),
        ('#if __has_include("x.h")', False),
    ],
)
def test_conditions(condition: str, live: bool) -> None:
    text = f"{condition}\nyes\n#else\nno\n#endif\nend\n"
    lines = live_lines(text, {"A": 1}).split("\n")
    assert lines == ["", "yes" if live else "", "", "" if live else "no", "", "end", ""]


def test_the_table_survives_a_round_trip() -> None:
    assert parse(dump(list(load().values()))) == load()


def test_a_wrong_table_is_refused() -> None:
    data = json.loads(dump(list(load().values())))
    data["functions"][0]["arity"] = 3
    with pytest.raises(jsonschema.ValidationError):
        parse(json.dumps(data))


def test_removed_names_are_known_to_be_removed() -> None:
    old, new = load().values()
    for name in ("add_tiles_init", "binary_op_init_common", "pack_tile_block", "transpose_wh_init"):
        assert name in old.functions
        assert name not in new.functions
    assert not {"mm_init", "mm_block_init"} & {*old.functions, *new.functions}
    assert all(f.deprecated for f in new.functions["copy_tile_to_dst_init_short"])


@pytest.mark.parametrize("sdk", ["0.77", "0.81"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_kernels_printed_for_a_release_fit_it(sdk: str, arch: str) -> None:
    @T.prim_func
    def cast(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            block = T.alloc_shared((32, 32), "bfloat16")
            wide = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], block)
            T.copy(block, wide)
            T.copy(wide, B[by * 32, bx * 32])

    files = compile_function(cast, Options(sdk=sdk, arch=arch)).files
    kernels = {name: text for name, text in files.items() if name in ("reader.cpp", "compute.cpp", "writer.cpp")}
    assert ("copy_init(" in kernels["compute.cpp"]) == (sdk == "0.81")
    for release in releases_of(sdk):
        assert [str(problem) for problem in check(kernels, release, arch)] == []
    if sdk == "0.81":
        assert check(kernels, "0.77.0", arch) != []
