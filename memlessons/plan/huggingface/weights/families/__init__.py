"""Families of models whose layers the facts of a shape do not describe: each adds up its own parts."""
