"""What is raised where a launch does not fit L1; later stages know what would."""

from __future__ import annotations

from typing import Any, Protocol

from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir.tile import TileProgram

Stages = tuple[int, int]  # num_stages that fits, and the bytes of L1 that a core then needs


class FewerStages(Protocol):
    def __call__(self, *, in_parts: bool) -> Stages | None: ...


class DoesNotFitError(ResourceError):
    """Too much for L1. `change_that_fits` puts a change that was tried into its help."""

    def __init__(
        self,
        *args: Any,
        program: TileProgram,
        largest: str,
        stages: Stages | None,
        fewer_stages: FewerStages,
        pipelined: bool,
        **more: Any,
    ) -> None:
        self.program, self.largest, self.pipelined = program, largest, pipelined
        self.stages, self._fewer_stages = stages, fewer_stages
        super().__init__(*args, **more)

    def any_stages(self) -> Stages | None:
        """With which it fits, perhaps with blocks in parts, which takes longer to find out."""
        return self.stages or (self._fewer_stages(in_parts=True) if self.pipelined else None)
