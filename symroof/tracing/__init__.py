"""Functions of JAX and modules of PyTorch as programs."""
