"""What is counted: element types, tensors, operations and their costs, chips, meshes, and the problem that joins them."""
