"""Loading on a CUDA device: a generated kernel for each runner, built once and kept."""
