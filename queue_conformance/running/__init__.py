"""How a check is run, in a process of its own or with others, and what is made of how that ends."""
