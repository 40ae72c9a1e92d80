"""Programs as kernels of loop nests over affine accesses: nests are the types, costs the counts, gradients the backward pass."""
