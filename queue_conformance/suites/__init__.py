"""The checks, in the words of the specification: one package per family of kinds."""
