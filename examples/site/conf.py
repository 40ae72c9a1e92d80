project = "Rooflines that stay true"
extensions = ["symroof.sphinx", "myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath"]
root_doc = "contents"
exclude_patterns = ["_build", "site"]
