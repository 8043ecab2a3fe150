"""Find the fastest way to write and place a kernel, by the clock of the virtual device: no card is needed.

space     what may be chosen: arguments of the kernel, options of the target
measure   one choice, compiled and timed in a worker process
store     results on disk, so that a search goes on where it stopped
search    which choice is tried next, until the time is over
check     the winner computes what the kernel as written computes
page      the table and the picture
"""

from tilelang_tt.tuning.tune import Tuned, tune

__all__ = ["Tuned", "tune"]
