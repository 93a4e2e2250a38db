"""Boot of a node: which steps a role has, and running them."""
