"""What a compiled kernel is to its caller: a JITKernel that checks arguments and runs on a device."""
