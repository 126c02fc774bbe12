"""What forgetting costs: perplexity and recall, on text that every reader has."""

from memlessons.quality.convert import CannotPool, pool_heads
from memlessons.quality.perplexity import Perplexity, perplexity
from memlessons.quality.recall import Riddle, recall_rate, riddle
from memlessons.quality.text import ledger_tokens, page_of

__all__ = [
    "CannotPool", "Perplexity", "Riddle", "ledger_tokens", "page_of", "perplexity", "pool_heads",
    "recall_rate", "riddle",
]  # fmt: skip
