"""How much of the weights a pass reads: all of a dense model, of a mixture the experts that are woken."""

from dataclasses import dataclass

from memlessons.cost.errors import amount
from memlessons.plan import Weights


@dataclass(frozen=True, slots=True)
class WeightsRead:
    """Bytes of weights that one pass over some tokens reads, each counted once for all of them.

    Of a dense model all three are the same. Of a mixture `least` is where all tokens choose the same
    experts, `even` the mean if each chooses by chance, `most` where no two choose the same while others are
    left.
    """

    least: int
    even: int
    most: int


def weights_read(weights: Weights, tokens: int) -> WeightsRead:
    """What one pass over `tokens` tokens reads of the weights; tables that are only looked up left out.

    With a share s of the experts for each token, n tokens wake 1 - (1 - s)^n of them on average. Where the
    share is not known, `even` and `most` count a token's active bytes once for each token, which is too much.
    """
    amount("tokens", tokens)
    if not tokens:
        return WeightsRead(0, 0, 0)
    stored = weights.stored_bytes - weights.lookup_bytes
    one = min(stored, max(1, weights.active_bytes - weights.lookup_bytes))
    share = weights.expert_share
    if share is None or share == 1:
        each = min(stored, one * tokens)
        return WeightsRead(one, each, each)
    experts = min(float(stored), (stored - one) / (1 - share))
    always = stored - experts
    even, most = (always + experts * woken for woken in (1 - (1 - share) ** tokens, min(1.0, share * tokens)))
    return WeightsRead(one, round(even), round(most))


def weight_bytes_read(weights: Weights, tokens: int) -> int:
    """Bytes of weights that a pass over `tokens` tokens reads: all of a dense model, `even` of a mixture."""
    return weights_read(weights, tokens).even
