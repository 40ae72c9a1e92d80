"""The second engine: every step and every solution decided again, by code that found none of them."""
