"""What limits the numbers of an answer, one sentence each, without its capital letter and full stop."""

from memlessons.cost import weights_read
from memlessons.plan import Weights
from memlessons.sizing.question import Question
from memlessons.units import bytes_text

RESERVE_NOTE = "engines keep a part of the card for themselves (activations, graphs): plan for less"
_UNSURE = {
    "recalled": "the figures of this card are from memory: check them before you buy",
    "partly cited": "some figures of this card are from memory: check them before you buy",
}


def notes(question: Question, fits: bool | None) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers of this question; `fits` is whether it does."""
    too_small = (
        ["the times are those of a card of this speed with room for all of it"] if fits is False else []
    )
    return (*_of_model(question), *too_small, *_of_card(question))


def _of_model(question: Question) -> list[str]:
    model, found = question.model, []
    if model.longest_context is not None and question.context > model.longest_context:
        found.append(
            f"{model.name} was made to read {model.longest_context:,} tokens; {question.context:,} are more"
        )
    if model.weights is None:
        why = model.weightless or "no rule knows this architecture's"
        found.append(f"weights: not computed, {why}; give --weights 4.9GB or --params 8B")
    elif model.weights.active_parameters < model.weights.parameters:
        found.append(_experts(question, model.weights))
    if model.kv_dtype is not None and model.kv_dtype != question.kv_dtype:
        found.append(
            f"the checkpoint asks engines to keep K and V in {model.kv_dtype}: --kv {model.kv_dtype}"
        )
    stores = [store for layer in question.plan.layers for store in layer.stores]
    latent = bool(stores) and all(store.role == "latent" for store in stores)
    if latent and "/" in question.kv_dtype:
        found.append("this model keeps one latent for K and V: its format is that of K, V's changes nothing")
    if latent and question.tp > 1:
        found.append(f"a latent is not divided: each of the {question.tp} devices keeps all of it")
    heads = min((store.kv_heads for store in stores if store.role == "self"), default=0)
    if question.draft and not any(layer.draft for layer in question.plan.layers):
        found.append("no draft head is described: nothing was counted for one")
    if question.engine != "ideal":
        found.append("the times read what is kept, not what the engine reserves")
    if 0 < heads < question.tp:
        found.append(f"{heads} key and value heads on {question.tp} devices: heads are repeated")
    return found


def _experts(question: Question, weights: Weights) -> str:
    read = weights_read(weights, question.batch)
    counted = f"a step of {question.batch:,} reads {bytes_text(read.even)} of the weights"
    if read.least == read.most:
        return f"a mixture of experts: {counted}, those that its token chooses"
    if weights.expert_share is None:
        return f"a mixture of experts: {counted} at most; how many experts a token takes is not known"
    between = f"{bytes_text(read.least)} if all choose the same, {bytes_text(read.most)} at most"
    return f"a mixture of experts: {counted} if tokens choose evenly ({between})"


def _of_card(question: Question) -> list[str]:
    card = question.card
    found: list[str] = []
    if card is None:
        return found
    if card.matmul_flops is None:
        found.append("the arithmetic of this card is not known: the times are those of its bandwidth alone")
    if card.visible_bytes is None and question.visible_bytes is None:
        found.append(
            f"the {card.name} is counted as sold, {bytes_text(card.memory_bytes)}; what a program sees of it "
            "is mostly some percent more or less"
        )
    if question.tp > 1:
        found.append("what devices send each other is not counted in the times")
    if card.confidence in _UNSURE:
        found.append(_UNSURE[card.confidence])
    if not question.reserve_bytes:
        found.append(RESERVE_NOTE)
    return found
