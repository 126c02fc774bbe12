"""What forgetting costs: perplexity, on text that every reader has."""

from memlessons.quality.convert import CannotPool, pool_heads
from memlessons.quality.perplexity import Perplexity, perplexity
from memlessons.quality.text import ledger_tokens, page_of

__all__ = ["CannotPool", "Perplexity", "ledger_tokens", "page_of", "perplexity", "pool_heads"]
