def verify_kernels(kernels): pass
