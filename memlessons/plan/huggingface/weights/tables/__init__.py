"""Facts about classes of models, one line a type."""
