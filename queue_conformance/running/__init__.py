"""How an implementation is tested: what must be known of it first, then its checks, each in a process of its own."""
