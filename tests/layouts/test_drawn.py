"""Random kernels with random layouts, schedules and options are right, or refused with a line and a help that works.

A few fixed ones run here; `make random COUNT=500` draws new ones.
"""

import os
import re
import warnings
from collections import Counter
from random import Random, SystemRandom

import pytest
from drawn import Drawn
from drawn_elements import ELEMENTS
from drawn_layouts import Wishes, as_the_help_says, wishes
from drawn_others import OTHERS
from drawn_products import PRODUCTS

from tilelang_tt.diagnostics import DeviceError, InternalError, TenstorrentError
from tilelang_tt.runtime.runner import SEED_VARIABLE

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "0"))  # 0: the fixed ones
FIXED = 16
MOST_REFUSALS = 8  # of one program, each followed
WITHOUT_LINES = ("TT410",)  # of a call


def program_of(number: int) -> tuple[Drawn, Wishes]:
    rng = Random(number)
    families = [family for family, share in (*PRODUCTS, *ELEMENTS, *OTHERS) for _ in range(share)]
    kernel = rng.choice(families)(rng)
    return kernel, wishes(rng, kernel)


def text_of(number: int, kernel: Drawn, asked: Wishes) -> str:
    where = "by the kernel" if asked.said else "by the target"
    return (
        f"program {number}: {kernel.kind} {kernel.values}\n  layouts {asked.layouts} {where}\n"
        f"  schedule {asked.schedule}\n  options {asked.options}"
    )


def run(kernel: Drawn, asked: Wishes) -> None:
    compiled = asked.compiled(kernel)
    for number, (tensors, _) in enumerate(kernel.calls):
        found = {name: tensor.clone() for name, tensor in tensors.items()}
        compiled(*found.values())
        wrong = kernel.wrong(number, found, asked.fewer_bits)
        assert wrong is None, f"call {number}: {wrong}"


def verdict(number: int) -> str:
    """ "right", after how many refusals whose help was followed; raises where something is wrong."""
    kernel, asked = program_of(number)
    for refusals in range(MOST_REFUSALS):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run(kernel, asked)
            return f"right after {refusals} refusals"
        except TenstorrentError as refusal:
            error = refusal
        except Exception as failure:
            raise AssertionError(f"{failure}\n{text_of(number, kernel, asked)}") from failure
        text, after = f"{error}\n{text_of(number, kernel, asked)}", as_the_help_says(error, asked)
        assert not isinstance(error, DeviceError | InternalError), text
        assert error.help, f"no help: {text}"
        assert not asked.said or error.location or error.code in WITHOUT_LINES, f"no line: {text}"
        assert after != asked, f"nothing to follow: {text}"
        if after is None:
            return f"refused {error.code}"
        asked = after
    raise AssertionError(f"refused again and again: {text_of(number, kernel, asked)}")


def test_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    first = SystemRandom().randrange(10**6) if COUNT else 0
    verdicts: Counter[str] = Counter()
    failures: list[str] = []
    for number in range(first, first + (COUNT or FIXED)):
        monkeypatch.setenv(SEED_VARIABLE, str(number % 5))
        try:
            verdicts[verdict(number)] += 1
        except AssertionError as error:  # the others are worth knowing too
            failures.append(str(error))
    print(dict(verdicts))
    assert not failures, "\n\n".join(failures)
    refused = sum(count for name, count in verdicts.items() if name.startswith("refused"))
    assert refused <= 0.05 * sum(verdicts.values()) + 1, verdicts  # refusals must not hide what this is for


WORDS = (
    *(
        "'height'",
        "'width'",
        "'block'",
        "'pages': 'row'",
        "'order': 'column'",
        "bfloat8_b",
        "'tile': (16, 32)",
        "DRAM",
        "+4+4",
        "blackhole",
    ),
    *(
        "contiguous",
        "strided",
        "rectangle",
        "'z'",
        "block-linear",
        "match",
        "units",
        "by the kernel",
        "'multicast': True",
    ),
    *(family.__name__ for family, _ in (*PRODUCTS, *ELEMENTS, *OTHERS)),
    *("'m': 1,", "'open_sizes': 'm'", "'in_place': True", "'persistent': True", "'atomic': True", "'causal': True"),
)


def test_the_programs_are_worth_it() -> None:
    """What is drawn holds every kind of kernel, layout and schedule."""
    texts = [text_of(number, *program_of(number)) for number in range(250)]
    assert [word for word in WORDS if not any(word in text for text in texts)] == []
    assert any(re.search(r"'shard': \(\d+, \d+, \d+", text) for text in texts)
