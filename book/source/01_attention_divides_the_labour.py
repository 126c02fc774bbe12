# %% [markdown] id="01-open"
# # Attention divides the labour
#
# *She peeled the ripe, sweet apple.* *The new phone was announced by apple.*
#
# A language model turns every word into numbers before it does anything else, and it does so by looking
# the word up in a table. The table has one row for "apple". So at its entrance the fruit and the company
# are the **same** list of numbers, bit for bit. By the time the model speaks they are not: it will not
# ask the company to be peeled.
#
# SmolLM2 passes each word through thirty layers. After how many of them have the fruit and the company
# gone their opposite ways?

# %% id="01-lesson"
import memlessons

memlessons.lesson("01")

# %% id="01-guess"
from memlessons.show import claim, predict, reveal, say, table

guess = predict("01", None, unit="layers")  # put your number, from 1 to 30, in place of None

# %% [markdown] id="01-load-open"
# ## The same word, twice
#
# Load the model, and let it read both sentences. `read` returns what every layer hands on, for every
# token: its *states*. A token is a piece of text with a number of its own; common words are one token
# each.

# %% id="01-load"
import torch
from memlessons.model.load import load

model = load("smollm2")
tokens = model.tokenizer.encode("She peeled the ripe, sweet apple")
say("The sentence in tokens: " + " · ".join(f"`{model.tokenizer.decode([t])}`" for t in tokens))


def states_of(sentence, sees=None):  # `sees`: who may look at whom; used further below
    """What each layer hands on for the last token of a sentence: [layers + 1, hidden]."""
    return model.decoder.read(torch.tensor(model.tokenizer.encode(sentence)), sees).states[:, -1]


fruit = states_of("She peeled the ripe, sweet apple")
company = states_of("The new phone was announced by apple")
assert fruit.shape == (31, 576)  # the embedding, then one state a layer; 576 numbers each
assert torch.equal(fruit[0], company[0])  # the entrance: the same row of the same table
apart = float((fruit[-1] - company[-1]).norm() / fruit[-1].norm())
say(
    "At the entrance: equal. After the last layer the difference is about as long as the state itself: "
    f"{apart:.0%} of it."
)

# %% [markdown] id="01-axis-open"
# ## An instrument
#
# "They differ" is not yet "they mean different things". We need an instrument with a scale. Take a few
# fruit sentences and a few company sentences, and average the states of each kind. The line from one
# average to the other is an *axis of meaning*, one for each layer, because each layer may speak a
# language of its own. Then take **other** sentences, and ask on which side of the middle they fall: +1
# straight towards fruit, -1 straight towards company, 0 neither.
#
# The score is a *cosine*: the direction counts, the length does not. We call the two meanings parted in
# the first layer after which the averages lie beyond one half, on either side.

# %% id="01-score"
from torch.nn.functional import cosine_similarity


def stack(sentences):
    return torch.stack([states_of(s) for s in sentences])  # [sentences, layers + 1, hidden]


def meaning_score(states, plus, minus):
    """Where `states` stand between two classes, layer by layer: [sentences, layers + 1] in -1 ... +1."""
    middle = (plus.mean(0) + minus.mean(0)) / 2
    axis = plus.mean(0) - minus.mean(0)
    return cosine_similarity(states - middle, axis.expand_as(states), dim=-1)


plus = stack(
    [
        "She peeled the ripe, sweet apple",
        "He squeezed fresh juice from an apple",
        "A worm lived in the juicy, rotten apple",
        "For dessert they baked a pie with an apple",
    ]
)
minus = stack(
    [
        "The new phone was announced by apple",
        "Investors bought more shares of apple",
        "The chip was designed by engineers at apple",
        "The launch event was hosted by the company apple",
    ]
)

others = {
    "fruit": [
        "I washed the crunchy, green fruit, and bit into the apple",
        "The cook cut the skin and the core out of the apple",
    ],
    "company": [
        "Quarterly earnings disappointed analysts of the tech giant apple",
        "The lawsuit was against the smartphone maker apple",
    ],
}
apple = {kind: meaning_score(stack(sentences), plus, minus) for kind, sentences in others.items()}

opposite = (apple["fruit"].mean(0) > 0.5) & (apple["company"].mean(0) < -0.5)
first = int(opposite.nonzero()[0]) if opposite.any() else None
say(
    "At the embedding there is no axis yet (both averages are the same row), so the scores are "
    f"{apple['fruit'][0, 0]:.1f} and {apple['company'][0, 0]:.1f}."
)
reveal("01", float("nan") if first is None else first)
claim(
    first is not None and first <= 15,
    then=f"After **{first}** of thirty layers the two stand at {apple['fruit'].mean(0)[first]:+.2f} and "
    f"{apple['company'].mean(0)[first]:+.2f}: parted. The layers that follow work with a word that already "
    "knows what it is.",
    otherwise="The two do not come apart in the first half of the layers here; look at the figure below "
    "for where they do.",
)

# %% [markdown] id="01-messages"
# ## Who told it?
#
# The word itself has not changed: it came in as a row of a table. So somebody told it. Grammars and
# organisations are alike in this: a chart on the wall says who reports to whom, once and for all.
# Attention is not a chart but messaging: each word asks, in each layer anew, whoever can answer *its*
# question, and the work of saying what goes with what moves from the structure to the moment. (Here the
# picture breaks: in a real office nobody messages everybody about everything. Attention does, and pays
# for every message, whether it is read with interest or not. That bill is the subject of this book.)
#
# Before such networks, these clues were features that people wrote by hand: "the next word is *Inc.*"
# ([Collobert et al. 2011](#Sources) list them, and show what can be done without).
#
# If "crunchy" and "green" told "apple" that it is a fruit, then hiding them must leave it undecided.
# `read` takes a rule that says who may look at whom. We hide the evidence from *everybody*: a word that
# has already listened could pass it on.


# %% id="01-hide"
def hiding(sentence, words):
    """A rule under which no other token may look at the tokens of these words."""
    pieces = [model.tokenizer.decode([t]).strip() for t in model.tokenizer.encode(sentence)]
    assert all(w in pieces for w in words), f"one of {words} is not a single token of {pieces}"
    hidden = torch.tensor([i for i, piece in enumerate(pieces) if piece in words])

    def sees(layer, query, key):
        return (key <= query) & (~torch.isin(key, hidden) | (key == query))

    return sees


def middle_score(sentence, words=()):
    sees = hiding(sentence, words) if words else None
    return float(meaning_score(states_of(sentence, sees)[None], plus, minus)[0, 15])


evidence = {
    "In the picture there is a crunchy, green apple": ["crunchy", "green"],
    "They sued the tech giant apple": ["tech", "giant"],
}
rows = [
    {
        "sentence": s,
        "hidden": ", ".join(w),
        "score in layer 15": f"{middle_score(s):+.2f}",
        "with the words hidden": f"{middle_score(s, w):+.2f}",
    }
    for s, w in evidence.items()
]
table(rows)
lost = {s: 1 - middle_score(s, w) / middle_score(s) for s, w in evidence.items()}
neutral = "In the picture there is a crunchy, green apple"
control = 1 - middle_score(neutral, ["picture", "there"]) / middle_score(neutral)
say(f"For comparison: hiding `picture` and `there` in the first sentence takes {control:.0%} of its score.")
claim(
    min(lost.values()) > max(0.5, control),
    then="In both sentences more than half of the score is gone, and hiding two neutral words costs less. "
    "The scores were a *correlation*; this is a *cause*: most of what the apple knows came from those "
    "words, and attention carried it.",
    otherwise="Not in both sentences does hiding the words take more than half of the score: what is left "
    "was told by other words, or by the order of the words themselves.",
)

# %% [markdown] id="01-four-open"
# ## Not only meanings
#
# Is this a trick for apples? The same instrument, on other questions that a grammar would ask. *Part of
# speech*: a golden "watch", or to "watch". *Entity*: the player "Jordan" or the country. *Role*: bitten
# by the "dog", or the "dog" is washed: who does it, and to whom. In each pair of sentences the last word
# is the same, the axis comes from eight sentences, and the score is taken on four others.

# %% id="01-four"
questions = {
    "part of speech": (
        [
            "He wore a golden watch",
            "She looked at the time on her watch",
            "The jeweller repaired an old watch",
            "My grandfather gave me his watch",
        ],
        [
            "The children sat down to watch",
            "I do not have time to watch",
            "The film was so bad that nobody could watch",
            "They came to the stadium to watch",
        ],
        {
            "thing": ["The thief stole a very expensive watch", "On his wrist there was a watch"],
            "action": [
                "The guards were ordered to stay and watch",
                "There is a new series that we should watch",
            ],
        },
    ),
    "entity": (
        [
            "The basketball star scored forty points; his name was Jordan",
            "My neighbour is a tall man called Jordan",
            "The letter was signed by her brother, Jordan",
            "The coach shouted at Jordan",
        ],
        [
            "The caravan crossed the border into Jordan",
            "The king of the desert country of Jordan",
            "Refugees from Syria live in Jordan",
            "The capital Amman lies in Jordan",
        ],
        {
            "person": [
                "At dinner I sat between Mary and Jordan",
                "The goal was scored by our captain, Jordan",
            ],
            "country": ["The embassy moved to a new building in Jordan", "Tourists fly to Petra in Jordan"],
        },
    ),
    "role": (
        [
            "The town was attacked by the king",
            "The poet was praised by the king",
            "The castle was built by the king",
            "The prisoners were freed by the king",
        ],
        [
            "The rebels attacked the king",
            "The poet praised the king",
            "The soldier killed the king",
            "The people loved the king",
        ],
        {
            "does it": ["The law was changed by the king", "The general was dismissed by the king"],
            "has it done to": ["The bishop crowned the king", "The traitor poisoned the king"],
        },
    ),
}
scores = {"sense": apple}
for question, (ups, downs, held_out) in questions.items():
    up, down = stack(ups), stack(downs)
    scores[question] = {kind: meaning_score(stack(s), up, down) for kind, s in held_out.items()}

# %% id="01-figure"
from memlessons.show import panels, show

show(
    panels(
        {question: {kind: s.tolist() for kind, s in kinds.items()} for question, kinds in scores.items()},
        "What is this word here?",
        "Four panels, score by layer from the embedding to layer 30: all lines start at 0 and part within "
        "the first layers, up for the first class and down for the second.",
        id="fig-01",
    )
)


def right(kinds, layer):
    up, down = (s[:, layer] for s in kinds.values())
    return int((up > 0).sum() + (down < 0).sum())


table(
    [
        {
            "question": q,
            "right side in layer 15": f"{right(k, 15)} of 4",
            "right side in layer 30": f"{right(k, 30)} of 4",
            "least score, layer 15": f"{min(float(s[:, 15].abs().min()) for s in k.values()):.2f}",
        }
        for q, k in scores.items()
    ]
)
fewest = min(right(k, 15) for k in scores.values())
weakest = min(scores, key=lambda q: min(float(s[:, 15].abs().min()) for s in scores[q].values()))
claim(
    fewest >= 3,
    then="One mechanism, four questions that used to need four programs. Look at the weak rows too: in "
    f"the middle, **{weakest}** is told apart least clearly.",
    otherwise=f"Not every question is answered by the middle layers here; **{weakest}** least of all.",
)
claim(
    sum(right(k, 30) for k in scores.values()) < sum(right(k, 15) for k in scores.values()),
    then="And towards the last layers, whose job is the *next* word, some of it is lost again.",
    otherwise="It is still there after the last layer, whose job is the *next* word.",
)

# %% [markdown] id="01-caution"
# Three cautions. A probe that finds a direction does not prove that the model *uses* it; hiding the
# evidence was worth more. A probe takes the easiest clue there is: in the panel *role* the lines part in
# the very first layers, since "by" stands just before the word, and one look to the left tells. And "a
# word has a vector" is now untenable: a word has a row in a table, and whatever it means is made on the
# way, from its company. The states on the way are what a model *has*; what it must *keep* of them is the
# next question.

# %% [markdown] id="01-dictionary-open"
# ## A dictionary, made soft
#
# How does one word ask another? As you would ask a dictionary: there are **keys**, there are **values**,
# and a **query** finds its key. Python's dictionary wants an exact match. Make it soft: compare the query
# with *every* key (a dot product: large when they point the same way), turn the comparisons into shares
# that add up to one (softmax), and return the values mixed in these shares.

# %% id="01-dictionary"
keys = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
values = torch.tensor([[10.0], [20.0], [90.0]])
rows = []
for sharpness in (1, 5, 50):
    shares = torch.softmax(sharpness * keys @ torch.tensor([0.0, 1.0]), dim=0)
    rows.append(
        {
            "sharpness": sharpness,
            "shares": ", ".join(f"{s:.2f}" for s in shares),
            "answer": f"{float(shares @ values):.1f}",
        }
    )
table(rows)

# %% [markdown] id="01-lookup-open"
# The sharper the comparison, the more it is Python's dictionary again. That is attention, whole. Both
# ideas meet in it: *representation* (what are good keys?) and *retrieval* (find the one that matches).
#
# So does SmolLM2 look things up? We give it a list of eight facts, say two of them again so that it sees
# the game, and ask for a third. We call it **recall in context**: how often does the right answer beat
# eight wrong ones? And then we find out *where* it looks, by hiding the one fact that matters from all
# that comes after the list, in the early, the middle or the late layers only.

# %% id="01-lookup"
import random
from memlessons.places import pace

NAMES = ["Anna", "Tom", "Mary", "John", "Lucy", "Peter", "Emma", "David"]
THINGS = ["lamp", "coin", "book", "key", "ring", "map", "cup", "bell", "rope"]
encode = model.tokenizer.encode


def riddle(seed):
    """Tokens; where the fact that matters lies; where the list ends; nine answers, the right one first."""
    draw = random.Random(seed)
    things = draw.sample(THINGS, 9)
    facts = [f"\n{name}: {thing}" for name, thing in zip(draw.sample(NAMES, 8), things)]
    asked, *repeated = draw.sample(range(8), 3)
    tokens, spans = [], []
    for fact in facts:
        spans.append(range(len(tokens), len(tokens) + len(encode(fact))))
        tokens += encode(fact)
    end_of_list = len(tokens)
    for other in repeated:
        tokens += encode(facts[other])
    tokens += encode(facts[asked])[:-1]  # the fact once more, without its answer
    wrong = [thing for thing in things if thing != things[asked]]
    answers = [encode(f" {thing}")[0] for thing in [things[asked], *wrong]]
    return torch.tensor(tokens), spans[asked], end_of_list, answers


def recall_rate(trials, hidden_in=range(0)):
    found = 0
    for seed in range(trials):
        tokens, fact, end_of_list, answers = riddle(seed)

        def sees(layer, query, key):
            secret = (query >= end_of_list) & (key >= fact.start) & (key < fact.stop)
            return (key <= query) & ~secret if layer in hidden_in else key <= query

        logits = model.decoder.read(tokens, sees, last=True).logits[0]
        found += int(logits[answers].argmax()) == 0
    return found / trials


trials = 12 if pace() == "full" else 4
print(model.tokenizer.decode(riddle(0)[0].tolist()), "...")
rates = {"nowhere": recall_rate(trials)}
for group in (range(0, 10), range(10, 20), range(20, 30)):
    rates[f"layers {group.start + 1} to {group.stop}"] = recall_rate(trials, group)
rates["all layers"] = recall_rate(trials, range(30))
table([{"the fact is hidden in": where, "recall": f"{rate:.0%}"} for where, rate in rates.items()])
say(
    f"By chance it would be {1 / 9:.0%}. With {trials} riddles, a rate is typically off by "
    f"{100 * (0.25 / trials) ** 0.5:.0f} points. Without the fact, the model names another thing *from the "
    "list*, so it can fall below chance."
)
early, middle, late = rates["layers 1 to 10"], rates["layers 11 to 20"], rates["layers 21 to 30"]
claim(
    early > max(middle, late) and max(middle, late) <= 2 / 9 < rates["nowhere"],
    then="Hidden from the first ten layers, the fact is found more often than hidden from the middle or the "
    "last ten. So most of the fetching is done after the tenth layer. **Layers have roles**: early ones "
    "find out what a word is, later ones fetch. Chapter 07 lives on this difference.",
    otherwise=f"The groups are not ordered that clearly here; {trials} riddles are few.",
)

# %% [markdown] id="01-knob-open"
# **Turn the knob.** Write a sentence of your own that ends in "apple", and hide words, one at a time.
# Which word carried the meaning? (Words must be single tokens; the cell says so if one is not.) Evidence
# is often shared: in the example below two hidden words are not enough, "Grandma" and "put" tell, too.

# %% id="01-knob"
sentence = "Grandma put sugar on the sour apple"  # change these
hide = ["sour", "sugar"]

table(
    {"nothing hidden": middle_score(sentence)}
    | {f"hidden: {w}": middle_score(sentence, [w]) for w in hide}
    | {"all hidden": middle_score(sentence, hide)},
    unit="score, + is fruit",
)

# %% [markdown] id="01-stop"
# ---
# **You can stop here.** You know what attention does. The second sitting takes it apart, puts it together
# again from the model's own numbers, and finds out what must be remembered for it.
#
# ---

# %% [markdown] id="01-second-open"
# ## What must be kept?
#
# To predict the next token, the newest token looks at all tokens before it. To write a text, the model
# does this again for each token. Without any memory it reads the whole text anew for every single token.
#
# So compare two steps. One reads 256 tokens, to make the next. The other reads one token, and finds all it
# needs of the others ready. The first does the arithmetic of 256 tokens (only the last choice, among all
# words of the vocabulary, is made once). How many times the *time* does it take?

# %% id="01-guess-b"
guess = predict("01b", None, unit="times")  # put your number in place of None

# %% [markdown] id="01-position-open"
# ## First: where does a token stand?
#
# A dot product does not know order: "dog bites man" and "man bites dog" would be the same soup. The trick
# of **RoPE** ([Su et al. 2021](#Sources)) is to *turn* queries and keys by an angle that grows with their
# position. In the dot product of two turned vectors the positions count only through their *difference*:
# how far apart they stand.
#
# A head of SmolLM2 has 64 numbers: 32 pairs, each turned at a speed of its own, the first fast like a
# second hand, the last slow like a calendar. Which two numbers make a pair is a matter of layout: here
# number $i$ and number $i + 32$. (GGUF, the format of the model file, stores neighbours as pairs; our
# loader sorts them. Mixing the two up is a classic.)


# %% id="01-rope"
def rotate(x, positions, base):
    """Turn each pair (i, i + D/2) of x [heads, T, D] by position * base**(-2 i / D)."""
    half = x.shape[-1] // 2
    speed = base ** (-torch.arange(half) * 2.0 / x.shape[-1])
    angle = positions[:, None] * speed  # [T, D/2]
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1)


query, key = torch.randn(2, 1, 1, 64, generator=torch.Generator().manual_seed(0))
base = model.config.rope_base
rows = []
for query_at, key_at in ((5, 2), (105, 102), (7, 2)):
    turned_query = rotate(query, torch.tensor([query_at]), base)
    turned_key = rotate(key, torch.tensor([key_at]), base)
    dot = float((turned_query * turned_key).sum())
    rows.append(
        {"query at": query_at, "key at": key_at, "distance": query_at - key_at, "dot product": f"{dot:.4f}"}
    )
table(rows)

# %% [markdown] id="01-layer-open"
# The first two rows agree: same distance, same score, wherever they stand.
#
# ## A layer, from scratch
#
# Now we compute one whole layer with the model's own weights, and hold the result against what the model
# hands on itself. Each token's state is projected into queries, keys and values. "Multi-head" means: not
# one dictionary but several, each with 64 numbers, side by side, so that one can ask for the subject
# while another asks for the colour. SmolLM2 has nine query heads, and only three of keys and values:
# three query heads share one. *Why* is the story of chapters 03 and 04.

# %% id="01-layer"
from torch.nn.functional import rms_norm, silu

c = model.config
text = torch.tensor(encode("The cook cut the skin and the core out of the apple, because it was rotten."))
states = model.decoder.read(text).states  # [31, T, 576]
T, D = len(text), c.head_width


def norm(x, weight):
    return rms_norm(
        x, (c.hidden,), weight, c.norm_eps
    )  # every state to the same length; then each channel times its weight


def queries_keys_values(x, layer, positions):
    """Heads first: q [9, T, 64], k and v [3, T, 64]; q and k turned to their positions."""
    w = model.decoder.weights
    fused = norm(x, w[f"layers.{layer}.attn_norm"]) @ w[f"layers.{layer}.qkv"].T
    q, k, v = fused.split([c.query_heads * D, c.kv_heads * D, c.kv_heads * D], dim=-1)
    q, k, v = (t.view(len(x), -1, D).transpose(0, 1) for t in (q, k, v))
    return rotate(q, positions, c.rope_base), rotate(k, positions, c.rope_base), v


def attend(q, k, v):
    """Causal attention; the queries are the LAST positions of the keys. Returns [9, T, 64] and the shares."""
    k, v = (t.repeat_interleave(c.query_heads // c.kv_heads, dim=0) for t in (k, v))
    scores = q @ k.transpose(-1, -2) / D**0.5  # [9, T, S]: a soft dictionary per head
    S, Tq = k.shape[1], q.shape[1]
    future = torch.arange(S) > torch.arange(S - Tq, S)[:, None]
    shares = torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
    return shares @ v, shares


def rest_of_layer(x, heads, layer):
    """The heads' answers are mixed into the state; then each token thinks for itself (feed-forward)."""
    w = model.decoder.weights
    x = x + heads.transpose(0, 1).reshape(len(x), -1) @ w[f"layers.{layer}.out"].T
    gate, up = (norm(x, w[f"layers.{layer}.ffn_norm"]) @ w[f"layers.{layer}.gate_up"].T).chunk(2, dim=-1)
    return x + (silu(gate) * up) @ w[f"layers.{layer}.down"].T


worst = 0.0
for layer in range(c.layers):
    q, k, v = queries_keys_values(states[layer], layer, torch.arange(T))
    heads, shares = attend(q, k, v)
    ours = rest_of_layer(states[layer], heads, layer)
    worst = max(worst, float((ours - states[layer + 1]).abs().max() / states[layer + 1].abs().max()))
assert worst < 1e-4
say(
    f"All {c.layers} layers agree with the model's own; the largest difference is {worst:.0e} of the "
    "largest number."
)

# %% [markdown] id="01-package-layer"
# The package has the same thing, shorter by a few tricks: it never repeats keys and values for each query
# head, and it turns all heads at once. From here on we use it.

# %% id="01-source"
from memlessons.model.decoder import Decoder
from memlessons.show import show_source

show_source(Decoder.forward)

# %% [markdown] id="01-birth-open"
# ## The birth of the cache
#
# Now look at `attend` with one question in mind: a new token arrives; what of the *old* tokens do we
# need? Their queries? No: each query is used once, by its own token. Their states? No: only to make keys
# and values. **Only their keys and values, in every layer.** And these cannot change any more: a token
# looks backwards only, so whatever comes later is nothing to it.
#
# So keep them. When the last token comes, compute its query, key and value alone; the rest lies ready.
# (This is called a *decode step*; reading the prompt, all its tokens at once, is the *prefill*.)

# %% id="01-birth"
layer = 12
x = states[layer]
q, k, v = queries_keys_values(x, layer, torch.arange(T))
everything, _ = attend(q, k, v)

k_cache, v_cache = k[:, :-1], v[:, :-1]  # kept from before
q_new, k_new, v_new = queries_keys_values(x[-1:], layer, torch.tensor([T - 1]))  # one token's work
only_new, _ = attend(q_new, torch.cat((k_cache, k_new), dim=1), torch.cat((v_cache, v_new), dim=1))

assert torch.allclose(only_new[:, 0], everything[:, -1], atol=1e-4)
say(f"The same answer for the newest token, from {q_new.shape[1]} query instead of {q.shape[1]}.")

# %% [markdown] id="01-both-open"
# That is the **KV cache**, the hero and the villain of this book. Let the model write with it and without
# it. The words must be the same, and so must the numbers behind them.

# %% id="01-both"
prompt = encode("The apple fell from the tree because")
state = model.decoder.new_state(capacity=64)

logits = model.decoder.forward(torch.tensor([prompt]), state, last=True)[0, -1]
with_cache, differences, text_so_far = [], [], list(prompt)
for _ in range(12):
    without = model.decoder.read(torch.tensor(text_so_far)).logits[-1]  # everything again
    differences.append(float((logits - without).abs().max() / without.abs().max()))
    assert int(logits.argmax()) == int(without.argmax())
    token = int(logits.argmax())
    with_cache.append(token)
    text_so_far.append(token)
    logits = model.decoder.forward(torch.tensor([[token]]), state, last=True)[0, -1]  # one token
written = " ".join(model.tokenizer.decode(prompt + with_cache).split())
say(f"Both write: *{written}*. Largest difference between the logits: {max(differences):.0e} of the largest.")

# %% [markdown] id="01-time-open"
# ## What it saves
#
# Now the clock. For growing texts: one step that reads everything again, and one step that reads one
# token and looks into the cache. Both produce the next token.

# %% id="01-time"
from memlessons.measure import interleaved
from memlessons.show import Curve, lines

lengths = [16, 64, 256] if pace() == "full" else [16, 256]
page = torch.randint(0, c.vocabulary, (max(lengths),), generator=torch.Generator().manual_seed(0))
timings = {}
for n in lengths:
    state = model.decoder.new_state(capacity=n)
    model.decoder.forward(page[None, : n - 1], state, last=True)

    def again():
        model.decoder.forward(page[None, :n], model.decoder.new_state(capacity=n), last=True)

    def once():
        model.decoder.forward(page[None, n - 1 : n], state, last=True)
        state.truncate([n - 1])

    timings[n] = interleaved({"again": again, "once": once}, rounds=3)


def curve(which):
    t = [timings[n][which] for n in lengths]
    return Curve(lengths, [x.seconds for x in t], [x.low for x in t], [x.high for x in t])


show(
    lines(
        {"read everything again": curve("again"), "keep K and V": curve("once")},
        "What does the next token cost?",
        "tokens so far",
        "time for one token",
        "Two lines of time per token against length: reading everything again rises with the length, "
        "keeping keys and values stays nearly flat.",
        log_x=True,
        id="fig-01-time",
    )
)
last_choice = 2 * c.vocabulary * c.hidden
one = 2 * model.weights.active_parameters
arithmetic = (256 * (one - last_choice) + last_choice) / one
ratio = timings[256]["again"].seconds / timings[256]["once"].seconds
reveal("01b", ratio)
claim(
    ratio < arithmetic / 2,
    then=f"{arithmetic:.0f} times the arithmetic, **{ratio:.0f}** times the time. So the single token, "
    "with so much less arithmetic, was not limited by arithmetic at all. You know from chapter 00 what it "
    "waits for: to make *one* token, all weights must be carried past once; to read 256 at once, also "
    "once.",
    otherwise=f"{arithmetic:.0f} times the arithmetic takes {ratio:.0f} times the time: this machine "
    "computes slowly for its memory's speed.",
)

# %% [markdown] id="01-remembers-open"
# ## What it remembers
#
# The cache made every later token cheap. It also made every earlier token *stay*: keys and values, in
# every layer, until the conversation ends.

# %% id="01-remembers"
from memlessons.show import memory_picture
from memlessons.units import bytes_text

say(f"```\n{model.plan.explain(c.context_tokens)}\n```")
say(
    f"One token: keys and values, {c.kv_heads} heads of {D}, four bytes a number, {c.layers} layers: "
    f"**{bytes_text(model.plan.slope(1))}**. The token itself, as text, has about four bytes."
)
show(memory_picture(model.plan, c.context_tokens, weights=model.weights))

# %% [markdown] id="01-perplexity-open"
# ## What it costs, and how we will measure quality
#
# The cache changed nothing in what the model says: the same keys and values up to rounding, computed once
# instead of often. Later designs will keep *less*, and then we must be able to say what was lost. Two
# instruments. **Recall in context** you have met. **Perplexity** is the other: let the model read a text,
# and at each token ask how surprised it is by the next. If it gives the right one a probability of one
# half, it was undecided between two tokens; one eighth, between eight. Perplexity is the geometric mean
# of these numbers: the exponential of the mean of $-\log p$.

# %% id="01-perplexity"
from memlessons.quality import ledger_tokens, perplexity

topic = ledger_tokens(model.tokenizer)
short = topic[:256]
logits = model.decoder.read(short).logits[:-1].double()
surprise = -torch.log_softmax(logits, dim=-1)[torch.arange(len(short) - 1), short[1:]]
ours = float(surprise.mean().exp())
assert abs(ours / perplexity(model, short).value - 1) < 1e-4  # the package's is the same

quality = perplexity(model, topic)
mixed = topic[torch.randperm(256 if pace() == "full" else 64, generator=torch.Generator().manual_seed(0))]
shuffled = perplexity(model, mixed)
say(
    f"On a page about `import`, SmolLM2 is undecided between **{quality.value:.1f}** tokens; on its first "
    f"{len(mixed)} tokens, shuffled, between {shuffled.value:,.0f}. It has {c.vocabulary:,} to choose from."
)

# %% [markdown] id="01-ledger-open"
# ## The ledger
#
# One more line, for the design that remembers *nothing* and reads everything again: no bytes kept, and
# all the price in the corner of arithmetic. We time it at the length that your conversation of chapter 00
# ended with. (Until the first token both designs do the same work: that column stays empty.)

# %% id="01-ledger"
from memlessons.bench.conversation import Conversation
from memlessons.cost.roofline import attention_flops
from memlessons.measure import Value, provenance, timed
from memlessons.places import work_folder
from memlessons.plan import Layer, MemoryPlan
from memlessons.show.scoreboard import ledger, scoreboard

kept = work_folder() / "conversation.json"
context = Conversation.kept(kept).context_tokens if kept.exists() else 256
context = context if pace() == "full" else min(context, 128)
page = torch.randint(0, c.vocabulary, (1, context), generator=torch.Generator().manual_seed(1))
step = timed(
    lambda: model.decoder.forward(page, model.decoder.new_state(capacity=context), last=True), repetitions=5
)

nothing = MemoryPlan((Layer(c.query_heads, ()),) * c.layers)
flop = (
    context * (one - last_choice)
    + last_choice
    + sum(attention_flops(model.plan, n) for n in range(1, context + 1))
)
ledger.add(
    "remembers nothing",
    nothing,
    {
        "context": context,
        "flop_per_token": flop,
        "tokens_per_second": Value.of([1 / s for s in step.samples], "tokens/s"),
        "perplexity": quality.value,
        "perplexity_spread": quality.spread,
        "provenance": provenance(),
    },
    chapter="01",
    corner="compute",
)
scoreboard()

# %% [markdown] id="01-exercises"
# ## Exercises
#
# Write your lines in place of the `...` and run the cell. `hint("01.1")` asks you a question that helps;
# ask again for more.

# %% [markdown] id="01-ex1"
# **01.1 Attend** (build). Causal attention, heads first: `q` is `[H, T, D]`, `k` and `v` are `[H, S, D]`,
# and the queries are the *last* T of the S positions. Multiply the scores by `scale`. Return `[H, T, D]`.
# By hand: with all scores 0 and values of 0, 1, 2 and 3 at four positions, the last two queries get 1 and
# 1.5.

# %% id="01-ex1-cell"
import torch
from memlessons.coursework import exercise


@exercise("01.1")
def attend_causally(q, k, v, scale): ...


# %% [markdown] id="01-ex2"
# **01.2 The instrument** (build). `states` is `[n, layers, D]`, `plus` and `minus` are `[m, layers, D]`,
# sentences of two classes. Return the cosine of (state minus midpoint) with the axis between the class
# means, per layer: `[n, layers]`. By hand, with one layer and one sentence a class, `[3, 1]` and `[1, 1]`:
# the states `[5, 4]` and `[2, 7]` score 0.707 and 0.

# %% id="01-ex2-cell"
import torch
from memlessons.coursework import exercise


@exercise("01.2")
def score_meaning(states, plus, minus): ...


# %% [markdown] id="01-ex3"
# **01.3 A decode step** (build). `x` is `[D]`, `wq`, `wk`, `wv` are `[D, D]` (apply as `w @ x`), the
# caches are `[capacity, D]`, of which the first `length` rows are used and the others hold NaN, so that
# touching an unused row shows. Write key and value in place, attend with scale `D ** -0.5`, return the
# output and the new length. By hand: `x` is `[2, 0]`, `wq` is the identity, `wk` is `[[0, 1], [3, 0]]`
# and `wv` is `[[1, 0], [2, 0]]`; the one row in use has the key `[0, 5]` and the value `[4, 0]`. The new
# key is `[0, 6]`, the new value `[2, 4]`, both scores are zero: the output is `[3, 2]` and the new
# length 2.

# %% id="01-ex3-cell"
import torch
from memlessons.coursework import exercise


@exercise("01.3")
def decode_step(x, wq, wk, wv, k_cache, v_cache, length): ...


# %% [markdown] id="01-ex4"
# **01.4 Work** (decide). How many token positions go through the model to produce `new` tokens after a
# prompt of `prompt` tokens, with a cache (`cached` is true) and without? (The last token made need not be
# read by anybody.) Return an int. By hand: `tokens_processed(10, 3, True)` is 12,
# `tokens_processed(10, 3, False)` is 33, and `tokens_processed(10, 1, False)` is 10.

# %% id="01-ex4-cell"
from memlessons.coursework import exercise


@exercise("01.4")
def tokens_processed(prompt, new, cached): ...


# %% [markdown] id="01-ex5"
# **01.5 Rotate** (build). RoPE on the pairs (i, i + D/2): `x` is `[T, D]`, `positions` is `[T]`. Pair i
# turns by position times `base ** (-2 * i / D)`. Return `[T, D]`. By hand: `[1, 0, 0, 0]` at position
# `pi / 2` becomes `[0, 0, 1, 0]`, a quarter turn.

# %% id="01-ex5-cell"
import torch
from memlessons.coursework import exercise


@exercise("01.5")
def rotate_pairs(x, positions, base): ...


# %% [markdown] id="01-left-out"
# ## What we left out
#
# What the feed-forward part of a layer knows (most of the weights sit there). Heads one by one: some
# copy, some look one step back, and names for them are a field of its own. Whether the axis we found is
# the one the model uses, beyond the words we hid. And the question that the rest of this book asks: the
# cache is read whole for every single token, and it grows with every word you say.

# %% [markdown] id="01-sources"
# ## Sources
#
# - A. Vaswani and others: Attention Is All You Need. arXiv:1706.03762, 2017.
# - R. Collobert and others: Natural Language Processing (Almost) from Scratch. arXiv:1103.0398, 2011.
# - J. Su and others: RoFormer: Enhanced Transformer with Rotary Position Embedding. arXiv:2104.09864, 2021.
# - J. Ainslie and others: GQA: Training Generalized Multi-Query Transformer Models. arXiv:2305.13245, 2023.
# - F. Jelinek and others: Perplexity, a measure of the difficulty of speech recognition tasks. JASA 62, 1977.
# - Python's documentation, as shipped with Python (`pydoc_data.topics`), for the text.
