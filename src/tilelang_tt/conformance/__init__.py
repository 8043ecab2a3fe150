"""How much of a TileLang checkout compiles, runs and is right here: `tilelang-tt conformance`."""
