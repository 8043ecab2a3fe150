"""One file for each word that may follow `tilelang-tt`.

A file has HELP, a line; NEEDS_TILELANG; `add_arguments(parser)`; and `run(arguments)`, which returns the exit status.
Its docstring is the description that `tilelang-tt WORD --help` shows. What is heavy is imported by `run`: every one of
these files is imported for `tilelang-tt --help`, which has to answer at once.
"""
