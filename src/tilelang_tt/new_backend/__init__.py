"""`tilelang-tt new-backend`: a minimal backend in a package of its own, which compiles a GEMM and runs it."""
