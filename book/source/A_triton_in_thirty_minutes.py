# %% [markdown] id="A-open"
# # Triton in thirty minutes
#
# A GPU does not run your loop. It runs a small program *very often*, side by side, and each copy does a
# piece of the work. Triton is a way to write that small program: Python in its looks, compiled for the
# chip ([Tillet et al. 2019](#Sources)). This appendix teaches as much of it as the kernel of chapter 03
# needs: programs, blocks, masks, sums, and products of tiles.
#
# Without a GPU the cells below run in Triton's *interpreter*: the same results, in slow motion, with no
# meaning for time. That is enough to learn on, and to be right.
#
# A question to begin with. A thousand numbers are to be added, in blocks of 256. Blocks are always full
# size. How many places of the last block have no number to work on?

# %% id="A-lesson"
import memlessons

memlessons.lesson("A")

# %% id="A-guess"
from memlessons.show import predict, reveal, say, table

guess = predict("A", None, unit="places")  # put your number in place of None

# %% [markdown] id="A-add-open"
# ## Programs and blocks
#
# A kernel is a function with `@triton.jit`. You launch it with the number of copies that you want, written
# in square brackets; each copy is a *program*, and asks which one it is with `tl.program_id(0)`.
#
# A program does not work on numbers but on **blocks** of them, whose size is a power of two and is known
# when the kernel is compiled: that is what `tl.constexpr` says. `tl.arange(0, BLOCK)` is the block
# 0, 1, 2, ... A tensor arrives as a *pointer*, the address of its first number; pointer plus block is a
# block of addresses, and `tl.load` fetches them all.
#
# The last block reaches beyond the end. The **mask** says which places count: the others are not read (they
# get `other` instead), and not written.

# %% id="A-add"
# needs Triton
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)  # which numbers are mine
    mine = i < N
    a = tl.load(x + i, mask=mine, other=0.0)
    b = tl.load(y + i, mask=mine, other=0.0)
    tl.store(out + i, a + b, mask=mine)


device = "cuda" if torch.cuda.is_available() else "cpu"
N, BLOCK = 1000, 256
x, y = torch.randn(2, N, device=device)
out = torch.empty(N, device=device)
programs = triton.cdiv(N, BLOCK)  # divided, rounded up
add[(programs,)](x, y, out, N, BLOCK)

assert torch.equal(out, x + y)
say(f"{programs} programs of {BLOCK} places for {N:,} numbers.")
reveal("A", programs * BLOCK - N, how="counted")

# %% [markdown] id="A-mask-open"
# ## What a mask is for
#
# Leave the mask away, and the last program reads and writes what belongs to somebody else. Nothing warns
# you: on a GPU an address is only an address. We show it on memory of our own: the kernel is told of the
# first thousand numbers, and we look at the ones behind them.

# %% id="A-mask"
# needs Triton


@triton.jit
def add_one_careless(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + 1)


x, out = torch.zeros(2, programs * BLOCK, device=device)
add_one_careless[(programs,)](x[:N], out[:N], BLOCK)
say(f"Behind the end, **{int(out[N:].sum())}** numbers that are not ours were overwritten.")
assert int(out[N:].sum()) == programs * BLOCK - N

# %% [markdown] id="A-nan-open"
# The other trap is subtler. What is not masked may be anything, and most of all NaN, "not a number", which
# is what uninitialised memory often holds. It is tempting to read everything and to multiply what does not
# count by zero. But zero times NaN is NaN:

# %% id="A-nan"
# needs Triton


@triton.jit
def weighted_sum(w, x, out, N, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mine = i < N
    weight = tl.load(w + i, mask=mine, other=0.0)  # 0 for what does not count ...
    value = tl.load(x + i, mask=mine, other=0.0) if MASKED else tl.load(x + i)
    tl.store(out, tl.sum(weight * value, axis=0))  # ... which is not enough for the value


x = torch.full((16,), float("nan"), device=device)
x[:10] = torch.arange(10.0)
w, out = torch.full((16,), 0.1, device=device), torch.empty(1, device=device)
rows = []
for masked in (False, True):
    weighted_sum[(1,)](w, x, out, 10, 16, masked)
    rows.append({"value masked as well": masked, "weighted sum of 0 to 9": f"{out.item():.2f}"})
table(rows)

# %% [markdown] id="A-rows-open"
# ## A loop inside a program
#
# A program may go over its data in a loop, block by block, and keep running results on the chip. Here one
# program takes one row of a matrix and finds its largest number, and the sum of all $e^x$, without ever
# holding the row. Both are needed for a softmax, and both can be had in one pass. The sum is kept relative
# to the largest number so far, since $e^{100}$ is too large to write down; whenever a larger one turns up,
# the sum so far is rescaled to it. (`m` and `l` are blocks of one place, as everything in a loop must keep
# its shape.)
#
# A matrix arrives as a pointer, too. How far apart its rows lie is its *stride*, which we pass.

# %% id="A-rows"
# needs Triton


@triton.jit
def log_sum_exp(x, out, N, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full([1], float("-inf"), tl.float32)  # the largest so far
    l = tl.zeros([1], tl.float32)  # the sum of exp(x - m) so far
    for first in range(0, N, BLOCK):
        i = first + tl.arange(0, BLOCK)
        a = tl.load(x + row * stride + i, mask=i < N, other=float("-inf"))  # exp(-inf) adds nothing
        m_new = tl.maximum(m, tl.max(a, axis=0))
        l = l * tl.exp(m - m_new) + tl.sum(tl.exp(a - m_new), axis=0)
        m = m_new
    tl.store(out + row + tl.arange(0, 1), m + tl.log(l))


x = torch.randn(5, 300, device=device) * 50
out = torch.empty(5, device=device)
log_sum_exp[(5,)](x, out, x.shape[1], x.stride(0), 128)
assert torch.allclose(out, torch.logsumexp(x, dim=1))
say("Five rows, five programs, and the same as torch's `logsumexp`.")

# %% [markdown] id="A-tiles-open"
# ## Blocks with two dimensions
#
# `a[:, None]` makes a column of a block, `a[None, :]` a row, and adding the two gives a tile: all pairs.
# That is how a tile of a matrix is addressed: row times stride, plus column. Swap the two, and the tile
# arrives *transposed*, for nothing: it is only addresses.
#
# `tl.dot` multiplies two tiles; on a GPU this is what its matrix units do, and they want at least sixteen
# rows. The kernel below computes scores of queries against keys, $Q K^T$, one tile of keys for each
# program: the heart of attention.

# %% id="A-tiles"
# needs Triton


@triton.jit
def scores(q, k, out, T, D: tl.constexpr, H: tl.constexpr, TILE: tl.constexpr):
    h, d = tl.arange(0, H), tl.arange(0, D)
    n = tl.program_id(0) * TILE + tl.arange(0, TILE)
    held = n < T
    Q = tl.load(q + h[:, None] * D + d[None, :])  # [H, D]
    K = tl.load(k + n[None, :] * D + d[:, None], mask=held[None, :], other=0.0)  # [D, TILE]: transposed
    x = tl.dot(Q, K, input_precision="ieee")  # [H, TILE]
    tl.store(out + h[:, None] * T + n[None, :], x, mask=held[None, :])


H, D, T, TILE = 16, 32, 50, 16
q, k = torch.randn(H, D, device=device), torch.randn(T, D, device=device)
out = torch.empty(H, T, device=device)
scores[(triton.cdiv(T, TILE),)](q, k, out, T, D, H, TILE)
assert torch.allclose(out, q @ k.T, atol=1e-4)
say(f"{triton.cdiv(T, TILE)} tiles of {TILE} keys, the last one with {T % TILE}, and the same as `q @ k.T`.")

# %% [markdown] id="A-ieee-open"
# `input_precision="ieee"` asks for full float32. Without it, a GPU rounds the factors of float32 tiles to
# ten bits after the leading one, since its matrix units are faster at that. For float16 and bfloat16 it
# makes no difference.
#
# ## What the compiler makes of it
#
# The kernel is compiled when it is first launched, once for each set of `constexpr` values and types (and
# for some properties of the numbers, such as "divisible by sixteen"). That takes about a second, which is
# why a kernel's first call must never be timed. You do not need a GPU to compile for one:
# `python -m memlessons.kernels report` compiles this book's kernel for eight chips, and prints what it would
# ask of each: the memory shared by the threads of a program, their registers, and whether anything had to
# be *spilled* because they were too few.
#
# ## What the interpreter will not tell you
#
# - *Time.* A program takes milliseconds there, and they mean nothing.
# - *Races.* Programs run one after the other, so two that write to one place never collide.
# - *bfloat16.* Its arithmetic is wrong there: convert to float32 right after loading.
# - *Missing `other`.* A masked place reads as zero there; on a GPU it may be anything.
# - `TRITON_INTERPRET=1` must be set before Triton is imported: `memlessons.lesson` in the first cell does it.
#
# ## You are ready
#
# `program_id`, `arange`, `load` and `store` with masks, `sum` and `max`, `dot`, and a loop. The kernel of
# [chapter 03](03_one_memory_for_all_heads.ipynb) adds two words: `tl.num_programs(0)` says how many programs
# there are, and `tl.where(mask, a, b)` picks place by place.

# %% [markdown] id="A-try-open"
# **Turn the knob.** Change `log_sum_exp` into a softmax: a second loop over the row that writes
# `exp(a - m) / l`. How often is each number now read? Could that be less?

# %% id="A-try"
# needs Triton


@triton.jit
def softmax(x, out, N, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, N, BLOCK):
        i = first + tl.arange(0, BLOCK)
        a = tl.load(x + row * stride + i, mask=i < N, other=float("-inf"))
        tl.store(out + row * stride + i, a, mask=i < N)  # change this


x = torch.randn(3, 200, device=device)
out = torch.empty_like(x)
softmax[(3,)](x, out, x.shape[1], x.stride(0), 128)
right = torch.allclose(out, torch.softmax(x, dim=1), atol=1e-6)
say(
    "That is softmax. It reads each number twice; only a row that fits into one block could be read once."
    if right
    else "Not softmax yet."
)

# %% [markdown] id="A-left-out"
# ## What we left out
#
# How a tile travels from memory to registers while the one before is being used (the compiler's pipelines:
# `num_stages`), how many threads share a program (`num_warps`), trying several sizes (`autotune`), and
# atomic operations, with which programs add to one place. Triton's own tutorials show all of these.

# %% [markdown] id="A-sources"
# ## Sources
#
# - P. Tillet, H. T. Kung, D. Cox: Triton: an intermediate language and compiler for tiled neural network
#   computations. MAPL 2019.
# - Triton's documentation and tutorials: <https://triton-lang.org>
# - M. Milakov, N. Gimelshein: Online normalizer calculation for softmax. arXiv:1805.02867, 2018.
