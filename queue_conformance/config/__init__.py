"""What the user asked for: values, options, targets, the project, and from all of them the options of one run."""
