"""`kernel.report("r.html")`: everything there is to see of a kernel, as one page that needs nothing else."""
