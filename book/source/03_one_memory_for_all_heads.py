# %% [markdown] id="03-open"
# # One memory for all heads: from MHA to MQA
#
# In chapter 01 the model had nine query heads, but only three sets of keys and values: three heads read
# the same memory. Go all the way. Take a layer with thirty-two query heads, each with keys and values of
# its own (*multi-head attention*, MHA), and let all thirty-two share **one** set (*multi-query
# attention*, MQA, [Shazeer 2019](#Sources)). The memory is now thirty-two times smaller.
#
# Chapter 02 said that a decode step is a matter of bytes. So write the usual three lines: repeat the one
# memory for each head, and attend as before. How many times faster is a step?

# %% id="03-lesson"
import memlessons

memlessons.lesson("03")

# %% id="03-recall"
from memlessons.coursework import recall

recall("03", None)  # put your answer in place of None, if you like

# %% id="03-guess"
from memlessons.show import claim, predict, reveal, say, show, table

guess = predict("03", None, unit="times")  # put your number in place of None

# %% [markdown] id="03-three-open"
# ## Three lines
#
# One new token, thirty-two heads of 128 numbers, as in many models of seven or eight thousand million
# parameters; one layer's memory of a long text. `attend` gives each head a memory of its own. (It needs
# no mask: the newest token may see all.) The second function does what most first implementations do: it
# makes each head its copy.

# %% id="03-three-lines"
import torch
from memlessons.measure import interleaved
from memlessons.places import pace
from memlessons.units import bytes_text, rate_text, seconds_text

HEADS, WIDTH = 32, 128
TOKENS = 8192 if pace() == "full" else 1024
numbers = torch.Generator().manual_seed(0)
q = torch.randn(HEADS, WIDTH, generator=numbers)  # one query a head
own_k, own_v = torch.randn(2, HEADS, TOKENS, WIDTH, generator=numbers)  # MHA: a memory a head
one_k, one_v = own_k[:1], own_v[:1]  # MQA: one for all


def attend(q, k, v):
    """Each head over its own memory: q [heads, D], k and v [heads, T, D]; returns [heads, D]."""
    shares = torch.softmax(q[:, None] @ k.mT / WIDTH**0.5, dim=-1)  # [heads, 1, T]
    return (shares @ v)[:, 0]


def attend_expanded(q, k, v):
    """All heads over one memory, k and v [1, T, D]: each gets its copy, then as before."""
    k = k.repeat_interleave(len(q), dim=0)
    v = v.repeat_interleave(len(q), dim=0)
    return attend(q, k, v)


times = interleaved(
    {
        "a memory for each head": lambda: attend(q, own_k, own_v),
        "one memory, expanded": lambda: attend_expanded(q, one_k, one_v),
    },
    rounds=5,
)
table({name: t.seconds for name, t in times.items()}, unit="seconds")
ratio = times["a memory for each head"].seconds / times["one memory, expanded"].seconds
reveal("03", ratio)
claim(
    ratio < 0.8,
    then=f"Thirty-two times less to remember, and the step takes **{1 / ratio:.1f} times as long**.",
    otherwise=f"Thirty-two times less to remember, and the step is {ratio:.2f} times as fast: nothing like "
    "thirty-two.",
)

# %% [markdown] id="03-why-open"
# ## Stored is not moved
#
# What is *stored* shrank. What is *moved* did not: to make the copies, the memory is read once, written
# once for each head, and then read again once for each head. Count the bytes of keys and values that pass
# between the memory and the cores, and draw them to scale.

# %% id="03-bytes"
from memlessons.show import bars_to_scale


def moved_by(heads, memories, tokens, width, element_bytes=4):
    """Keys and values moved by one step: each head its own, one memory read once, one memory expanded."""
    one = 2 * tokens * width * element_bytes  # keys and values of one memory
    return {
        "a memory for each head": [("read", heads * one)],
        f"{memories} shared, read once": [("read", memories * one)],
        f"{memories} shared, expanded": [
            ("read", memories * one),
            ("write copies", heads * one),
            ("read copies", heads * one),
        ],
    }


moved = moved_by(HEADS, 1, TOKENS, WIDTH)
show(
    bars_to_scale(
        moved,
        "What does one step move?",
        f"Keys and values moved by one decode step of one layer with {HEADS} heads at {TOKENS:,} tokens.",
        id="fig-03",
    )
)
expanded, own = (sum(b for _, b in moved[row]) for row in ("1 shared, expanded", "a memory for each head"))
say(
    f"The copies make the step move **{expanded / own:.1f} times** what separate memories would: the short "
    "bar in the middle is the one we wanted, and nobody has drawn it yet."
)

# %% [markdown] id="03-knob-open"
# **Turn the knob.** Change the numbers, and run the cell again. Can you find a case in which the expanded
# bar is *not* the longest? If not, say why: write all three in units of one memory. And between which two
# values does the ratio of the third bar to the first lie?

# %% id="03-knob"
heads, memories, tokens, width = 32, 4, 8192, 128  # change these; memories divide heads

show(
    bars_to_scale(
        moved_by(heads, memories, tokens, width),
        f"{heads} heads, {memories} memories, {tokens:,} tokens",
        "Keys and values moved by one decode step of one layer.",
    )
)

# %% [markdown] id="03-office"
# Think of an office in which everybody carries the whole archive to every meeting. One archive in the
# middle of the table would do. But photocopying it for everybody first is more work than letting them
# carry their own. (Here the picture breaks: in a trained model the archives were never the same. What one
# head has noted is not what its neighbour has.)
#
# So nobody may copy. All heads must use a piece of the memory *while it lies on the table*. For one
# shared memory that is a single line: the heads are the rows of one matrix.


# %% id="03-rows"
def attend_shared(q, k, v):
    """All heads over one memory, k and v [1, T, D], read as it lies: the heads are rows of a matrix."""
    shares = torch.softmax(q @ k[0].T / WIDTH**0.5, dim=-1)  # [heads, T]
    return shares @ v[0]


assert torch.allclose(attend_shared(q, one_k, one_v), attend_expanded(q, one_k, one_v), atol=1e-5)
times |= interleaved({"one memory, read as it lies": lambda: attend_shared(q, one_k, one_v)}, rounds=5)
flop = 4 * HEADS * TOKENS * WIDTH  # a multiply-add for each number of K, and of V, for each head
ways = dict(
    zip(
        ("a memory for each head", "one memory, read as it lies", "one memory, expanded"),
        moved.values(),
    )
)
rows = []
for way, parts in ways.items():
    total, took = sum(b for _, b in parts), times[way].seconds
    rows.append(
        {
            "way": way,
            "arithmetic": f"{flop / 1e6:,.0f} M FLOP",
            "moved": bytes_text(total),
            "time": seconds_text(took),
            "rate": rate_text(total / took),
        }
    )
table(rows)
gain = times["a memory for each head"].seconds / times["one memory, read as it lies"].seconds
claim(
    gain > 1.2,
    then=f"The arithmetic did not change at all: sharing is not *computing less*. Only the bytes did, and "
    f"now the step is **{gain:.1f} times** as fast as with separate memories. (Look at the last column, "
    "too: none of the three reads as fast as this machine can. The second sitting looks into that.)",
    otherwise="The arithmetic did not change at all: sharing is not *computing less*. On this machine the "
    f"step is {gain:.1f} times as fast: here arithmetic is the limit, with few bytes as with many.",
)

# %% [markdown] id="03-price-open"
# ## Why not share always?
#
# SmolLM2 was trained with three memories a layer. What happens if we replace them by their average, in
# every layer? Averaging is the kindest way to merge them without
# training again ([Ainslie et al. 2023](#Sources) start from it, and then train on).
#
# Two halves can be merged: the keys, by which a head finds things, and the values, which it finds.
# First the model as it is. Then: what will its perplexity be when **both** are averaged?

# %% id="03-whole"
from memlessons.model.load import load
from memlessons.quality import ledger_tokens, perplexity, pool_heads

model = load("smollm2", kernels=False)
page = ledger_tokens(model.tokenizer)
score = {"three memories, as trained": perplexity(model, page)}
say(f"As trained, the model is undecided between **{score['three memories, as trained'].value:.1f}** tokens.")

# %% id="03-guess-b"
guess = predict("03b", None, unit="perplexity")  # put your number in place of None

# %% id="03-pool"
shared = pool_heads(model, 1)
score["keys averaged"] = perplexity(pool_heads(model, 1, values=False), page)
score["values averaged"] = perplexity(pool_heads(model, 1, keys=False), page)
score["both averaged: one memory"] = perplexity(shared, page)
whole, keys_only, values_only, both = (p.value for p in score.values())
table({name: p.value for name, p in score.items()}, unit="perplexity", beside=whole)
reveal("03b", both)
claim(
    both > 20 * whole,
    then=f"From {whole:.0f} to **{both:,.0f}**. There are {model.config.vocabulary:,} tokens to choose from: "
    "this is no language model any more.",
    otherwise=f"From {whole:.1f} to {both:.1f}: on this text the heads could be merged more cheaply than "
    "most models allow.",
)
claim(
    keys_only < values_only,
    then="Merging the keys did less harm than merging the values: the heads can sooner find by a common "
    "index than live on common contents. But neither is bearable.",
    otherwise="On this text the keys alone did no less harm than the values alone.",
)

# %% [markdown] id="03-learned"
# The heads do not agree, because nothing ever made them. So sharing is not found in a model, it is
# *learned*: a model that is trained with one memory from the first step makes one that serves all its
# heads. Such models exist. Gemma 3 270M has four query heads in each layer, and one memory for all four
# ([Gemma Team 2025](#Sources)). (Its layers also look at different distances; that is chapter 07.) What
# sharing costs a model that was *trained* with it is smaller, and chapter 04 measures it.

# %% id="03-gemma"
from memlessons.plan import presets

gemma = presets.get("gemma-3-270m")
separate = gemma.plan.with_kv_heads(4)
say(f"```\n{gemma.plan.explain(8192)}\n```")
say(
    f"With a memory for each of its four heads it would hold {bytes_text(separate.bytes(8192))} at the same "
    f"length, **{separate.bytes(8192) / gemma.plan.bytes(8192):.0f} times** as much."
)

# %% [markdown] id="03-ledger-open"
# A row for the ledger, so that nobody falls for the bytes alone: SmolLM2 with one memory, not trained
# again. The conversation of chapter 00, held once more. (It is the slowest cell of this page.)

# %% id="03-ledger"
from memlessons.bench.conversation import converse
from memlessons.measure import Value
from memlessons.show.scoreboard import ledger, scoreboard

chat = converse(shared, reply_tokens=4)  # four tokens of each reply say enough
print(f"{chat.turns[-1].question}\n    {chat.turns[-1].reply}")
record = chat.record(
    perplexity=Value.of(both, "perplexity"),
    perplexity_spread=Value.of(score["both averaged: one memory"].spread, "perplexity"),
)
ledger.add(
    "one memory a layer, not trained",
    shared.plan,
    record,
    chapter="03",
    weights=shared.weights,
    corner="quality",
)
scoreboard()

# %% [markdown] id="03-stop"
# ---
# **You can stop here.** You know why sharing pays only if nobody copies, and why it must be learned. The
# second sitting writes the kernel that does not copy.
#
# ---

# %% [markdown] id="03-kernel-open"
# ## A kernel, from a loop
#
# A matrix product with the heads as rows is not the end. It writes down a score for each head and token,
# reads them back for softmax, writes the shares, reads them again. And it is one long piece of work: a
# machine with a hundred cores would leave most of them idle. We want one pass over the memory, in pieces
# that can be worked on side by side. This is how every fast decode kernel is built, and you can build it
# in six steps, each a small change to the step before.
#
# Our tensors are now real ones: a layer of SmolLM2 reading a sentence, the three query heads that share
# its first memory, and the newest token.

# %% id="03-real"
from memlessons.kernels import decode

layer = 12
text = "A kernel that reads each byte once has nothing left to wait for but the memory itself. " * 5
tokens = torch.tensor(model.tokenizer.encode(text))[:100]
states = model.decoder.read(tokens).states[layer]
queries, keys, values = model.decoder.project(layer, states)  # heads first
group = model.config.query_heads // model.config.kv_heads
Q, K, V = (t.contiguous() for t in (queries[:group, -1], keys[0], values[0]))  # [3, 64], 2 x [100, 64]
SCALE = model.config.head_width**-0.5

lengths = torch.tensor([len(K)], dtype=torch.int32)
truth = decode(Q[None], K[None, None], V[None, None], lengths, backend="reference")[0]


def check(answer):
    error = float((answer - truth).norm() / truth.norm())
    assert error < 1e-5, error
    say(f"The same as the float64 reference, up to {error:.0e}.")


# %% [markdown] id="03-loop-open"
# **1. The loop.** Attention as chapter 01 has it, for one head after the other, one token after the
# other: all scores first, then softmax, then the mixture.


# %% id="03-loop"
def attend_loop(Q, K, V):
    out = torch.zeros(len(Q), V.shape[1])
    for g in range(len(Q)):
        x = torch.stack([Q[g] @ K[n] * SCALE for n in range(len(K))])  # all scores must exist ...
        p = torch.exp(x - x.max())  # ... before the first share is known
        for n in range(len(K)):
            out[g] += p[n] / p.sum() * V[n]
    return out


check(attend_loop(Q, K, V))

# %% [markdown] id="03-tiles-open"
# **2. Tiles.** A memory is carried in boxes, not number by number. Take `TILE` tokens at a time, and let
# *all* heads of the group use a tile while it is here: this is the sharing. The scores of a tile are one
# small matrix.
#
# But softmax stands in the way: it wants the largest score and the sum of all, before the first value may
# be mixed. So this version goes over the keys, keeps all scores, and only then goes over the values.

# %% id="03-tiles"
TILE = 16


def tiles_of(first, last):
    return [range(n, min(n + TILE, last)) for n in range(first, last, TILE)]


def attend_tiles(Q, K, V):
    x = torch.cat([Q @ K[list(tile)].T * SCALE for tile in tiles_of(0, len(K))], dim=1)  # [heads, T], kept
    p = torch.exp(x - x.max(dim=1, keepdim=True).values)
    out = sum(p[:, list(tile)] @ V[list(tile)] for tile in tiles_of(0, len(K)))
    return out / p.sum(dim=1, keepdim=True)


check(attend_tiles(Q, K, V))

# %% [markdown] id="03-online-open"
# **3. Online softmax.** One pass is enough ([Milakov and Gimelshein 2018](#Sources)). Go tile by tile,
# and keep three things for each head: the largest score so far, $m$; the sum of $e^{x - m}$ so far, $l$;
# and the sum of $e^{x - m} v$ so far, `acc`. When a tile brings a larger score, everything that was added
# up before was measured against the wrong maximum. That is one factor, $e^{m_\text{old} - m_\text{new}}$,
# and it corrects both sums.
#
# At the end, `acc / l` is the answer. We also return $\text{lse} = m + \log l$, the *log-sum-exp*: the
# logarithm of the sum of all $e^x$, in one number that cannot overflow. You will see in a moment what
# for.


# %% id="03-online"
def attend_range(Q, K, V, first, last):
    """One pass over tokens first ... last - 1: the answer over these alone, and its log-sum-exp."""
    m = torch.full((len(Q),), float("-inf"))
    l = torch.zeros(len(Q))
    acc = torch.zeros(len(Q), V.shape[1])
    for tile in tiles_of(first, last):
        x = Q @ K[list(tile)].T * SCALE  # [heads, tile]: the only scores that ever exist
        m_new = torch.maximum(m, x.max(dim=1).values)
        correction = torch.exp(m - m_new)
        p = torch.exp(x - m_new[:, None])
        l = l * correction + p.sum(dim=1)
        acc = acc * correction[:, None] + p @ V[list(tile)]
        m = m_new
    return acc / l[:, None], m + torch.log(l)


answer, lse = attend_range(Q, K, V, 0, len(K))
check(answer)
assert torch.allclose(lse, torch.logsumexp(Q @ K.T * SCALE, dim=1), atol=1e-5)

# %% [markdown] id="03-merge-open"
# **4. Merge.** Now suppose that two people have each read half of the text, and each brings an answer and
# its lse. Can they find the answer over the whole, without reading again? The lse says how much was found
# in each half: the halves weigh $e^{\text{lse}_a}$ and $e^{\text{lse}_b}$.


# %% id="03-merge"
def merge_two(o_a, lse_a, o_b, lse_b):
    m = torch.maximum(lse_a, lse_b)  # again: only differences are exponentiated
    a, b = torch.exp(lse_a - m), torch.exp(lse_b - m)
    o = (a[:, None] * o_a + b[:, None] * o_b) / (a + b)[:, None]
    return o, m + torch.log(a + b)


half = 37  # any place will do
both_halves, _ = merge_two(*attend_range(Q, K, V, 0, half), *attend_range(Q, K, V, half, len(K)))
check(both_halves)

# %% [markdown] id="03-splits-open"
# **5. Splits.** That is what we need to work side by side. Cut the past into $S$ parts, give each to a
# core of its own, and merge. With one memory for all heads and one conversation there is *nothing else*
# to share out: without splits a single core would do all the work ([Dao et al. 2023](#Sources)). (A part
# without a single token would be `0 / 0` in our `attend_range`. A real kernel has to mind that.)


# %% id="03-splits"
def attend_split(Q, K, V, splits):
    tiles = -(-len(K) // TILE)
    edges = [min(tiles * s // splits * TILE, len(K)) for s in range(splits + 1)]
    parts = [attend_range(Q, K, V, first, last) for first, last in zip(edges, edges[1:])]  # side by side
    o, lse = parts[0]
    for part in parts[1:]:
        o, lse = merge_two(o, lse, *part)
    return o


check(attend_split(Q, K, V, splits=3))

# %% [markdown] id="03-triton-open"
# **6. Triton.** Everything so far ran in Python, and showed only that the algebra is right. To be fast,
# the loop over tiles must run on the chip, next to the tile. Triton is a language for that: Python in its
# looks, compiled for a GPU ([Tillet et al. 2019](#Sources)). If you have never seen it, read [appendix
# A](A_triton_in_thirty_minutes.ipynb) first; it takes half an hour.
#
# The kernel below is `attend_range`, line by line: the same names, the same order. Three things are new.
# Each *program* is one split, and finds its tiles from its number, `tl.program_id(0)`, and from how many
# there are. A chip loads tiles of fixed size, so the last one reaches beyond the text: the places that
# are not held are *masked*, in the scores with minus infinity, and in the values with zero. (Both are
# needed: whatever lies there may be NaN, and zero times NaN is NaN.) And a matrix unit wants at least
# sixteen rows, so we give it sixteen: three heads, and thirteen rows of zeros, which cost such a unit
# nothing. (On a machine without a GPU it runs in Triton's *interpreter*: right, but in slow motion.)

# %% id="03-kernel"
# needs Triton
import triton
import triton.language as tl


@triton.jit
def split_attention(q, k, v, part, part_lse, T, scale, H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr):
    s, S = tl.program_id(0), tl.num_programs(0)  # which split, of how many
    heads, d = tl.arange(0, H), tl.arange(0, D)
    Q = tl.load(q + heads[:, None] * D + d[None, :])
    m = tl.full([H], float("-inf"), tl.float32)
    l = tl.zeros([H], tl.float32)
    acc = tl.zeros([H, D], tl.float32)
    tiles = tl.cdiv(T, TILE)
    for tile in range(tiles * s // S, tiles * (s + 1) // S):
        n = tile * TILE + tl.arange(0, TILE)
        held = n < T
        K = tl.load(k + n[None, :] * D + d[:, None], mask=held[None, :], other=0.0)  # [D, TILE]
        x = tl.dot(Q, K, input_precision="ieee") * scale
        x = tl.where(held[None, :], x, float("-inf"))
        m_new = tl.maximum(m, tl.max(x, axis=1))
        correction = tl.exp(m - m_new)
        p = tl.exp(x - m_new[:, None])
        l = l * correction + tl.sum(p, axis=1)
        V = tl.load(v + n[:, None] * D + d[None, :], mask=held[:, None], other=0.0)  # [TILE, D]
        acc = acc * correction[:, None] + tl.dot(p, V, input_precision="ieee")
        m = m_new
    tl.store(part + (s * H + heads)[:, None] * D + d[None, :], acc / l[:, None])
    tl.store(part_lse + s * H + heads, m + tl.log(l))


S, H, D = 3, 16, model.config.head_width
device = "cuda" if torch.cuda.is_available() else "cpu"
padded = torch.nn.functional.pad(Q, (0, 0, 0, H - group)).to(device)
# The slots behind the text hold NaN, as memory that nobody has written to may.
k_memory, v_memory = (torch.cat((t, torch.full((28, D), float("nan")))).to(device) for t in (K, V))
part, part_lse = torch.empty(S, H, D, device=device), torch.empty(S, H, device=device)
split_attention[(S,)](padded, k_memory, v_memory, part, part_lse, len(K), SCALE, H, D, 16)

o, lse = part[0], part_lse[0]
for s in range(1, S):
    o, lse = merge_two(o, lse, part[s], part_lse[s])
check(o[:group].cpu())

# %% [markdown] id="03-package-open"
# ## The package's kernel
#
# The package has the same kernel, for any number of heads and sequences, with the last step, the merge,
# as a second kernel. It has it three times under one call, `decode`: as a reference in float64, in
# Triton, and as a *twin* for the CPU, compiled by Numba ([Lam et al. 2015](#Sources)). Here is the Triton
# kernel, unabridged, and before it the function in which all Triton kernels of this book do step 3. (They
# count in powers of two instead of $e$, which chips are faster at.)
#
# Most of the kernel's head is strides and options, and it reads forms of memory that come in later
# chapters: windows, a latent without V, eight bits, pages. Pass over what stands behind `if WINDOW`, `if
# DR`, `if QUANT` and `PAGES`; look for `m`, `l` and `acc`, and you will find your own lines.

# %% id="03-package"
from memlessons.show import show_source

here = decode(Q[None], K[None, None], V[None, None], lengths)[0]  # Triton on a GPU, the twin on a CPU
check(here)
show_source("memlessons.kernels.tiles.renew")
show_source("memlessons.kernels.split.split_kernel")

# %% [markdown] id="03-empty-open"
# Three things in it are worth a second look. A row of length zero must give zeros, not `0 / 0`. A split
# with nothing to read still writes that it found nothing: the merge would otherwise read what an earlier
# call left there. And offsets are 64 bits wide, since memories pass two thousand million numbers. Each of
# these has been a bug in a kernel that people used; exercise 03.3 lets you hunt six.
#
# ## Measure it here
#
# Now the race of the opening again, with a kernel that reads each byte once. Beside it torch's matrix
# products, with the heads as rows; and a loop that reads the same bytes and does nothing with them: what
# must read them can hardly be faster.

# %% id="03-race"
q, own_k, own_v = (t.to(device) for t in (q, own_k, own_v))  # before the clock starts
long_row = torch.tensor([TOKENS], dtype=torch.int32, device=device)
memories = (32, 8, 1) if pace() == "full" else (32, 1)


def kernel(n):
    return lambda: decode(q[None], own_k[None, :n], own_v[None, :n], long_row)


def products(n):
    """torch's own: the heads that share a memory are the rows of one matrix."""
    queries = q.view(n, HEADS // n, WIDTH)
    return lambda: torch.softmax(queries @ own_k[:n].mT / WIDTH**0.5, dim=-1) @ own_v[:n]


def only_read(n):
    return lambda: (own_k[:n].sum(), own_v[:n].sum())


contestants = {"kernel": kernel, "products": products, "read": only_read}
runs = {f"{what} {n}": run(n) for n in memories for what, run in contestants.items()}
race = {name: t.seconds for name, t in interleaved(runs, rounds=7, device=device).items()}
rows = []
for n in memories:
    moved_bytes, took, reading = 8 * n * TOKENS * WIDTH, race[f"kernel {n}"], race[f"read {n}"]
    rows.append(
        {
            "memories": n,
            "moved": bytes_text(moved_bytes),
            "torch's products": seconds_text(race[f"products {n}"]),
            "our kernel": seconds_text(took),
            "rate": rate_text(moved_bytes / took),
            "only reading": seconds_text(reading),
            "share of that speed": f"{reading / took:.0%}",
        }
    )
table(rows)
many, few = (race[f"read {n}"] / race[f"kernel {n}"] for n in (32, 1))
wins = [n for n in memories if race[f"kernel {n}"] < race[f"products {n}"]]
say(
    f"From thirty-two memories to one, the kernel's step is **{race['kernel 32'] / race['kernel 1']:.1f} "
    f"times** as fast. With the three lines of the opening it was {ratio:.2g} times."
)
claim(
    32 in wins,
    then=f"With a memory for each head it takes {race['kernel 32'] / race['products 32']:.0%} of the time "
    "of torch's products: one pass, and no scores written down. "
    + (
        "It is ahead with one memory, too."
        if 1 in wins
        else "With one memory torch's product is as fast or faster here: it is tuned for arithmetic, and "
        "arithmetic is what is left when the bytes are few."
    ),
    otherwise="In this run torch's products were no slower than our kernel, even with a memory for each "
    "head. If your machine was busy, run the cell again.",
)
claim(
    few < 0.6 * many,
    then=f"With a memory for each head the kernel runs at {many:.0%} of the speed of bare reading: it waits "
    f"for bytes. With one memory it runs at {few:.0%}: each number is now used by thirty-two heads, and this "
    "device is busy computing. That is the ridge of chapter 00, met from the other side. Past it, fewer "
    "bytes buy room, not time.",
    otherwise=f"With a memory for each head the kernel runs at {many:.0%} of the speed of bare reading, "
    f"with one memory at {few:.0%}: in this run arithmetic is not what holds it up.",
)

# %% [markdown] id="03-record-open"
# One run on one machine is an anecdote. Here are recorded runs of the same race, each with its device and
# its date (`python -m memlessons.bench kernels --out DIR` makes one on yours).

# %% id="03-record"
from memlessons.show.records import kernel_rows

table(kernel_rows())

# %% [markdown] id="03-model-open"
# ## Into the model
#
# Until here SmolLM2 ran on torch's own operations. Now we let it use what we have built. `decoder.kernels`
# hands each new token to `decode`, where a kernel is the faster way. On a GPU, a step is also captured, and
# from then on started as one (a *CUDA graph*). On a CPU, everything of a layer but its attention goes
# through two compiled calls in place of two dozen: in a small model, starting an operation often takes
# longer than the operation. Does it pay? Here is one step at a short and at a long context.

# %% id="03-model"
from memlessons.cost import decode_bound
from memlessons.measure import machine
from memlessons.model.captured import CapturedStep

model.decoder.kernels = True


def step_at(context, kernels):
    """One decode step behind `context` tokens, whose keys and values are arbitrary."""
    c, state = model.config, model.decoder.new_state(capacity=context + 1)
    names = [f"{layer}.0.{part}" for layer in range(c.layers) for part in "kv"]
    state.load(0, range(context), {n: torch.rand(c.kv_heads, context, c.head_width) for n in names})
    captured = CapturedStep(model.decoder, state) if kernels and model.decoder.device.type == "cuda" else None

    def step():
        model.decoder.kernels = kernels
        if captured:
            captured(torch.tensor([5]))
        else:
            model.decoder.forward(torch.tensor([[5]]), state)
        state.truncate([context])

    return step


ways = {"torch's operations": False, "our kernels": True}
contexts = (128, 4096) if pace() == "full" else (128, 1024)
runs = {f"{way} {n}": step_at(n, kernels) for way, kernels in ways.items() for n in contexts}
steps = {name: t.seconds for name, t in interleaved(runs, rounds=5 if pace() == "full" else 3).items()}
rows = []
for n in contexts:
    row = {"context": f"{n:,}"} | {way: seconds_text(steps[f"{way} {n}"]) for way in ways}
    row["least time, by bytes"] = seconds_text(
        decode_bound(model.plan, model.weights, n, machine().accelerator()).seconds
    )
    rows.append(row)
table(rows)
short, long = (steps[f"torch's operations {n}"] / steps[f"our kernels {n}"] for n in contexts)
before, after = (steps[f"{way} {contexts[1]}"] - steps[f"{way} {contexts[0]}"] for way in ways)
claim(
    long > 1.05,
    then=f"At {contexts[1]:,} tokens a step takes {1 / long:.0%} of its former time, at {contexts[0]} "
    f"{1 / short:.0%}. What was "
    "never in the bytes is what got less: calls, and scores written down. The weights are still read, all of "
    "them, for each token; chapter 06 makes them fewer bytes.",
    otherwise=f"In this run our kernels took {1 / long:.0%} of the time at {contexts[1]:,} tokens, and "
    f"{1 / short:.0%} at {contexts[0]}: what a step waits for here, the weights, they read no faster.",
)
claim(
    0 < after < 0.9 * before,
    then=f"What the {contexts[1] - contexts[0]:,} tokens between the two cost at each step became "
    f"{before / after:.1f} times less, by reading each key and value once.",
    otherwise="What the tokens between the two contexts cost did not get less by a clear amount in this run.",
)

# %% [markdown] id="03-exercises"
# ## Exercises
#
# Write your lines in place of the `...` and run the cell: it checks them. `hint("03.1")` helps a little
# more each time you ask; `solution("03.1")` shows one way to do it.

# %% [markdown] id="03-ex1"
# **03.1 Softmax in one pass** (build). The scores of one query come in chunks, and you may go through
# them once: a chunk is gone as soon as you take the next one, so keep sums, not chunks. `score_chunks[i]`
# is a float64 tensor `[n]`, `value_chunks[i]` holds its values, `[n, D]`; loop over both side by side, as
# over lists. A chunk may be empty, a score may be hundreds above zero or below, or `-inf`: a position
# that is hidden. Return `(out, lse)`: the average of all values weighted by exp(score), `[D]`, and the
# natural logarithm of the sum of exp(score); zeros and `-inf` where there is nothing to see. By hand:
# scores `[0, 0]` and `[log 4, log 2]`, with values `[4]`, `[4]` and `[8]`, `[0]`, give `[5]` and `log 8`.

# %% id="03-ex1-cell"
import torch
from memlessons.coursework import exercise


@exercise("03.1")
def online_softmax(score_chunks, value_chunks): ...


# %% [markdown] id="03-ex2"
# **03.2 Merge** (build). H heads have attended to a text in two parts, a and b. `o_a` `[H, D]` is their
# output over part a, `lse_a` `[H]` the natural logarithm of its sum of exp(score); `o_b` and `lse_b` are
# the same of part b. Return `(o, lse)` as if the text had been read in one. A part without tokens is
# zeros and `-inf`. By hand, with one head: outputs `[8, 0]` and `[0, 4]`, whose `lse` are `log 3` and
# `0`, merge to `[6, 1]` and `log 4`.

# %% id="03-ex2-cell"
import torch
from memlessons.coursework import exercise


@exercise("03.2")
def merge(o_a, lse_a, o_b, lse_b): ...


# %% [markdown] id="03-ex3"
# **03.3 Break six kernels** (break). Here you write the test, not the kernel. A decode kernel takes `q`
# `[B, HQ, D]`, caches `k` and `v` `[B, HKV, T, D]`, and `lengths`: for each of B sequences, how many of
# its T slots are in use. A right one lets neighbouring query heads share a memory (HQ is a multiple of
# HKV), scales scores by `D ** -0.5`, never minds what unused slots hold, and answers zeros for a length
# of 0. Six others read the cache in tiles of a size that you are not told, 32 slots at most, and have one
# fault each:
#
# - `heads interleaved`: query heads are dealt out to the memories in turn;
# - `tail dropped`: only full tiles are read;
# - `tail read`: all of the last tile is attended to;
# - `weight 0`: the values of unused slots in the last tile are multiplied by 0;
# - `empty row`: it divides by the sum of weights, whatever that is;
# - `no maximum`: it exponentiates the scores as they are, in float32, which overflows at a score of
#   about `88`.
#
# Return a list of one or two inputs `(q, k, v, lengths)`, of at most 100,000 numbers each, that together
# expose all six, whatever the tile size: for each, some output is off by more than a thousandth, or not
# finite. (If one score wins everything, nobody misses the others.) To begin with, take random `q`
# `[2, 4, 16]`, `k` and `v` `[2, 4, 64, 16]`, and lengths `[64, 64]`: it exposes none.

# %% id="03-ex3-cell"
import torch
from memlessons.coursework import exercise


@exercise("03.3")
def breaking_inputs(): ...


# %% [markdown] id="03-ex4"
# **03.4 Bytes moved** (decide). How many bytes of keys and values does one decode step of one layer move?
# Each of `batch` sequences stores `tokens` keys and as many values in each of `kv_heads` memories,
# `width` numbers of `element_bytes` bytes each. If `expanded` is false, a kernel serves all query heads
# that share a memory from one reading of it. If it is true, the usual lines run: they first make a copy
# in which each of `q_heads` query heads has a memory of its own, and attend to that. Bytes read and bytes
# written both count. By hand: `bytes_moved(1, 4, 1, 10, 2, 2, False)` is 80.

# %% id="03-ex4-cell"
from memlessons.coursework import exercise


@exercise("03.4")
def bytes_moved(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded): ...


# %% [markdown] id="03-left-out"
# ## What we left out
#
# Prefill: with many queries at once, each byte is used so often that sharing hardly matters for time
# (chapter 02). Training a model that shares, and how many memories it should have: chapter 04. Sharing
# between *layers* instead of heads: chapter 08. Memory in pages instead of one piece: chapter 09, where
# the same kernel follows a table. And the last third of a kernel's speed, which is made of details of one
# chip: how many tiles are under way at once, and who fetches them. `python -m memlessons.kernels report`
# shows what the package's kernel asks of eight chips, compiled on your machine, without having one.

# %% [markdown] id="03-sources"
# ## Sources
#
# - N. Shazeer: Fast Transformer Decoding: One Write-Head is All You Need. arXiv:1911.02150, 2019.
# - J. Ainslie and others: GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
#   Checkpoints. arXiv:2305.13245, 2023.
# - Gemma Team: Gemma 3 Technical Report. arXiv:2503.19786, 2025; the shapes of the 270M model are those of
#   its published tensors.
# - M. Milakov, N. Gimelshein: Online normalizer calculation for softmax. arXiv:1805.02867, 2018.
# - T. Dao and others: FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness.
#   arXiv:2205.14135, 2022.
# - T. Dao, D. Haziza, F. Massa, G. Sizov: Flash-Decoding for long-context inference. 2023:
#   <https://crfm.stanford.edu/2023/10/12/flashdecoding.html>
# - P. Tillet, H. T. Kung, D. Cox: Triton: an intermediate language and compiler for tiled neural network
#   computations. MAPL 2019.
# - S. K. Lam, A. Pitrou, S. Seibert: Numba: a LLVM-based Python JIT compiler. LLVM-HPC 2015.
