"""What forgetting costs: perplexity, on text that every reader has."""

from memlessons.quality.perplexity import Perplexity, perplexity
from memlessons.quality.text import page_of

__all__ = ["Perplexity", "page_of", "perplexity"]
