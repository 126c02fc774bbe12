# %% [markdown] id="00-open"
# # Start here: your machine is a memory system
#
# Here are two pieces of work. One adds up sixty-four million numbers. The other multiplies two matrices
# of 1,024 rows and columns, which takes a thousand million multiplications, each followed by an addition:
# **thirty-two times the arithmetic**.
#
# On the machine you are sitting at, how many times longer will the matrices take?
#
# Choose a number before you go on. You will do this in every chapter, and nobody grades it: a surprise is
# only worth something to somebody who expected otherwise.

# %% id="00-lesson"
import memlessons

memlessons.lesson("00")

# %% id="00-guess"
from memlessons.show import predict, reveal, say, claim, table, show

guess = predict("00", None, unit="times")  # put your number in place of None

# %% id="00-two-works"
from memlessons.measure import adding, multiplying
from memlessons.units import seconds_text

numbers, matrices = adding(64 * 2**20), multiplying(1024)
adds, multiplies = numbers.timed(), matrices.timed()

table(
    {"add 64 million numbers": adds.seconds, "multiply two 1,024 matrices": multiplies.seconds},
    unit="seconds",
)
times = multiplies.seconds / adds.seconds
reveal("00", times)
claim(
    times < 16,
    then=f"Thirty-two times the arithmetic, and **{times:.1f}** times the time. So most of the time that "
    "the sum took did not go into adding. Where did it go?",
    otherwise=f"Here the matrices take **{times:.1f}** times as long, near what the arithmetic says: this "
    "machine multiplies slowly for the speed of its memory. Read on; its balance is the subject of this "
    "chapter.",
)

# %% [markdown] id="00-screw"
# ## The screw in the warehouse
#
# A screw is turned in a second. But if every screw lies in a warehouse across the yard, your day is spent
# carrying boxes, and a faster screwdriver changes nothing. The sum fetched each number from the warehouse
# and used it once. The matrices fetched each number too, but then used it a thousand times. (Here the
# picture breaks: you walk to the warehouse alone; hardware sends a thousand carriers at once, and what
# counts is how many boxes *arrive* per second, not how long one walk takes.)
#
# So a machine has two speeds, not one. Let us measure both: how many bytes arrive per second, and how
# many floating-point operations (FLOP: an addition or a multiplication each) it does per second.

# %% id="00-machine"
from memlessons.measure import machine
from memlessons.units import bytes_text, flops_text, rate_text

here = machine()
say(
    f"This is **{here.name}**. It reads **{rate_text(here.read_rate)}** from its memory and multiplies at "
    f"**{flops_text(here.matmul_rate)}**. While one float32 number arrives (four bytes), it could have done "
    f"**{4 * here.ridge:.0f}** FLOP."
)

# %% [markdown] id="00-bound-open"
# ## The least time a piece of work can take
#
# Fetching and computing go on at the same time: while one number is being multiplied, the next is already
# on its way. So the work cannot end before the bytes have arrived, and not before the arithmetic is done:
# the *later* of the two decides. Written down, with the units behind it:
#
# $$\text{seconds} \ge \max\left(\frac{\text{FLOP}}{\text{FLOP per second}},
# \ \frac{\text{bytes}}{\text{bytes per second}}\right)$$


# %% id="00-bound"
def bound(flops, bytes_moved, flop_rate, bandwidth):
    computing, moving = flops / flop_rate, bytes_moved / bandwidth
    return (computing, "compute") if computing >= moving else (moving, "memory")


rows = []
for work, measured in ((numbers, adds), (matrices, multiplies)):
    least, limit = bound(work.flops, work.bytes_moved, here.matmul_rate, here.read_rate)
    rows.append(
        {
            "work": work.what,
            "FLOP": f"{work.flops:.1e}",
            "bytes": bytes_text(work.bytes_moved),
            "least time": seconds_text(least),
            "limit": limit,
            "measured": seconds_text(measured.seconds),
        }
    )
table(rows)
leasts = [bound(w.flops, w.bytes_moved, here.matmul_rate, here.read_rate)[0] for w in (numbers, matrices)]
claim(
    adds.seconds >= leasts[0] and multiplies.seconds >= leasts[1],
    then="Neither ends before its least time.",
    otherwise="One measured time is below its least time. The rule is not broken: the machine's rates "
    "were measured too, at another moment, and moments differ.",
)

# %% [markdown] id="00-package-bound"
# That function is worth having for good, so the package has it. From now on we take it from there; but
# first we make sure that it is the same.

# %% id="00-same-bound"
from memlessons.cost import time_bound

device = here.accelerator()  # the same rates, in the form in which the package knows other devices, too
for work in (numbers, matrices):
    ours = bound(work.flops, work.bytes_moved, device.matmul_flops, device.bandwidth)
    theirs = time_bound(work.flops, work.bytes_moved, device)
    assert ours == (theirs.seconds, theirs.limit)
say("Same seconds, same limit, for both.")

# %% [markdown] id="00-roof-open"
# ## Two roofs
#
# Divide the FLOP of a piece of work by the bytes it must move, and you have its *intensity*: how much it
# gets out of each byte. Draw what a machine can reach at each intensity, and you get two roofs: a slanted
# one, where bytes are the limit, and a flat one, where arithmetic is. They meet at the **ridge**. This
# picture is called a roofline ([Williams, Waterman, Patterson 2009](#Sources)).

# %% id="00-roofline"
from memlessons.show import roofline

show(
    roofline(
        here,
        {
            "add": (numbers.flops / numbers.bytes_moved, numbers.flops / adds.seconds),
            "multiply": (matrices.flops / matrices.bytes_moved, matrices.flops / multiplies.seconds),
        },
    )
)
say(
    f"The ridge of this machine is at **{here.ridge:.1f} FLOP per byte**. Adding gets "
    f"{numbers.flops / numbers.bytes_moved:.2f} out of a byte, multiplying matrices "
    f"{matrices.flops / matrices.bytes_moved:.0f}. Left of the ridge, arithmetic is free: you have already "
    "paid for it by waiting."
)

# %% [markdown] id="00-knob-roof"
# **Turn the knob.** Each row below does twice the arithmetic of the row before, on the same bytes. Change
# the two numbers and run the cell again. Start left of the ridge, and watch the time not move. When does
# it begin to?

# %% id="00-knob"
flop, moved = 2.0e9, 1.0e9  # change these

rows = []
for factor in (1, 2, 4, 8, 16):
    least = time_bound(factor * flop, moved, device)
    rows.append(
        {
            "FLOP": f"{least.flops:.1e}",
            "bytes": f"{moved:.1e}",
            "least time": seconds_text(least.seconds),
            "limit": least.limit,
        }
    )
table(rows)

# %% [markdown] id="00-stairs-open"
# ## Not one speed but a staircase
#
# "The speed of memory" is not one number either. Between the arithmetic and the warehouse stand shelves:
# caches, small and near. If the bytes you go over again and again fit on a shelf, they need not be
# carried across the yard. Let us read blocks of growing size, each many times over, and see how fast the
# bytes come. (One core reads here; the rate above was that of all of them.)

# %% id="00-stairs"
from memlessons.show import staircase

show(staircase(here))
rates = [rate for _, rate in here.staircase]
nearest, farthest = sum(rates[:3]) / 3, sum(rates[-3:]) / 3
claim(
    nearest > 2 * farthest,
    then=f"The three smallest blocks come **{nearest / farthest:.0f} times** as fast as the three largest. "
    "A program that stays on a tread gets that tread's speed.",
    otherwise="On this machine near and far memory are about equally fast for one core.",
)

# %% [markdown] id="00-tiers-open"
# That is the plan of the whole book, seen in silicon: **what is used often must be near, what is near
# must be small, and everything else had better be carried rarely.** A language model has the same tiers,
# only longer. It reads and writes *tokens*, pieces of text, often a word each, in a stack of *layers*. So
# there is what it needs for this very token; what it needs of the last few hundred; what its layers
# could share instead of each keeping their own; and what stays the same from one turn of a
# conversation to the next.

# %% id="00-tiers"
from memlessons.show import tiers_picture

show(tiers_picture())

# %% [markdown] id="00-call-open"
# ## A call costs something even when it does nothing
#
# One more number before we meet the model. Asking for work has a price of its own, paid once per call,
# however little there is to do. For large work it hardly counts; for small work it is everything, and it
# has fooled many a benchmark.

# %% id="00-call"
from memlessons.measure import adding

rows = []
for count in (2**8, 2**12, 2**16, 2**20, 2**24):
    seconds = adding(count).timed(seconds=0.1).seconds
    rows.append(
        {"numbers": f"{count:,}", "time": seconds_text(seconds), "rate": rate_text(4 * count / seconds)}
    )
table(rows)
say(
    f"A call that does next to nothing takes **{seconds_text(here.call_seconds)}** here. In that time "
    f"{bytes_text(here.call_seconds * here.read_rate)} could have arrived from memory. The first rows "
    "measure the call, the middle ones a shelf, and only the last one the memory."
)

# %% [markdown] id="00-triangle-open"
# ## The triangle
#
# Arithmetic, memory on the device, and communication between devices: every design in this book saves at
# one corner of this triangle and pays at another. The ledger at the end of each chapter has a column for
# who paid, because a saving without a price has usually just not been looked at from all sides.

# %% id="00-triangle"
from memlessons.show import triangle

show(triangle(here))

# %% [markdown] id="00-model-open"
# ## A model that remembers
#
# Now the patient. SmolLM2 is a small language model, small enough to run here, and built like the large
# ones ([Allal et al. 2025](#Sources)). For each token it reads, every layer keeps two lists of numbers,
# called *keys* and *values* (chapter 01 shows why), and looks at all of them for every token it writes.
# How much is that? (KiB, MiB and GiB count in steps of 1,024, as memory does.)
#
# What a model keeps is a value in this package, a **plan**. It can explain itself; read the line as:
# three times sixty-four numbers for keys, as many for values, four bytes each, in thirty layers. What the
# heads are is for chapter 01.

# %% id="00-plan"
from memlessons.model.load import load
from memlessons.units import count_text

model = load("smollm2", kernels=False)  # with torch's own operations; chapter 03 has faster ones
say(f"```\n{model.plan.explain(1000)}\n```")
per_token = model.plan.slope(1000)  # what the next token adds, at this length
say(
    f"Each token costs **{bytes_text(per_token)}** of memory, for as long as it is remembered. A "
    f"conversation of 1,000 tokens holds {bytes_text(model.plan.bytes(1000))}; the weights, "
    f"{count_text(model.weights.parameters)} numbers, take {bytes_text(model.weights.stored_bytes)}."
)

# %% id="00-memory-picture"
from memlessons.show import memory_picture

show(memory_picture(model.plan, 1000, weights=model.weights))

# %% [markdown] id="00-chat-open"
# ## The conversation
#
# Here is the thread through this book: one conversation of twenty turns. The model answers each question
# in its own words, cut after twelve tokens (it is small: some answers are wrong); then the conversation
# goes on with a written reply, so that every design and every machine reads the same text. Today, within
# an answer, the model keeps everything, in full precision, in every layer; between turns it forgets all
# of it, and reads the conversation again. In each later chapter you will change one thing about its
# memory, hold the same conversation, and write one more line under today's. Watch the time before the
# first token of each answer.

# %% id="00-chat"
from memlessons.bench.conversation import converse

chat = converse(model, on_turn=lambda turn: print(f"{turn.question}\n    {turn.reply}"))
chat.keep()
shown = [chat.turns[0], chat.turns[len(chat.turns) // 2], chat.turns[-1]]
table(
    [
        {
            "turn": chat.turns.index(t) + 1,
            "tokens read": t.prompt_tokens,
            "before the first token": seconds_text(t.first_token_seconds),
            "per further token": seconds_text(t.seconds_per_token) if t.seconds_per_token else "-",
        }
        for t in shown
    ]
)
first, last = chat.turns[0], chat.turns[-1]
claim(
    last.first_token_seconds > 2 * first.first_token_seconds,
    then=f"By the last turn you wait **{last.first_token_seconds / first.first_token_seconds:.0f} times** "
    "as long for the first token as in the first. The model reads the whole conversation again, every "
    "time.",
    otherwise="In so short a conversation the wait before the first token hardly grows; over more turns "
    "it does.",
)

# %% [markdown] id="00-prediction-open"
# ## Could we have known?
#
# To make one token, the model must read all of its weights once, and all that it keeps of the
# conversation. That is a number of bytes; divided by the bytes per second of this machine it is the least
# time a token can take. Prediction and measurement, side by side:

# %% id="00-prediction"
from statistics import median
from memlessons.cost import decode_bound

context = chat.context_tokens
least = decode_bound(model.plan, model.weights, context, device)
took = median(t.seconds_per_token for t in chat.turns if t.seconds_per_token)
table(
    [
        {
            "bytes of weights": bytes_text(model.weights.stored_bytes),
            "bytes of memory": bytes_text(model.plan.bytes_read(context)),
            "FLOP": f"{least.flops:.1e}",
            "least time": f"{seconds_text(least.seconds)} ({least.limit})",
            "measured": seconds_text(took),
        }
    ]
)
claim(
    least.limit == "memory",
    then=f"The limit is **memory**, and the model runs at **{least.seconds / took:.0%}** of that limit's "
    f"speed. At {least.intensity:.1f} FLOP per byte, far left of the ridge at {here.ridge:.1f}, cleverer "
    "arithmetic cannot lower the limit; only *fewer bytes* can. The rest of the time is lost between the "
    "bytes: a step is hundreds of short calls, each with the price that you measured above.",
    otherwise=f"Here the limit is **compute**; the model runs at {least.seconds / took:.0%} of its speed.",
)

# %% [markdown] id="00-audit-open"
# A prediction of bytes is worth nothing if the memory that is really there is not the one predicted. So
# we count that too, from the live tensors and without asking the plan, and hold one against the other.
# (*Held* is what tokens fill, *room* what was reserved.) Through the whole book this comparison must say:
# *equal*.

# %% id="00-audit"
import torch
from memlessons.measure import audit

state = model.decoder.new_state(capacity=256)
model.decoder.forward(torch.tensor([model.tokenizer.encode("The pen is on the table.")]), state)
comparison = audit(state).against(model.plan, state.lengths, state.capacity)
say(f"```\n{comparison}\n```")
assert comparison.waste == 0

# %% [markdown] id="00-ledger-open"
# ## The first line of your ledger
#
# One number is missing: how *good* the model is. We will measure it as **perplexity**, on a page of Python's
# documentation: between how many tokens is the model undecided, on average, before each next one? (Chapter
# 01 builds it.) Fewer is better, and every design that saves bytes will be asked what it did to this number.
#
# A row of the ledger says, for a conversation of so many tokens:
#
# - *stored per token*: the bytes that one more token leaves behind;
# - *read per step*: the bytes of memory that go past for each new token;
# - the arithmetic of a token, and what is sent between devices (nothing, as long as there is one);
# - tokens per second and the wait for the first token, each the median over the turns;
# - perplexity, and *paid by*: the corner of the triangle that paid, or quality.

# %% id="00-quality"
from memlessons.quality import ledger_tokens, perplexity

quality = perplexity(model, ledger_tokens(model.tokenizer))
say(
    f"Undecided between **{quality.value:.1f}** tokens, give or take {quality.spread:.1f}, over "
    f"{quality.tokens:,} tokens."
)

# %% id="00-ledger"
from memlessons.measure import Value
from memlessons.show.scoreboard import ledger, scoreboard

record = chat.record(
    perplexity=Value.of(quality.value, "perplexity"), perplexity_spread=Value.of(quality.spread, "perplexity")
)
ledger.add("keeps everything", model.plan, record, chapter="00", weights=model.weights, corner="memory")
scoreboard()

# %% [markdown] id="00-exercises"
# ## Exercises
#
# Write your lines in place of the `...` and run the cell: it is checked at once, on inputs drawn anew
# each time. If something is wrong, the answer says what, for which input, and often which mistake it
# looks like. `hint("00.1")` and `solution("00.1")`, from `memlessons.coursework`, help when you want them
# to, and `memlessons progress` in a terminal shows what you have done.

# %% [markdown] id="00-ex1"
# **00.1 Room left** (decide). A card is sold with `card_gb` gigabytes (GB: a thousand million bytes
# each). The driver and the engine keep `reserve_gib` gibibytes for themselves (GiB: 1,024 to the power of
# three bytes each). How many bytes are left beside a model of `need_bytes`? Return an int, never less
# than none. By hand: `room_left(20_000_000_000, 24, 1)` is 2,926,258,176, and with a model of
# 24,000,000,000 bytes it is 0.

# %% id="00-ex1-cell"
from memlessons.coursework import exercise


@exercise("00.1")
def room_left(need_bytes, card_gb, reserve_gib): ...


# %% [markdown] id="00-ex2"
# **00.2 The bound** (build). Return the least seconds, and `"compute"` or `"memory"`, for `flops` FLOP
# and `bytes_moved` bytes at `flop_rate` FLOP and `bandwidth` bytes a second, when fetching and computing
# overlap perfectly. If both take equally long, say `"compute"`. Do not look up; you know the rule. By
# hand: `least_seconds(6e9, 1e9, 1e12, 1e11)` is `(0.01, "memory")`, and with a hundred times the FLOP it
# is `(0.6, "compute")`.

# %% id="00-ex2-cell"
from memlessons.coursework import exercise


@exercise("00.2")
def least_seconds(flops, bytes_moved, flop_rate, bandwidth): ...


# %% [markdown] id="00-ex3"
# **00.3 Least reuse** (decide). How many multiply-adds must each loaded element feed so that computing
# takes at least as long as loading? `flop_rate` is FLOP per second, `bandwidth` bytes per second; a
# multiply-add is two FLOP; an element has `element_bytes` bytes. Return a whole number, the smallest
# that is enough. By hand: `least_reuse(73e9, 16.6e9, 4)` is 9.

# %% id="00-ex3-cell"
from memlessons.coursework import exercise


@exercise("00.3")
def least_reuse(flop_rate, bandwidth, element_bytes): ...


# %% [markdown] id="00-ex4"
# **00.4 Two numbers from many** (build). You timed reads of several `sizes`, in bytes; `seconds[i]` are
# the repetitions of size i, an odd number of them, each a little off, and one was interrupted and took
# much longer. Time is a fixed cost plus size divided by bandwidth. Return both, bytes per second and
# seconds: of the straight line of time over size, through the *medians*, by least squares; numpy or plain
# Python, as you like. By hand: reads of 1, 2, 4 and 8 million bytes with medians of `0.12`, `0.22`,
# `0.42` and `0.82` thousandths of a second lie on a line and give `(1e10, 2e-5)`.

# %% id="00-ex4-cell"
from memlessons.coursework import exercise


@exercise("00.4")
def fit_bandwidth(sizes, seconds): ...


# %% [markdown] id="00-left-out"
# ## What we left out
#
# Latency: how long *one* byte takes to arrive, which counts where work cannot be spread over many
# carriers. Writing, which is slower than reading on most machines. Energy, where carrying is dearer still
# than here. And other users of the same memory: on a shared machine these rates move from minute to
# minute, which is why this book compares within one run, shows medians and spreads, and never asks you to
# trust a single time.
#
# If something on this page did not run, `memlessons doctor` in a terminal says what is missing and how to
# mend it.

# %% [markdown] id="00-sources"
# ## Sources
#
# - S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model for multicore
#   architectures. Communications of the ACM 52(4), 2009.
# - L. B. Allal and others: SmolLM2: When Smol Goes Big. arXiv:2502.02737, 2025. The model is under the Apache
#   License 2.0.
# - J. D. McCalpin: Memory bandwidth and machine balance in current high performance computers. IEEE TCCA
#   Newsletter, 1995 (the idea of measuring a machine by what it can stream).
