"""What engines say of their own memory, in a log or on a server, and what `transformers` holds."""
