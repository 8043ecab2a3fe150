from dataclasses import replace

from tilelang_tt.ir.code import *
from tilelang_tt.ir.fields import rewritten


def run_threads_in_turn(program):
    def change(s):
        if isinstance(s, Threads):
            return rewritten(s.body, change)
        if isinstance(s, Barrier):
            return ()
        return None

    ls = []
    for l in program.launches:
        code = l.body[0]
        ls.append(replace(l, body=(replace(code, body=rewritten(code.body, change)),)))
    return replace(program, launches=tuple(ls))
