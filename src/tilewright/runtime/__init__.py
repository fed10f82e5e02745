"""From object code to something that can be called: loading, buffers, threads, kernels."""
