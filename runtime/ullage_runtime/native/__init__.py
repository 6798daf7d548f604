"""Loading by libraries: a kernel for each runner on CUDA devices, one library for all on CPUs."""
