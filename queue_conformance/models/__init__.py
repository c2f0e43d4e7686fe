"""The models: what a right implementation would do. Plain Python over item numbers, no input or output.

Where the specification leaves a choice, a model allows every permitted outcome.
"""
