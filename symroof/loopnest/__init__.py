"""Programs as kernels of loop nests over affine accesses. To be read in this order: nests (the idea, and the types), size_polynomials,
images (sets of places), costs (what is counted), adjoint_rules, gradient_places, gradients and recomputation (the backward pass)."""
