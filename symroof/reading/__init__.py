"""Text to values: exact, strict, with a caret under every fault. Nothing that is read is ever evaluated as code."""
