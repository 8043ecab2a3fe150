"""Every configuration that `make test-vendor` runs, by operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.vendor import (
    adamw,
    embedding,
    gated_norm,
    group_norm,
    group_norm_interleaved,
    matmul,
    matmul_sparse,
    matmul_turned,
    norm,
    norm_sharded,
    rotary,
    rotary_halves,
    sdpa,
    sdpa_decode,
    sdpa_joint,
    sort_cores,
    sorting,
    topk_cores,
)
from tests.vendor.builder import Outcome

from tilelang_tt.device import DataType, Device


@dataclass(frozen=True)
class Case:
    operator: str
    configuration: str
    run: Callable[[Device, Path], Outcome]
    known: str = ""  # why it does not run, or is not right; part of the message of a stop
    reason: str = ""  # the same for people
    needs: str = ""  # what is not here and it cannot run without
    seeds: tuple[int, ...] = (0,)  # schedules under which it runs
    numerics: str = "fast"
    chips: tuple[str, ...] = field(default=("wormhole_b0", "blackhole"))


def _case(operator: str, configuration: str, module: Any, settings: object, **more: Any) -> Case:
    return Case(operator, configuration, lambda device, root: module.run(device, root, settings), **more)


def _attention() -> list[Case]:
    s = sdpa.Sdpa
    wide = {
        "": s(),
        "causal": s(causal=True),
        "mask": s(masked=True),
        "GQA, 4 heads on 1": s(heads=4, kv_heads=1, causal=True, grid=(4, 2)),
        "chunked (paged keys), causal": s(causal=True, chunk_start=128),
        "96 queries, 150 keys": s(queries=96, keys=150),
        "attention sink, causal": s(sink=True, causal=True),
        "chain of 4 cores": s(queries=256, keys=256, heads=1, kv_heads=1, grid=(1, 4)),
        "512 x 512 x 128, chunks of 128 and 256": s(
            queries=512, keys=512, width=128, q_chunk=128, k_chunk=256, heads=1, kv_heads=1
        ),
    }
    narrow = {
        "": s(fp32_dest=False),
        "causal": s(fp32_dest=False, causal=True),
        "causal, chunks of 128": s(fp32_dest=False, causal=True, queries=256, keys=256, q_chunk=128, k_chunk=128),
        "mask": s(fp32_dest=False, masked=True),
        "GQA, 4 heads on 1": s(fp32_dest=False, heads=4, kv_heads=1, causal=True),
        "chunked (paged keys), causal": s(fp32_dest=False, causal=True, chunk_start=128),
        "96 queries, 150 keys": s(fp32_dest=False, queries=96, keys=150),
        "attention sink, causal": s(fp32_dest=False, sink=True, causal=True),
        "512 x 512 x 128, chunks of 256": s(
            fp32_dest=False, queries=512, keys=512, width=128, q_chunk=256, k_chunk=256, heads=1, kv_heads=1
        ),
    }
    found = [_case("SDPA prefill", _joined("32-bit DST", name), sdpa, one) for name, one in wide.items()]
    found += [_case("SDPA prefill", _joined("16-bit DST, streaming", name), sdpa, one) for name, one in narrow.items()]
    chips = {"32-bit DST": s(), "16-bit DST, streaming, causal": s(fp32_dest=False, causal=True)}
    found += [
        _case("SDPA prefill", f"{name}, chip numerics", sdpa, one, numerics="chip") for name, one in chips.items()
    ]
    latent = {
        "32-bit DST, causal": s(latent=64, width=96, kv_heads=1, causal=True),
        "16-bit DST, streaming, chunked, causal": s(
            latent=64, width=96, kv_heads=1, causal=True, fp32_dest=False, chunk_start=128
        ),
    }
    found += [_case("FlashMLA prefill", name, sdpa, one) for name, one in latent.items()]
    joint = {"128 and 64 tokens": sdpa_joint.Joint(), "96 and 40 tokens": sdpa_joint.Joint(first=96, second=40)}
    found += [_case("SDPA joint", name, sdpa_joint, one) for name, one in joint.items()]
    window = s(causal=True, window=64, queries=256, keys=256)
    windows = {
        "32-bit DST, causal": window,
        "16-bit DST, streaming, causal": replace(window, fp32_dest=False),
        "16-bit DST, streaming, window of 128, causal": replace(window, fp32_dest=False, window=128),
        "16-bit DST, streaming, window of 96, not causal": replace(window, fp32_dest=False, causal=False, window=96),
    }
    found += [_case("SDPA prefill", f"sliding window, {name}", sdpa, one) for name, one in windows.items()]
    found += [
        _case("SDPA prefill", f"sliding window, {name}, chip numerics", sdpa, windows[name], numerics="chip")
        for name in ("32-bit DST, causal", "16-bit DST, streaming, causal")
    ]
    found.append(
        _case(
            "SDPA prefill", "sliding window, 32-bit DST, not causal", sdpa, replace(window, causal=False),
            known="deadlock",
            reason="compute wants a mask for every chunk of keys, the writer makes them up to the diagonal alone",
        )
    )  # fmt: skip
    return found


def _decode() -> list[Case]:
    d = sdpa_decode.Decode
    settings = {
        "1 core a user": d(cores=(2, 1)),
        "tree of 4 cores a head": d(),
        "2 KV heads": d(kv_heads=2),
        "positions in a tensor": d(position_tensor=True),
        "not causal, mask": d(causal=False),
        "paged": d(block=64),
        "8 heads, tiles of 16 rows": d(heads=8),
        "16 heads, tiles of 16 rows, 2 KV heads": d(heads=16, kv_heads=2),
        "12 heads, tiles of 16 rows, paged": d(heads=12, block=64),
    }
    found = [_case("SDPA decode", name, sdpa_decode, one) for name, one in settings.items()]
    found.append(_case("SDPA decode", "tree of 4 cores a head, chip numerics", sdpa_decode, d(), numerics="chip"))
    name = "8 heads, tiles of 16 rows, chip numerics"
    found.append(_case("SDPA decode", name, sdpa_decode, d(heads=8), numerics="chip"))
    found.append(_case("FlashMLA decode", "values are 64 of 96 columns", sdpa_decode, d(latent=64, width=96)))
    found.append(
        _case(
            "SDPA decode", "32-bit DST", sdpa_decode, d(fp32_dest=True), known="DST tile 4: 4 tiles are there",
            reason="the kernel joins two partial results in five tiles of DST; a 32-bit DST has four",
        )
    )  # fmt: skip
    return found


def _norms() -> list[Case]:
    n, s = norm.Norm, norm_sharded.ShardedNorm
    plain = {
        "layer norm": n(),
        "RMS norm": n(rms=True, beta=False),
        "layer norm, residual": n(residual=True),
        "RMS norm, residual": n(rms=True, residual=True),
        "layer norm, Welford": n(welford=True),
        "layer norm, 16-bit DST": n(fp32_dest=False),
        "layer norm, long rows": n(large=True),
        "RMS norm, long rows": n(large=True, rms=True),
        "layer norm, long rows, Welford": n(large=True, welford=True),
    }
    found = [_case("norm, interleaved", name, norm, one) for name, one in plain.items()]
    sharded = {
        "layer norm, 1-D multicast": s(),
        "RMS norm, 1-D multicast": s(rms=True, beta=False),
        "layer norm, residual": s(residual=True),
        "layer norm, two stages": s(cores=(4, 2), columns=512),
        "layer norm, 2-D (block sharded)": s(cores=(4, 2), block_sharded=True, rows=128),
        "RMS norm, 2-D (block sharded)": s(cores=(4, 2), block_sharded=True, rows=128, rms=True),
        "layer norm, Welford": s(welford=True),
        "layer norm, 32-bit DST": s(fp32_dest=True),
    }
    found += [_case("norm, sharded", name, norm_sharded, one) for name, one in sharded.items()]
    gated = {"bfloat16": gated_norm.GatedNorm(), "float32": gated_norm.GatedNorm(wide=True)}
    found += [_case("RMS norm with a sigmoid gate", name, gated_norm, one) for name, one in gated.items()]
    name = "layer norm, 2-D (block sharded), chip numerics"
    blocks = s(cores=(4, 2), block_sharded=True, rows=128)
    found.append(_case("norm, sharded", name, norm_sharded, blocks, numerics="chip"))
    found.append(_case("norm, interleaved", "layer norm, chip numerics", norm, n(), numerics="chip"))
    one_row = s(rows=32, cores=(8, 1), columns=512, rms=True)
    two_stages = s(rows=32, cores=(4, 2), columns=512, rms=True)
    name = "RMS norm, one row of tiles, two stages, three random schedules"
    found.append(_case("norm, sharded", name, norm_sharded, two_stages, seeds=(1, 2, 3)))
    found.append(_case("norm, sharded", "RMS norm, one row of tiles", norm_sharded, one_row, seeds=(0, 1, 2)))
    return found


def _group_norms() -> list[Case]:
    g = group_norm.GroupNorm
    settings = {
        "legacy, 1 core": g(cores=(1, 1)),
        "legacy, multicast over 2 cores": g(),
        "legacy, 2 x 2 cores": g(channels=128, cores=(2, 2)),
        "legacy, groups of 8 channels": g(groups=8),
        "legacy, 2 batches": g(batch=2),
        "Welford": g(welford=True),
        "Welford, tiles": g(welford=True, rows=False),
    }
    found = [_case("group norm, sharded", name, group_norm, one) for name, one in settings.items()]
    found.append(_case("group norm, sharded", "legacy, chip numerics", group_norm, g(), numerics="chip"))
    found.append(_case("group norm, sharded", "Welford, chip numerics", group_norm, g(welford=True), numerics="chip"))
    found.append(
        _case(
            "group norm, sharded", "legacy, tiles", group_norm, g(rows=False),
            known="nothing has been pushed that could be popped",
            reason="the kernel pops a buffer that only its tilizing fills. A chip was not tried",
        )
    )  # fmt: skip
    return found


def _group_norms_in_dram() -> list[Case]:
    g = group_norm_interleaved.InterleavedNorm
    settings = {
        "legacy": g(),
        "legacy, rows in 2 parts": g(blocks=2),
        "legacy, groups of 8 channels": g(groups=16),
        "legacy, 2 batches a core, no gamma and beta": g(batch=4, affine=False),
        "legacy, 32-bit DST": g(fp32_dest=True),
        "Welford": g(welford=True),
        "Welford, groups of 48 channels": g(channels=192, cores=(2, 2), welford=True),
        "legacy, multicast over 4 cores": g(batch=1, pixels=256, cores=(2, 4)),
        "legacy, multicast over 2 cores, rows in 2 parts": g(batch=2, pixels=256, cores=(1, 4), blocks=2),
        "Welford, multicast over 4 cores": g(batch=1, pixels=256, cores=(2, 4), welford=True),
    }
    found = [_case("group norm, interleaved", name, group_norm_interleaved, one) for name, one in settings.items()]
    found.append(
        _case("group norm, interleaved", "legacy, chip numerics", group_norm_interleaved, g(), numerics="chip")
    )
    return found


def _matmuls() -> list[Case]:
    m, act = matmul.Product, matmul.Activation
    both = {
        "2-D multicast": m(),
        "2-D multicast, bias": m(bias=True),
        "2-D multicast, GELU": m(activation=act.GELU),
        "2-D multicast, SiLU, sums of 3 blocks": m(activation=act.SILU, depth=2),
        "2-D multicast, bias, GELU, sums in L1": m(bias=True, activation=act.GELU, depth=2),
        "2-D multicast, bias, SiLU, 32-bit DST": m(bias=True, activation=act.SILU, depth=2, fp32=True),
        "2-D multicast, bias, ReLU": m(bias=True, activation=act.RELU),
        "2-D multicast, block sharded, bias, GELU": m(
            bias=True, activation=act.GELU, sharded=True, tiles=(4, 8, 8), depth=2
        ),
    }
    both |= {
        "1-D multicast of A": m.wide(),
        "1-D multicast of A, bias": m.wide(bias=True),
        "1-D multicast of A, GELU, sums in L1": m.wide(activation=act.GELU, depth=2),
        "1-D multicast of A, bias, SiLU, 32-bit DST": m.wide(bias=True, activation=act.SILU, depth=2, fp32=True),
        "1-D multicast of A, width sharded, bias, GELU": m.wide(
            bias=True, activation=act.GELU, sharded=True, tiles=(2, 16, 16), depth=2
        ),
        "1-D multicast of A, 7 of 8 cores, the last one with less": m.wide(tiles=(2, 8, 13), bias=True),
        "1-D multicast of B": m.tall(),
        "1-D multicast of B, bias": m.tall(bias=True),
        "1-D multicast of B, SiLU": m.tall(activation=act.SILU, depth=2),
        "1-D multicast of B, bias, GELU, 32-bit DST": m.tall(bias=True, activation=act.GELU, depth=2, fp32=True),
        "1-D multicast of B, 7 of 8 cores": m.tall(tiles=(14, 6, 4), bias=True),
    }
    found = [_case("matmul", name, matmul, one) for name, one in both.items()]
    found.append(
        _case(
            "matmul", "1-D multicast of B, the last core with less", matmul, m.tall(tiles=(13, 6, 4)),
            known="page 78, byte 0 of tensor", reason="the last core reads a row of tiles past the end of A, to throw "
            "away what it computes from them. On a chip that is harmless if memory is there",
        )
    )  # fmt: skip
    banks = matmul.FromBanks
    one_row = m(tiles=(1, 8, 0), per_core=(1, 2), depth=1)
    four_blocks = m(tiles=(2, 8, 0), per_core=(2, 3), sub_block=(1, 3), depth=2)
    settings = {
        "DRAM sharded": banks(one_row, columns=2),
        "DRAM sharded, bias, GELU": banks(replace(one_row, bias=True, activation=act.GELU), columns=2, holders=8),
        "DRAM sharded, bias, SiLU, 32-bit DST": banks(
            replace(four_blocks, bias=True, activation=act.SILU, fp32=True), columns=3, holders=2
        ),
        "DRAM sharded, columns padded to whole sub-blocks": banks(
            replace(one_row, per_core=(1, 8), sub_block=(1, 4), bias=True), columns=7
        ),
    }
    found += [_case("matmul", name, matmul, one) for name, one in settings.items()]
    chip = {
        "2-D multicast, bias, GELU": m(bias=True, activation=act.GELU, depth=2),
        "1-D multicast of A, bias, SiLU": m.wide(bias=True, activation=act.SILU, depth=2),
        "1-D multicast of B, bias, GELU": m.tall(bias=True, activation=act.GELU, depth=2),
    }
    found += [_case("matmul", f"{name}, chip numerics", matmul, one, numerics="chip") for name, one in chip.items()]
    t = matmul_turned.Turned
    turned = {
        "1-D multicast of A, B transposed": t(),
        "1-D multicast of A, A transposed": t(a=True, b=False),
        "1-D multicast of A, both transposed, 32-bit DST": t(a=True, fp32=True),
    }
    found += [_case("matmul", name, matmul_turned, one) for name, one in turned.items()]
    formats = {"bfloat8_b": DataType.BFLOAT8_B, "bfloat4_b": DataType.BFLOAT4_B}
    found += [_case("matmul", f"2-D multicast, {name}", matmul, m(dtype=one)) for name, one in formats.items()]
    return found


def _sparse_matmuls() -> list[Case]:
    s = matmul_sparse.Sparse
    settings = {
        "which B count is known at run time": s(),
        "how many B count is known": s(counted=True),
        "places of B in a list": s(listed=(6, 0, 3)),
        "an A for each B": s(paired=True),
        "2 rows of tiles, sums of 4 blocks, 2 x 2 cores": s(m=2, per_core=(2, 2), k=8, grid=(2, 2)),
    }
    found = [_case("sparse matmul", name, matmul_sparse, one) for name, one in settings.items()]
    found.append(_case("sparse matmul", "three random schedules", matmul_sparse, s(), seeds=(1, 2, 3)))
    found.append(_case("sparse matmul", "chip numerics", matmul_sparse, s(), numerics="chip"))
    return found


def _optimisers() -> list[Case]:
    settings = {
        "bfloat16": adamw.AdamW(),
        "float32": adamw.AdamW(wide=True),
        "AMSGrad": adamw.AdamW(largest=True),
    }
    needs = "" if adamw.checkout() else f"{adamw.VARIABLE}, a checkout of tt-metal: tt-train is in no wheel"
    return [_case("AdamW of tt-train", name, adamw, one, needs=needs) for name, one in settings.items()]


def _sorts() -> list[Case]:
    s = sorting.Sorting
    first = {
        "32 of 256": s(),
        "64 of 256": s(k=64),
        "10 of 512, the smallest": s(k=10, columns=512, largest=False),
        "128 of 512, stable": s(k=128, columns=512, stable=True),
    }
    whole = {
        "64 columns": s(k=0, columns=64),
        "256 columns, descending": s(k=0),
        "512 columns, ascending": s(k=0, columns=512, largest=False),
    }
    found = [_case("top-k, one core a row", name, sorting, one) for name, one in first.items()]
    found.append(_case("top-k, one core a row", "64 of 256, chip numerics", sorting, s(k=64), numerics="chip"))
    found += [_case("sort, one core a row", name, sorting, one) for name, one in whole.items()]
    several = {
        "32 of 512, 4 cores and one more": s(rows=64, columns=512, cores=4),
        "64 of 1024, 8 cores and one more, the smallest": s(rows=64, k=64, columns=1024, cores=8, largest=False),
        "32 of 512, 2 cores and one more, stable": s(rows=64, columns=512, stable=True),
    }
    found += [_case("top-k, several cores a row", name, topk_cores, one) for name, one in several.items()]
    exchanged = {
        "256 columns, 4 cores": s(k=0, rows=64, cores=4, distinct=True),
        "1024 columns, 8 cores, ascending": s(k=0, rows=64, columns=1024, cores=8, largest=False, distinct=True),
    }
    found += [_case("sort, several cores a row", name, sort_cores, one) for name, one in exchanged.items()]
    found.append(_case("sort, one core a row", "256 columns, chip numerics", sorting, s(k=0), numerics="chip"))
    return found


def _embeddings() -> list[Case]:
    e = embedding.Embedding
    settings = {
        "rows": e(),
        "rows, padding": e(padded=True),
        "tilized": e(tilized=True),
        "tilized, padding": e(tilized=True, padded=True),
    }
    return [_case("embedding", name, embedding, one) for name, one in settings.items()]


def _rotary() -> list[Case]:
    r = rotary.Rotary
    settings = {
        "": r(),
        "32-bit DST": r(fp32_dest=True),
        "read again for every head": r(reload=True),
        "angles for every head": r(per_head=True),
        "3 rows of tiles on 2 cores, 2 of them with angles": r(rows=96, known_rows=64),
    }
    found = [_case("rotary embedding (Llama)", name or "interleaved", rotary, one) for name, one in settings.items()]
    found.append(_case("rotary embedding (Llama)", "chip numerics", rotary, r(), numerics="chip"))
    h = rotary_halves.Rotary
    halves = {
        "interleaved": h(),
        "32-bit DST": h(fp32_dest=True),
        "rows of 2 tiles": h(heads=4, rows=96, width=64),
    }
    found += [_case("rotary embedding (HF)", name, rotary_halves, one) for name, one in halves.items()]
    found.append(_case("rotary embedding (HF)", "chip numerics", rotary_halves, h(), numerics="chip"))
    return found


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


CASES = [
    *_attention(),
    *_decode(),
    *_norms(),
    *_group_norms(),
    *_group_norms_in_dram(),
    *_matmuls(),
    *_sparse_matmuls(),
    *_optimisers(),
    *_sorts(),
    *_embeddings(),
    *_rotary(),
]
