"""What the kit uses of libraries that they do not promise: one module per library, each tested on every release.

Nothing outside of this folder uses what is private in another library. What breaks with the next release breaks here, and one
test of ``tests/test_compat.py`` says so.
"""
