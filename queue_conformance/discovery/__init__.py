"""Everything about an implementation that must be known before its checks can be chosen.

A discovery loads the class, tells its kind, uses it once and probes what it offers, in a process of its own: importing a
module can hang or end the interpreter too.
"""
