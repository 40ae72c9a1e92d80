"""From a problem to a chain of steps, each with its reason and its proof."""
