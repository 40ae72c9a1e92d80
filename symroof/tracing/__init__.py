"""Functions of JAX as programs: traced with numbers, written with names."""
