"""What stands around an implementation, in checks and in their scripts, which quote the source of these modules.

They are written to be read there, without the annotations that the rest of the kit has.
"""
