"""Where the time of a kernel goes: lanes and what they wait for, the critical path, what would help, traces."""
