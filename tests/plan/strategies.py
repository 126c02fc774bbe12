"""Random plans for the properties below."""

from hypothesis import strategies as st

from memlessons.plan import BF16, F16, F32, FORMATS, Layer, MemoryPlan, Store

formats = st.sampled_from(sorted(FORMATS.values(), key=lambda f: f.name))


@st.composite
def full_stores(draw, kv_heads: int, among=st.sampled_from([F16, BF16, F32])) -> Store:
    key, value = draw(st.integers(1, 12)) * 2, draw(st.integers(1, 24))
    return Store("self", kv_heads, key, value, key_format=draw(among), value_format=draw(among))


@st.composite
def full_plans(draw) -> MemoryPlan:
    layers = []
    for _ in range(draw(st.integers(1, 4))):
        kv_heads = draw(st.integers(1, 4))
        store = draw(full_stores(kv_heads))
        layers.append(Layer(kv_heads * draw(st.integers(1, 4)), (store,)))
    return MemoryPlan(tuple(layers))


@st.composite
def any_stores(draw) -> Store:
    role = draw(st.sampled_from(["self", "latent", "index", "cross", "state"]))
    state = tuple(
        (draw(st.integers(1, 500)), draw(formats))
        for _ in range(draw(st.integers(1 if role == "state" else 0, 2)))
    )
    if role == "state":
        return Store("state", grows_with="nothing", state=state, divides="state")
    if role == "cross":
        return Store("cross", 1, draw(st.integers(1, 9)), 4, grows_with="encoder_tokens")
    reach = draw(st.sampled_from(["all", "window", "block"]))
    window = draw(st.integers(1, 30)) if reach == "window" else None
    return Store(
        role,
        1 if role != "self" else draw(st.integers(1, 3)),
        draw(st.integers(1, 9)),
        0 if role != "self" else draw(st.integers(1, 9)),
        key_format=draw(formats),
        value_format=draw(formats),
        window=window,
        sink_tokens=draw(st.integers(0, 4)) if window else 0,
        slack=draw(st.integers(0, 4)) if window else 0,
        block=draw(st.integers(1, 30)) if reach == "block" else None,
        stride=draw(st.sampled_from([1, 1, 4])),
        state=state,
        read_tokens=draw(st.sampled_from([None, 5])),
    )


@st.composite
def any_plans(draw) -> MemoryPlan:
    layers: list[Layer] = []
    for i in range(draw(st.integers(1, 5))):
        owners = [j for j in range(i) if layers[j].reads_from is None and layers[j].stores]
        reads = draw(st.sampled_from([None, *owners])) if owners else None
        stores = (
            () if reads is not None else tuple(draw(any_stores()) for _ in range(draw(st.integers(1, 2))))
        )
        layers.append(
            Layer(6, stores, reads_from=reads, draft=draw(st.booleans()), rule=draw(st.text(max_size=5)))
        )
    return MemoryPlan(tuple(layers), draw(st.sampled_from([1, 1, 16])))
