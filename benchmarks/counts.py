"""What the generated code of each kernel does and what compiling it costs: pinned, and compared with another state.

python -m benchmarks.counts                                  a table of the golden kernels and of long rows
python -m benchmarks.counts --traced FOLDER                  and of kernels that `benchmarks.trace` has kept
python -m benchmarks.counts --traced FOLDER --write F        the same as JSON; --files G also keeps the files in G
python -m benchmarks.counts --traced FOLDER --compare F      only what is not as in F, and both compile times

tries     how often the most used pass has run: 1 unless the kernel was compiled again to fit L1
text      DST sections a reader of compute.cpp sees
sections  DST sections in the whole launch; sizes known only at the call are 256; - depends on a tensor
trips     tiles that compute packs to L1 for itself, to take them out again
read, written   bytes of DRAM
lines     of reader, compute and writer
--clock   also microseconds by the clock, of kernels whose steps do not depend on data; with --compare what changed
ms        processor time from the kernel's TIR to its files, median of three
"""

from __future__ import annotations

import argparse
import json
import logging
import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import tilelang_tt  # noqa: F401
from benchmarks.counted import Counted, Kernel, count, pinned, traced

ROUNDS = 3
SLOWEST = 10  # kernels whose compile times are always shown
COLUMNS = {
    "tries": "tries",
    "text": "sections_in_text",
    "sections": "dst_sections",
    "trips": "l1_trips",
    "unpacked": "unpacked_tiles",
    "packed": "packed_tiles",
    "products": "tile_products",
    "read": "dram_read",
    "written": "dram_written",
    "reader": "reader_lines",
    "compute": "compute_lines",
    "writer": "writer_lines",
}
Counts = dict[str, Counted]


def table(counts: Counts, *, times: bool) -> str:
    """One line per kernel. Without times it is the same on every machine."""
    rows = [["kernel", *COLUMNS, *(["ms"] if times else [])]]
    for name, counted in counts.items():
        row = [f"{counted.numbers[number]:,}" if number in counted.numbers else "-" for number in COLUMNS.values()]
        rows.append([name, *row, *([f"{counted.milliseconds:.1f}"] if times else [])])
        if counted.refused:
            rows[-1][1] = counted.refused
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )


def measure(kernels: Iterable[Kernel], rounds: int, files: Path | None = None, *, clock: bool = False) -> Counts:
    counts: Counts = {}
    for kernel in kernels:
        texts: dict[str, str] = {}
        counts[kernel.name] = count(kernel, rounds, texts, clock=clock)
        if files is not None:
            write_texts(files / kernel.name, texts)
    return counts


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)


def read(path: Path) -> Counts:
    return {name: Counted(**values) for name, values in json.loads(path.read_text()).items()}


def differences(old: Counts, new: Counts) -> list[str]:
    """A line for each number of a kernel that changed, for kernels that came and went, and for changed files."""
    lines = [f"{name}: {'gone' if name in old else 'new'}" for name in sorted(old.keys() ^ new.keys())]
    for name in (name for name in new if name in old):
        before, after = old[name], new[name]
        if before.refused != after.refused:
            lines.append(f"{name}: {before.refused or 'compiled'} -> {after.refused or 'compiled'}")
            continue
        names = dict.fromkeys([*before.numbers, *after.numbers])
        changed = [
            f"{number} {before.numbers.get(number, '-')} -> {after.numbers.get(number, '-')}"
            for number in names
            if before.numbers.get(number) != after.numbers.get(number)
        ]
        other = [file for file in {**before.files, **after.files} if before.files.get(file) != after.files.get(file)]
        if other:
            changed.append(f"other text: {', '.join(other)}")
        if changed:
            lines.append(f"{name}: {'; '.join(changed)}")
    return lines


def compile_times(old: Counts, new: Counts) -> list[str]:
    """The slowest kernels, those compiled more than once, and all together."""
    both = [name for name in new if name in old and old[name].milliseconds and new[name].milliseconds]
    slowest = sorted(both, key=lambda name: -old[name].milliseconds)[:SLOWEST]
    again = [name for name in both if old[name].numbers["tries"] > 1]
    lines = [f"{'ms before':>10}{'now':>10}{'ratio':>8}"]
    for name in dict.fromkeys([*slowest, *again]):
        before, after = old[name].milliseconds, new[name].milliseconds
        tries = f"   ({old[name].numbers['tries']} tries, now {new[name].numbers['tries']})" if name in again else ""
        lines.append(f"{before:10.0f}{after:10.0f}{after / before:8.2f}   {name}{tries}")
    before, after = (sum(counts[name].milliseconds for name in both) for counts in (old, new))
    if both:
        middle = math.exp(sum(math.log(new[n].milliseconds / old[n].milliseconds) for n in both) / len(both))
        lines.append(f"{before:10.0f}{after:10.0f}{after / before:8.2f}   all {len(both)}; of one kernel {middle:.2f}")
    return lines


def clock_times(old: Counts, new: Counts) -> list[str]:
    """Kernels whose time by the clock has changed, slowest against before first, the slowest of all, and the mean."""
    both = [name for name in new if name in old and old[name].microseconds and new[name].microseconds]
    ratios = {name: new[name].microseconds / old[name].microseconds for name in both}
    changed = sorted((name for name in both if ratios[name] != 1), key=lambda name: -ratios[name])
    slowest = sorted(both, key=lambda name: -new[name].microseconds)[:SLOWEST]
    lines = [f"{'us before':>10}{'now':>10}{'ratio':>8}"]
    for name in dict.fromkeys([*changed, *slowest]):
        before, after = old[name].microseconds, new[name].microseconds
        lines.append(f"{before:10.1f}{after:10.1f}{ratios[name]:8.3f}   {name}, bound by {new[name].bound}")
    if both:
        middle = math.exp(sum(map(math.log, ratios.values())) / len(both))
        slower = sum(ratio > 1 for ratio in ratios.values())
        lines.append(f"{len(both)} timed of {len(new)}, {slower} of them slower; of one kernel {middle:.3f}")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traced", type=Path, help="folder of kernels kept by benchmarks.trace")
    parser.add_argument("--write", type=Path, help="JSON file for the counts")
    parser.add_argument("--files", type=Path, help="folder for the generated files")
    parser.add_argument("--compare", type=Path, help="JSON file of another state")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--clock", action="store_true", help="also the time of each by the clock")
    arguments = parser.parse_args()
    logging.getLogger("tilelang").setLevel(logging.WARNING)
    kernels = [*pinned(), *(traced(arguments.traced) if arguments.traced else ())]
    count(kernels[0], 1, {})  # imports and registries
    counts = measure(kernels, arguments.rounds, arguments.files, clock=arguments.clock)
    if arguments.write:
        values = {name: asdict(counted) for name, counted in counts.items()}
        arguments.write.write_text(json.dumps(values, indent=1) + "\n")
    if arguments.compare:
        old = read(arguments.compare)
        if arguments.traced is None:
            old = {name: counted for name, counted in old.items() if name in counts}
        different = differences(old, counts) or ["nothing differs"]
        times = clock_times(old, counts) if arguments.clock else []
        print("\n".join([*different, "", *times, *compile_times(old, counts)]))
    else:
        print(table(counts, times=True))


if __name__ == "__main__":
    main()
