# %% [markdown] id="02-open"
# # The tax: moving, not thinking
#
# Attention freed language from the chart on the wall: every word may ask every other. Chapter 01 ended
# with the other side of it: **the more a model sees, the more it carries.**
#
# A model works in two ways. It **prefills**: the prompt lies there whole, and all its tokens go through
# the layers together. Then it **decodes**: the next token depends on the one before, so each has to go
# through alone. That is one *step*. A step does the arithmetic of one single token of a prefill: the same
# multiplications, the same additions, a few more for looking further back than most.
#
# How many times longer does the token of the step take? (Chapter 01 has told you half of it. What does
# its second surprise predict?)

# %% id="02-lesson"
import memlessons

memlessons.lesson("02")

# %% id="02-recall"
from memlessons.coursework import recall

recall("02", None)  # put your answer in place of None

# %% id="02-guess"
from memlessons.show import claim, predict, reveal, say, show, table

guess = predict("02", None, unit="times")  # put your number in place of None

# %% [markdown] id="02-measure-open"
# ## One token, two ways
#
# We read 256 tokens at once, and divide the time by 256. Beside it, one step: 255 tokens lie in the
# cache, the 256th comes. To be fair, the prefill makes its choice among all words of the vocabulary after
# *each* token, as the step does, although only the last choice would be needed.

# %% id="02-measure"
import torch
from memlessons.cost import decode_bound, prefill_bound
from memlessons.measure import interleaved, machine
from memlessons.model.load import load
from memlessons.places import pace

model = load("smollm2", kernels=False)  # as in chapter 00: with torch's own operations
c, rounds = model.config, 7 if pace() == "full" else 2
page = torch.randint(0, c.vocabulary, (1, 256), generator=torch.Generator().manual_seed(0))
state = model.decoder.new_state(capacity=256)
model.decoder.forward(page[:, :255], state)


def prefill():
    model.decoder.forward(page, model.decoder.new_state(capacity=256))


def decode():
    model.decoder.forward(page[:, 255:], state)
    state.truncate([255])  # the token is taken back: the next round finds what this one found


times = interleaved({"prefill": prefill, "decode": decode}, rounds=min(rounds, 3))
prefilled, decoded = times["prefill"].seconds / 256, times["decode"].seconds
table({"one token of the prefill": prefilled, "one decode step": decoded}, unit="seconds")

here = machine()
device = here.accelerator()
all_at_once = prefill_bound(model.plan, model.weights, 256, device, scored="all")
alone = decode_bound(model.plan, model.weights, 256, device)
arithmetic = alone.flops / (all_at_once.flops / 256)
reveal("02", decoded / prefilled)
claim(
    decoded > 3 * prefilled,
    then=f"**{arithmetic:.2f}** times the arithmetic (it looks back at 255 tokens, those of the prefill at "
    f"half as many on average), **{decoded / prefilled:.0f}** times the time. Big models, it is said, are "
    "slow because they compute so much. This token computed what the others did.",
    otherwise=f"{arithmetic:.2f} times the arithmetic takes {decoded / prefilled:.1f} times the time: here "
    "the two are near each other, because this machine computes slowly for the speed of its memory.",
)

# %% [markdown] id="02-dots-open"
# ## Four dots under two roofs
#
# Both ways carry all weights past the arithmetic once. The prefill does it for 256 tokens, the step for
# one. So give the step company: decode for several **readers** at once, each with a conversation of their
# own. Their next tokens go through the layers together, as one **batch**; each looks back into a cache of
# its own. We take eight readers, and thirty-two with shorter conversations.
#
# For the clock it does not matter what keys and values say. So we fill the caches with arbitrary numbers
# and save the prefill. FLOP and bytes are counted from the plan and the weights, as in chapter 00.


# %% id="02-dots"
def step_at(context, readers=1):
    """A function that makes one decode step for so many readers; the new token is number `context`."""
    state = model.decoder.new_state(readers, capacity=context)
    names = [f"{layer}.0.{part}" for layer in range(c.layers) for part in "kv"]
    arbitrary = {name: torch.rand(c.kv_heads, context - 1, c.head_width) for name in names}
    for row in range(readers):
        state.load(row, range(context - 1), arbitrary)
    tokens = page[0, :readers, None]

    def step():
        model.decoder.forward(tokens, state)
        state.truncate([context - 1] * readers)

    return step


batches = interleaved({"8": step_at(256, 8), "32": step_at(64, 32)}, rounds=min(rounds, 3))
some = decode_bound(model.plan, model.weights, [256] * 8, device)
many = decode_bound(model.plan, model.weights, [64] * 32, device)
works = {  # the bound, the measured seconds, the tokens made, the context
    "prefill": (all_at_once, times["prefill"].seconds, 256, 256),
    "decode, 1 reader": (alone, decoded, 1, 256),
    "decode, 8 readers": (some, batches["8"].seconds, 8, 256),
    "decode, 32 readers": (many, batches["32"].seconds, 32, 64),
}

# %% id="02-roofline"
from memlessons.show import roofline
from memlessons.units import bytes_text, seconds_text

show(
    roofline(
        here,
        {name: (work.intensity, work.flops / seconds) for name, (work, seconds, *_) in works.items()},
        title="Which roof is over a token?",
        id="fig-02-roofline",
    )
)
table(
    [
        {
            "work": name,
            "context": n,
            "FLOP per byte": f"{work.intensity:.1f}",
            "limit": work.limit,
            "least time": seconds_text(work.seconds),
            "measured": seconds_text(seconds),
            "measured, per token": seconds_text(seconds / tokens),
        }
        for name, (work, seconds, tokens, n) in works.items()
    ]
)
claim(
    all_at_once.limit == "compute" and alone.limit == "memory",
    then="So is memory the bottleneck? For the step of **one** reader it is: far left of the ridge, "
    "arithmetic is free, and only fewer bytes can make the limit lower. For the prefill it is not. And "
    "with each reader more, the step moves to the right: the same weights are carried past once for all "
    "of them.",
    otherwise="On this machine prefill and step do not lie on two sides of the ridge. The direction is "
    "the same everywhere: with each reader more, a step moves to the right, as the weights are carried "
    "past once for all of them.",
)

# %% [markdown] id="02-narrow-open"
# Look at the dot of eight readers, though: it hangs far below its roof. A bound is a floor, not a
# forecast. What keeps the step from it? Take the largest matrices of the model alone, all layers one
# after the other, and let one, eight, thirty-two and 256 tokens go through.

# %% id="02-narrow"
from memlessons.measure import timed
from memlessons.model.linear import Linear
from memlessons.units import flops_text, rate_text

matrices = [Linear(model.decoder.weights[f"layers.{i}.gate_up"]) for i in range(c.layers)]
numbers = sum(model.decoder.weights[f"layers.{i}.gate_up"].numel() for i in range(c.layers))
rows, rates = [], {}
for tokens in (1, 8, 32, 256):
    x = torch.rand(tokens, 1, c.hidden) if tokens < 256 else torch.rand(1, tokens, c.hidden)
    took = timed(lambda: [matrix(x) for matrix in matrices], repetitions=3).seconds
    rates[tokens] = 4 * numbers / took
    rows.append(
        {
            "tokens": tokens,
            "time": seconds_text(took),
            "weights read at": rate_text(rates[tokens]),
            "arithmetic at": flops_text(2 * numbers * tokens / took),
        }
    )
table(rows)
claim(
    rates[8] < 0.6 * rates[1],
    then=f"One token goes through at {rate_text(rates[1])}: there is a fast way to read a matrix once. For "
    "very many tokens there is a fast way to compute. Eight fall between the two ways, and get neither "
    f"({rate_text(rates[8])}). Nothing in the bytes says that this must be so; better kernels for few rows "
    "exist, and servers use them.",
    otherwise="In this run eight tokens read the matrices about as fast as one; what is missing to the "
    "roof is then lost elsewhere, most of it in the calls that look into each reader's cache.",
)

# %% [markdown] id="02-long-open"
# Does a big batch settle it, then? A reader brings work, but also a cache that serves nobody else. Count
# again, with longer conversations.

# %% id="02-long"
longer = {n: decode_bound(model.plan, model.weights, [n] * 32, device) for n in (64, 512, 4096)}
table(
    [
        {
            "32 readers, each with": f"{n:,} tokens",
            "FLOP per byte": f"{step.intensity:.1f}",
            "limit here": step.limit,
        }
        for n, step in longer.items()
    ]
)
claim(
    longer[64].limit == "compute" and longer[4096].limit == "memory",
    then="As many readers, and the limit is memory again. Their caches, which nobody shares, have taken "
    "the place of the weights, which all of them share.",
    otherwise="The limit of this machine is the same for all three; but each byte feeds less arithmetic "
    "the longer the conversations are.",
)

# %% [markdown] id="02-card-open"
# Is this a matter of one small model on one machine? Ask a data-centre card and a larger model,
# Llama-3.1-8B with its eight billion parameters in 16 bits ([Grattafiori et al. 2024](#Sources)), by
# their least times.

# %% id="02-card"
from memlessons.cost import get, ridge
from memlessons.plan import presets

card, big = get("H200 SXM"), presets.get("llama-3.1-8b")
ratio = (
    decode_bound(big.plan, big.weights, 256, card).seconds
    / prefill_bound(big.plan, big.weights, 256, card, scored="all").seconds
    * 256
)
say(
    f"An {card.name} has its ridge at **{ridge(card):.0f}** FLOP per byte (data sheet), this machine at "
    f"{here.ridge:.1f}. By least times, a step of Llama-3.1-8B takes **{ratio:.0f} times** as long there as "
    "one token of its prefill that makes a choice, too. (No coincidence: a 16-bit weight is two bytes and "
    "does two FLOP, so the gap is as wide as the ridge is far. At four bytes a "
    "weight, as in SmolLM2 here, it is twice that.)"
)

# %% [markdown] id="02-speaker"
# ## The speaker and the notes
#
# Picture a speaker who leafs through all notes before every single word: thick books, always the same,
# and one more page for each word said so far. Saying the word takes a moment, leafing takes the evening.
# A quicker tongue would change nothing. (Here the picture breaks: nobody leafs page by page. The notes
# are read in parallel, in one broad stream, and what counts is how many bytes of them arrive per second.)
#
# Which notes are they? Take one step apart, byte by byte.

# %% id="02-itemised"
stored = {}
for name, weight in model.decoder.weights.items():
    kind = name.split(".")[-1]
    stored[kind] = stored.get(kind, 0) + weight.numel() * weight.element_size()

row = c.hidden * model.decoder.weights["embed"].element_size()
items = {
    "the token's row of the embedding": row,
    "projections of attention (chapter 01)": stored["qkv"] + stored["out"],
    "feed-forward": stored["gate_up"] + stored["down"],
    "norms": stored["attn_norm"] + stored["ffn_norm"] + stored["final_norm"],
    "last choice, over the whole vocabulary": stored["embed"],
}
contexts = (256, c.context_tokens)
moved = {n: items | {"K and V of all tokens so far": model.plan.bytes_read(n)} for n in contexts}
for n in contexts:
    assert sum(moved[n].values()) - row == decode_bound(model.plan, model.weights, n, device).bytes_moved

rows = []
for item in moved[256]:
    line = {"one step of SmolLM2 reads": item}
    for n in contexts:
        size, total = moved[n][item], sum(moved[n].values())
        line |= {
            f"at {n:,} tokens": bytes_text(size),
            f"share at {n:,}": f"{size / total:.0%}" if size > total / 200 else "under 1 %",
        }
    rows.append(line)
table(rows)
say(
    f"At 256 tokens the heaviest item is **{max(moved[256], key=moved[256].get)}**; at "
    f"{c.context_tokens:,}, as many as the model was trained to read, it is "
    f"**{max(moved[c.context_tokens], key=moved[c.context_tokens].get)}**. All this is fetched to make "
    "*one* token, which as text has about four bytes. (In SmolLM2 one matrix serves twice: the table at the "
    "entrance is also the last choice.)"
)

# %% [markdown] id="02-fetched"
# Whatever a model knows, it must fetch before it can use it: look up one row, read what was learned,
# retrieve what was said, hold the new query against every key, put one more key and value away. How well
# it thinks is decided by its structure. Whether it answers in time is decided by how fast all this
# arrives.
#
# And mind the last row. The cache spares the model from *computing* old keys and values again. It does
# not spare it from *fetching* them again, at each step, all of them. That is the tax. More layers add
# weights and cache, more tokens add cache, another turn of the conversation adds tokens; and all of it
# shares one bandwidth.

# %% [markdown] id="02-readers-open"
# ## Readers
#
# SmolLM2 is small, and perhaps its cache is large only beside so little. So take Llama-3.1-8B again, with
# weights, K and V in 16 bits, at 4,096 tokens: a long conversation. A server has more than one reader.
# For how many of them, each with 4,096 tokens, do the caches together outweigh the weights?

# %% id="02-guess-b"
guess = predict("02b", None, unit="readers")  # put your number in place of None

# %% id="02-readers-share"
cache, weights = big.plan.bytes(4096), big.weights.stored_bytes
say(
    f"Weights: **{bytes_text(weights)}**. Cache of one reader at 4,096 tokens: **{bytes_text(cache)}**, "
    f"that is {cache / weights:.1%} of the weights: next to nothing."
)

# %% id="02-readers"
enough = -(-weights // cache)  # rounded up
reveal("02b", enough, how="counted")
rows = []
for readers in (1, 8, enough, 4 * enough):
    step = decode_bound(big.plan, big.weights, [4096] * readers, card)
    rows.append(
        {
            "readers": readers,
            "weights read, for each": bytes_text(step.bytes_moved / readers - cache),
            "cache read, for each": bytes_text(cache),
            "cache, of the step": f"{readers * cache / step.bytes_moved:.0%}",
            f"a step on an {card.name}, at least": seconds_text(step.seconds),
            "tokens/s of all, at most": f"{readers / step.seconds:,.0f}",
        }
    )
table(rows)
say(
    f"Among {4 * enough} readers, each one's part of the weights is {4 * enough} times smaller than for one "
    "alone. Each one's cache is what it was. **A batch thins the weights, never the cache.** (Of the "
    f"{bytes_text(weights)} that are stored a step reads {bytes_text(step.bytes_moved - readers * cache)}: "
    "of the table at the entrance it takes a row, and the last choice has a matrix of its own.)"
)

# %% [markdown] id="02-figure-open"
# Pope and others ([2022](#Sources)) make the same count for models of several hundred billion parameters,
# spread over many chips: the weights' share falls with the batch, that of the cache does not.
#
# ## One reader, longer and longer
#
# Now the other direction: one reader, and a text that grows. It is often said that 4,096 tokens are
# already considerable, and that at 100,000 or 200,000 the cache far exceeds the model. Let us see it for
# five models, SmolLM2 among them. In Llama-2-7B every query head has a memory of its own; in Llama-3.1-8B
# four query heads share one. DeepSeek-R1 keeps something smaller in place of K and V (chapter 05). In the
# first Mistral 7B no layer looks back further than 4,096 tokens (chapter 07).

# %% id="02-figure"
from memlessons.show import CacheSizer, tax_figure

show(tax_figure(["smollm2-135m", "llama-2-7b", "llama-3.1-8b", "deepseek-r1", "mistral-7b-v0.1"]))


def times_the_weights(name, context):
    known = presets.get(name)
    return known.plan.bytes_read(context) / known.weights.stored_bytes


def outweighed_at(name, readers):
    found = CacheSizer(name, batch=readers).answer  # the sizer is the knob further below
    if found.crossing is None:
        return "never"
    reached = found.crossing <= presets.get(name).longest_context
    return f"{found.crossing:,}" + ("" if reached else " (beyond)")


rows = []
for name in ("smollm2-135m", "llama-2-7b", "llama-3.1-8b", "deepseek-r1", "mistral-7b-v0.1"):
    reach = presets.get(name).longest_context
    line = {"model": name, "trained to read": f"{reach:,}"}
    for n in (4096, 100_000, 200_000):
        line[f"at {n:,}"] = f"{times_the_weights(name, n):.2g}" + (" (beyond)" if n > reach else "")
    rows.append(line | {"equal, 1 reader": outweighed_at(name, 1), "32 readers": outweighed_at(name, 32)})
table(
    rows,
    caption="One reader's K and V as a multiple of the weights, by context, and where both are equal; "
    "all in 16 bits, but for DeepSeek-R1's weights in 8",
)
at_most = {name: times_the_weights(name, 200_000) for name in ("llama-2-7b", "llama-3.1-8b", "deepseek-r1")}
windows = presets.get("mistral-7b-v0.1").plan.bytes(200_000)
say(
    f"At 200,000 tokens the sentence would be **true** for Llama-2-7B ({at_most['llama-2-7b']:.1f} times "
    f"the weights), if it could read so far; hardly so for Llama-3.1-8B ({at_most['llama-3.1-8b']:.1f} "
    f"times, and beyond its reach, too); **false** for DeepSeek-R1 ({at_most['deepseek-r1']:.2f} times). "
    f"For one reader of Mistral it **never** comes true: its windows are full at {bytes_text(windows)}. For "
    f"32 readers together it does, at {outweighed_at('mistral-7b-v0.1', 32)} tokens. (*Beyond*: further than "
    "the model was trained to read.)"
)

# %% [markdown] id="02-experts-open"
# "Weights" hides a question. DeepSeek-R1 is a *mixture of experts*: most of its feed-forward weights
# sleep while one token passes, and each token wakes a few. Does the cache have to outweigh what is
# stored, or what is read?

# %% id="02-experts"
r1 = presets.get("deepseek-r1")
found = CacheSizer("deepseek-r1").answer
say(
    f"It outweighs all {bytes_text(r1.weights.stored_bytes)} that are stored at "
    f"**{found.crossing:,}** tokens, and the {bytes_text(found.step.weight_bytes)} that one "
    f"reader's step reads at **{found.step_crossing:,}**: the dotted line of the figure. (One reader's: "
    "several wake more experts, so here a batch thins the weights less.) The first number says what fits on "
    "a machine, the second what makes a step slow."
)

# %% [markdown] id="02-own-open"
# One thing more about caches. How much arithmetic does a cache itself bring along with each of its bytes?

# %% id="02-own"
from memlessons.cost import attention_flops

own = {
    name: attention_flops(plan, 4096) / plan.bytes_read(4096)
    for name, plan in (("llama", big.plan), ("r1", presets.get("deepseek-r1").plan))
}
say(
    f"Not every cache is alike. Looking back, Llama-3.1-8B does {own['llama']:.0f} FLOP for each byte "
    f"of its cache, DeepSeek-R1 **{own['r1']:.0f}**, more than that ridge: what it keeps (chapter 05) makes "
    "looking back a matter of arithmetic. *Memory is the bottleneck* is a sentence about a design, a batch "
    "and a machine."
)

# %% [markdown] id="02-step-open"
# ## What does a longer text cost at each step?
#
# A cache does not only have to fit once. It is paid for again at every token, and every token makes the
# next one dearer. So much by counting. Now SmolLM2's own step on your machine, at growing contexts,
# beside the least time that its bytes allow.
#
# We draw a straight line through the measured medians, too. It has two numbers. Where it *starts*, at no
# context at all, is what the weights cost, and hundreds of calls. How *steep* it is, is what one token
# more in the cache costs at each later step.

# %% id="02-step"
from statistics import linear_regression
from memlessons.show import Curve, lines

contexts = [128, 1024, 2048, 4096] if pace() == "full" else [128, 1024]
timings = interleaved({str(n): step_at(n) for n in contexts}, rounds=2 * rounds + 1)
measured = [timings[str(n)] for n in contexts]
least = [decode_bound(model.plan, model.weights, n, device).seconds for n in contexts]
slope, start = linear_regression(contexts, [t.seconds for t in measured])

show(
    lines(
        {
            "measured": Curve(
                contexts,
                [t.seconds for t in measured],
                [t.low for t in measured],
                [t.high for t in measured],
            ),
            "least time, by bytes": Curve(contexts, least),
            "straight line through the measured": Curve(
                [0, contexts[-1]], [start, start + slope * contexts[-1]]
            ),
        },
        "What does one step of SmolLM2 take?",
        "context (tokens)",
        "time for one token",
        "Time of one decode step against context, with the spread of its repetitions as a band: the "
        "measured medians, a straight line through them that begins at no context, and below them the "
        "least time that the bytes allow.",
        id="fig-02-step",
    )
)
table(
    [
        {
            "context": f"{n:,}",
            "step, median": seconds_text(t.seconds),
            "middle half": f"{seconds_text(t.low)} to {seconds_text(t.high)}",
            "least time": seconds_text(bound),
            "least, of measured": f"{bound / t.seconds:.0%}",
        }
        for n, t, bound in zip(contexts, measured, least)
    ]
)

# %% id="02-slope"
by_bytes = model.plan.slope(contexts[-1]) / here.read_rate
carried = model.weights.stored_bytes / here.read_rate
table(
    [
        {
            "part": "start: weights and calls",
            "by bytes": seconds_text(carried),
            "measured": seconds_text(start),
        },
        {
            "part": "one token more in the cache",
            "by bytes": seconds_text(by_bytes),
            "measured": seconds_text(slope),
        },
    ]
)
claim(
    slope > 0 and start > 0,
    then=f"Each token of context makes each later step **{seconds_text(slope)}** longer. At "
    f"{contexts[-1]:,} tokens, K and V take {slope * contexts[-1] / (start + slope * contexts[-1]):.0%} of "
    "the step. That nothing is computed again does not make a longer text cheap.",
    otherwise="In this run the scatter of the steps hid what a longer cache costs. The bytes are moved "
    "all the same; run the cell again when the machine is quiet.",
)
if slope > 0 and start > 0:
    claim(
        slope < 1.5 * by_bytes,
        then="The steepness is near what the bytes say: K and V come about as fast as one long list of "
        "numbers.",
        otherwise=f"The bytes alone would allow {seconds_text(by_bytes)}: K and V come at "
        f"{by_bytes / slope:.0%} of the rate of one long list. They lie in {2 * c.layers * c.kv_heads} "
        "pieces, and each layer goes over them in several calls that were not written for it. Chapter 03 "
        "writes one that is.",
    )
    even_by_bytes = model.weights.stored_bytes / model.plan.slope(contexts[-1])
    claim(
        start / slope > contexts[0],
        then="Is it K and V that make decoding slow, then? **First it is the weights.** By bytes, K and V "
        f"catch up with them at {even_by_bytes:,.0f} tokens, past the {c.context_tokens:,} that SmolLM2 "
        "was trained to read. By this machine's clock, they catch up with all that stands at the start of "
        f"the line at about {start / slope:,.0f}.",
        otherwise=f"By bytes, K and V catch up with the weights at {even_by_bytes:,.0f} tokens; by this "
        f"machine's clock, already at about {start / slope:,.0f}.",
    )

# %% [markdown] id="02-rules-open"
# ## Where such numbers go wrong
#
# All of this hangs on one count: what does each layer keep? A model's `config.json` says so in a few of its
# fields, and each family of models spells them its own way. A sizer that does not know a spelling prints a
# number all the same. Ours decides by named rules, one for each spelling, and refuses where none applies. So
# we can take a rule away, do what a sizer does that never had it, and look.
#
# Gemma-3-27B has 62 layers. In 52 of them a token sees only the last 1,024 (chapter 07). How many times too
# large is its cache at 131,072 tokens, for a sizer that does not read the field `sliding_window`?

# %% id="02-guess-c"
guess = predict("02c", None, unit="times")  # put your number in place of None

# %% id="02-rules"
from collections import Counter
from memlessons.plan.engines import allocation
from memlessons.plan.huggingface import from_huggingface


def wrong_by(name, rule, context=131_072):
    """What a sizer without this rule would say of a model, as a multiple of what is kept."""
    config = presets.get(name).config
    blind = from_huggingface(config, without=frozenset([rule]))
    return blind.bytes(context) / from_huggingface(config).bytes(context)


unread = [
    ("falcon-7b", "kv_heads: multi_query", "all query heads share one memory"),
    ("deepseek-r1", "latent: kv_lora_rank", "a latent is kept, not 128 heads of hidden size / heads"),
    ("gemma-4-e4b", "sharing: num_kv_shared_layers", "the last layers read what earlier ones keep"),
    ("qwen3-32b", "width: head_dim", "a head is wider than hidden size / heads"),
]
factors = {name: wrong_by(name, rule) for name, rule, _ in unread}
gemma = presets.get("gemma-3-27b")
blind = allocation(gemma.config, engine="ideal", context_tokens=131_072, kv_dtype="bf16", windows=False)
factors["gemma-3-27b"] = blind.total / gemma.plan.bytes(131_072)
unread.insert(0, ("gemma-3-27b", "window: sliding_window", "most layers see only so far back"))
reveal("02c", factors["gemma-3-27b"], how="counted")
table(
    [
        {
            "model": name,
            "not known": rule,
            "what the field says": meaning,
            "off by": f"{factors[name]:.3g} times",
        }
        for name, rule, meaning in unread
    ],
    caption="A cache of 131,072 tokens for a sizer that does not read a field, as a multiple of the truth "
    "(Falcon and Qwen3 were trained to read less; their factor is the same at any length)",
)
say(
    f"Most unread fields waste money. One is dangerous: who buys {factors['qwen3-32b']:.3g} of what is "
    "needed has a card that is too small."
)

# %% [markdown] id="02-engines-open"
# And what is *kept* is not yet what is *reserved*. The three engines below round up in ways of their own.
# llama.cpp counts cells in 256s. vLLM holds, for a layer with a window, the window *and* the tokens of one
# piece of a prompt (8,192 unless told otherwise), in groups of layers of which the last is filled up. SGLang
# gives such layers eight slots for every ten tokens of the text, unless told otherwise. Here are four readers
# of 20,000 tokens each.

# %% id="02-engines"
from memlessons.plan.truths import check, named_rows
from memlessons.sizing import Question, answer, resolve

rows = []
for name in ("llama-3.1-8b", "gemma-3-27b", "gpt-oss-120b", "qwen3-next-80b"):
    found = answer(Question(resolve(name), context=20_000, batch=4))
    row = {"model": name, "kept": bytes_text(found.kv_bytes)}
    for engine in found.engines:
        row[f"{engine.engine} reserves"] = f"{engine.cluster_bytes / found.kv_bytes:.2f} times that"
    rows.append(row)
table(rows)
published = [check(row) for row in named_rows()]
assert all(one.ok for one in published)
measured = [one for one in published if one.row.evidence in ("engine_log", "measured_table")]
by_engine = Counter(one.row.engine for one in measured)
logs = ", ".join(f"{by_engine[name]} of them on {name}" for name in ("llama.cpp", "vllm", "sglang"))
say(
    f"Why believe any of it? Of {len(published)} published figures these rules reproduce "
    f"**{sum(one.ok for one in published)}**, each within its tolerance: {len(measured)} that somebody "
    f"measured ({logs}), the "
    "others counted by somebody. (One of those is a *wrong* count, which comes out when our windows are "
    "switched off.) Nobody has published the largest factors of this table. In a shell, "
    "`memlessons size gemma-3-27b --context 20000 --batch 4 --why` names each rule, its numbers and its "
    "source; `--log FILE` holds them against the log of your own engine, and `--check FILE` against figures "
    "of your own."
)

# %% [markdown] id="02-knob-open"
# **Turn the knob.** The sizer does all of the above for a model (one of ours, or a `config.json` that you
# paste or upload), a context, a number of sequences (readers), the formats of K and V (bf16 is one of 16
# bits), cards, and an engine. (Without a running kernel you see its table and picture for one state;
# `key_format="int8", card="H200 SXM"` in the call shows another.) Its times are an expectation: an engine
# whose kernels reach 60 to 90 % of what a card's memory allows. Your own steps above had no such kernels.
# Four things to find:
#
# 1. With one reader, at which context is half of what a step reads K and V? And with eight?
# 2. This state does not fit the RTX 4090. Does it with K and V in fp8? How much is then left for the engine?
# 3. From bf16 to fp8: how many per cent shorter is the least time of a step, for one reader? For a hundred?
# 4. Below "change it", add edits to the design until one sequence keeps twenty times fewer bytes, at 4,096
#    tokens and at 131,072. Does the same list do for both? (The coming chapters measure what edits cost in
#    quality.)

# %% id="02-knob"
CacheSizer("llama-3.1-8b", context=4096, batch=30, card="RTX 4090")

# %% id="02-knob-found"
from memlessons.show import folded


def turned(readers, kv="bf16"):
    """The sizer's answer for so many readers and a format, all else as above."""
    return CacheSizer(
        "llama-3.1-8b", context=4096, batch=readers, key_format=kv, value_format=kv, card="RTX 4090"
    ).answer


def shorter(readers):
    return 1 - turned(readers, "fp8").step.bound.seconds / turned(readers).step.bound.seconds


folded(
    "When you have looked",
    f"1. At {turned(1).step_crossing:,} tokens; with eight at {turned(8).step_crossing:,}.\n"
    f"2. {bytes_text(turned(30).needed_per_device)} become "
    f"{bytes_text(turned(30, 'fp8').needed_per_device)} of {bytes_text(turned(30).card_bytes)}: "
    "it fits, but an engine wants a gigabyte or two for itself.\n"
    f"3. {shorter(1):.0%} for one, whose step reads weights above all; {shorter(100):.0%} for a hundred.\n"
    "4. One memory for all heads and int4 do it at both lengths. A window gains most where the text is long, "
    "and nothing where it is no longer than the window.",
)

# %% [markdown] id="02-powers-open"
# ## Three powers
#
# A model that understands but does not remember is a goldfish. One that remembers but cannot move its
# memory comes too late. So a design has to answer for three powers, and from here on we measure each
# with one instrument: **understanding** as perplexity, **memory** as recall in context (the riddles of
# chapter 01: eight facts, one is asked for), now also with other text between the facts and the question,
# and **moving** as tokens per second.
#
# To see the goldfish, we ask the far riddles again, with a rule by which each token sees only so many
# tokens back that the facts are out of sight when the question comes.

# %% id="02-powers"
from memlessons.quality import ledger_tokens, perplexity, recall_rate

trials, between = (10, 128) if pace() == "full" else (3, 48)


def goldfish(layer, query, key):
    return (key <= query) & (query - key < between // 2)


quality = perplexity(model, ledger_tokens(model.tokenizer))
near, far = recall_rate(model, trials), recall_rate(model, trials, between)
blind = recall_rate(model, trials, between, goldfish)
too_big, small = (m.weights.stored_bytes / here.read_rate for m in (big, model))
table(
    [
        {"power": "understanding", "measured as": "perplexity", "SmolLM2 here": f"{quality.value:.1f}"},
        {
            "power": "memory",
            "measured as": "recall, the question follows at once",
            "SmolLM2 here": f"{near:.0%}",
        },
        {"power": "", "measured as": f"recall, {between} tokens between", "SmolLM2 here": f"{far:.0%}"},
        {
            "power": "",
            "measured as": f"the same, seeing {between // 2} tokens back",
            "SmolLM2 here": f"{blind:.0%}",
        },
        {
            "power": "moving",
            "measured as": "tokens per second, one reader at 256",
            "SmolLM2 here": f"{1 / decoded:.1f}",
        },
    ]
)
say(
    f"By chance recall would be {1 / 9:.0%}; with {trials} riddles a rate is typically off by "
    f"{100 * (0.25 / trials) ** 0.5:.0f} points: do not read much into a small difference."
)
claim(
    blind <= 2 / 9 and far - blind > 0.4,
    then="The facts are still found from afar as long as they are kept. Out of sight, they are gone.",
    otherwise="The rates are not far enough apart here to tell a goldfish from the rest; the riddles are "
    "few.",
)
say(
    f"And moving: Llama-3.1-8B has {big.weights.parameters / model.weights.parameters:.0f} times the "
    "parameters of SmolLM2. Whatever it understands with them, its weights alone, in 16 bits, would take "
    f"your machine's memory **{seconds_text(too_big)}** for each token, against {seconds_text(small)} for "
    "SmolLM2 in 32: at least, and however fast the arithmetic. *Can think* and *in time* are two questions."
)

# %% [markdown] id="02-ledger-open"
# ## The ledger
#
# One more line: the same plan as in chapter 00, with nothing forgotten, for **eight readers at once**. We
# measure the step at the length that your conversation ended with. Does anybody read worse for having
# company? Let eight different texts go through the model together, and one by one. (In the ledger, bytes
# and FLOP are those of one reader; tokens per second are those of all eight.)

# %% id="02-together"
texts = ledger_tokens(model.tokenizer)[:64].view(8, 8)
together = model.decoder.forward(texts, model.decoder.new_state(8, capacity=8))
one_by_one = torch.cat([model.decoder.read(text).logits[None] for text in texts])
apart = float((together - one_by_one).abs().max() / one_by_one.abs().max())
assert apart < 1e-4
say(
    "The same numbers for all eight, "
    f"{'bit for bit' if apart == 0 else f'up to {apart:.0e} of the largest'}: no token of one reader ever "
    "looks into the cache of another. So the quality is that of chapter 00."
)

# %% id="02-ledger"
from memlessons.bench.conversation import Conversation
from memlessons.measure import Value, provenance
from memlessons.places import work_folder
from memlessons.show.scoreboard import ledger, scoreboard

kept = work_folder() / "conversation.json"
context = Conversation.kept(kept).context_tokens if kept.exists() else 256
context = context if pace() == "full" else min(context, 128)
both = interleaved({"1": step_at(context), "8": step_at(context, 8)}, rounds=rounds)
one, eight = both["1"].seconds, both["8"].seconds
table(
    [
        {
            "readers": readers,
            "bytes read in a step": bytes_text(
                model.weights.stored_bytes + readers * model.plan.bytes_read(context)
            ),
            "a step": seconds_text(seconds),
            "tokens/s of all together": f"{readers / seconds:.1f}",
        }
        for readers, seconds in ((1, one), (8, eight))
    ]
)
claim(
    eight < 4 * one,
    then=f"Eight tokens for **{eight / one:.1f} times** the time of one. What it costs is memory, since "
    "eight caches have to lie ready; and each reader waits longer for a token than alone.",
    otherwise=f"Eight tokens take {eight / one:.1f} times as long as one: on this machine, company gains "
    "little.",
)

ledger.add(
    "eight readers at once",
    model.plan,
    {
        "context": context,
        "tokens_per_second": Value.of([8 / s for s in both["8"].samples], "tokens/s"),
        "perplexity": quality.value,
        "perplexity_spread": quality.spread,
        "provenance": provenance(),
    },
    chapter="02",
    weights=model.weights,
    corner="memory",
)
scoreboard()

# %% [markdown] id="02-exercises"
# ## Exercises
#
# Write your lines in place of the `...` and run the cell: it checks itself on inputs drawn anew, and says
# what it found. `hint("02.1")`, from `memlessons.coursework`, helps a little at a time.

# %% [markdown] id="02-ex1"
# **02.1 Bytes of a cache** (build). `config` is a model's `config.json` as a dict, with `num_hidden_layers`,
# `hidden_size`, `num_attention_heads`, and perhaps `num_key_value_heads` and `head_dim`: either may be absent
# or `None`. Each stored number of a key takes `bits_k` bits, of a value `bits_v`. Return how many bytes the
# caches of `batch` sequences of `context` tokens fill, an int. (Head widths are multiples of 8, so nothing
# needs rounding.) By hand: two layers, hidden size 32, four query heads and two KV heads; three sequences of
# 10 tokens, with 16 and 8 bits, fill 2,880 bytes.

# %% id="02-ex1-cell"
from memlessons.coursework import exercise


@exercise("02.1")
def kv_bytes(config, context, batch, bits_k, bits_v): ...


# %% [markdown] id="02-ex2"
# **02.2 The crossing** (decide). At which context does the cache weigh as much as the weights? `layers`
# has a pair `(bytes_per_token, window)` for each layer, the window in tokens or `None`; `constant` is
# bytes that a sequence holds whatever its length; `batch` sequences of the same length are held. Return
# the first context, in tokens, at which they hold at least `weight_bytes` together, or `None` if no
# context from 1 to `longest` will do. By hand: `crossing(100, [(3, 4), (2, None)], 6, 2, 50)` is 16; each
# of the two sequences then holds 50 bytes.

# %% id="02-ex2-cell"
from memlessons.coursework import exercise


@exercise("02.2")
def crossing(weight_bytes, layers, constant, batch, longest): ...


# %% [markdown] id="02-ex3"
# **02.3 Seconds of a step** (build). What is the least time of one decode step, which makes one token for
# each of `batch` sequences? The device stores `stored` bytes of weights, and the step touches `read` of
# them; each sequence has `kv` bytes of cache to be read and costs `flop_per_token` FLOP. `bandwidth` is
# bytes per second, `flop_rate` FLOP per second; fetching and computing overlap perfectly. Return seconds,
# a float. By hand: `decode_seconds(8_000, 2_000, 500, 4, 1_000, 600, 800)` is `4.0`.

# %% id="02-ex3-cell"
from memlessons.coursework import exercise


@exercise("02.3")
def decode_seconds(stored, read, kv, batch, bandwidth, flop_per_token, flop_rate): ...


# %% [markdown] id="02-ex4"
# **02.4 The batch that saturates** (decide). A decode step fetches `params` parameters of
# `bytes_per_param` bytes, and `kv_bytes` bytes of cache for each sequence, at `bandwidth` bytes per
# second. For each sequence every parameter costs two FLOP, at `flop_rate` FLOP per second (attention's
# own are left out). Return the smallest batch at which computing takes at least as long as fetching, an
# int, or `None` if there is none. By hand: `batch_to_saturate(10, 2, 2, 20, 5)` is 7. Seven sequences
# compute for `7 s` and fetch for `6.8 s`; six compute for `6 s` and fetch for `6.4 s`.

# %% id="02-ex4-cell"
from memlessons.coursework import exercise


@exercise("02.4")
def batch_to_saturate(params, bytes_per_param, kv_bytes, flop_rate, bandwidth): ...


# %% [markdown] id="02-left-out"
# ## What we left out
#
# What else a step moves: activations, logits, the one key and value that it writes. Readers of different
# lengths, who come and go, and prefills that run between the steps of others. Several devices, each with
# a part of the weights (chapter 04). Guessing a few tokens ahead and checking them in one step, which
# gives the step of a single reader some company after all ([Leviathan et al. 2022](#Sources)).
#
# And the way out. If the weights are thinned by company and the cache is not, then a token's K and V must
# become fewer bytes: in each head, in each number, in each layer, in each turn. That is the rest of the
# book.

# %% [markdown] id="02-sources"
# ## Sources
#
# - H. Touvron and others: Llama 2: Open Foundation and Fine-Tuned Chat Models. arXiv:2307.09288, 2023.
# - A. Grattafiori and others: The Llama 3 Herd of Models. arXiv:2407.21783, 2024.
# - A. Q. Jiang and others: Mistral 7B. arXiv:2310.06825, 2023.
# - DeepSeek-AI: DeepSeek-V3 Technical Report. arXiv:2412.19437, 2024.
# - DeepSeek-AI: DeepSeek-R1: Incentivizing Reasoning Capability in LLMs via Reinforcement Learning.
#   arXiv:2501.12948, 2025. It starts from DeepSeek-V3-Base, and has its shapes.
# - R. Pope and others: Efficiently Scaling Transformer Inference. arXiv:2211.05102, 2022.
# - Y. Leviathan, M. Kalman, Y. Matias: Fast Inference from Transformers via Speculative Decoding.
#   arXiv:2211.17192, 2022.
# - L. B. Allal and others: SmolLM2: When Smol Goes Big. arXiv:2502.02737, 2025.
# - Python's documentation, as shipped with Python (`pydoc_data.topics`), for the texts. The shapes of the
#   models, with their sources, are in `memlessons/plan/presets.json`, the published figures in
#   `memlessons/plan/truths`, the cards in `memlessons/cost`.
