"""A claim against a derivation: verdict, right value, and the mistake that explains a wrong one."""
