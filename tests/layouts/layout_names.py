"""Layouts by name, as TT.layout says them, for matrices of 4 x 4 and 4 x 2 tiles."""

from __future__ import annotations

from typing import Any

LAYOUTS: dict[str, dict[str, Any]] = {
    "DRAM": {"memory": "DRAM"},
    "L1": {"memory": "L1"},
    "rows": {"pages": "row"},
    "rows in L1": {"memory": "L1", "pages": "row"},
    "16x32": {"tile": (16, 32)},
    "32x16": {"tile": (32, 16)},
    "16x32 by height": {"tile": (16, 32), "memory": "L1", "shard": "height", "grid": (4, 1)},
    "32x16 in blocks": {"tile": (32, 16), "memory": "L1", "shard": "block", "grid": (2, 2)},
    "16x32 in boxes": {"tile": (16, 32), "memory": "L1", "shard": (48, 64), "grid": (3, 1)},
    "32x16 by width in DRAM": {"tile": (32, 16), "memory": "DRAM", "shard": "width", "grid": (4, 1)},
    "height": {"memory": "L1", "shard": "height", "grid": (4, 1)},
    "height over several rectangles": {"memory": "L1", "shard": "height", "cores": "1x2+5+3,2x1+1+2"},
    "height, uneven": {"memory": "L1", "shard": "height", "grid": (3, 1)},
    "width": {"memory": "L1", "shard": "width", "grid": "1x2+3+2"},
    "width, uneven": {"memory": "L1", "shard": "width", "grid": (3, 1)},
    "block": {"memory": "L1", "shard": "block", "grid": (2, 2)},
    "block by columns": {"memory": "L1", "shard": "block", "grid": "2x4+1+1", "order": "column"},
    "block, more cores than tiles": {"memory": "L1", "shard": "block", "grid": (6, 6)},
    "boxes": {"memory": "L1", "shard": (32, 64), "grid": (4, 2)},
    "boxes, several on a core": {"memory": "L1", "shard": (32, 32), "grid": (3, 1)},
    "boxes, uneven, by columns": {"memory": "L1", "shard": (96, 64), "cores": ["2x2", "1x1+4+4"], "order": "column"},
    "boxes on all cores": {"memory": "L1", "shard": (64, 32)},
    "height in DRAM": {"memory": "DRAM", "shard": "height", "grid": (4, 1)},
    "boxes in DRAM": {"memory": "DRAM", "shard": (64, 32), "cores": "3x1+1+0"},
}

# None: as it is inferred. "match": where the result lies, if that is sharded in L1 and the kernel allows it.
POLICIES: dict[str, dict[str, Any] | None] = {
    "inferred": None,
    "contiguous": {"policy": "contiguous"},
    "strided": {"policy": "strided", "cores": "2x2+1+1"},
    "rectangle": {"policy": "rectangle", "order": "z"},
    "column": {"order": "column", "cores": "3x1"},
}
