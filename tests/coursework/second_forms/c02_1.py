"""Wrong answers to 02.1 as readers write them."""


def _get(config, key, default):
    value = config.get(key)
    if value is None:
        return default
    return value


def _count(config, context, batch, bits_k, bits_v, heads=None, width=None):
    n = config["num_attention_heads"]
    h = heads if heads is not None else _get(config, "num_key_value_heads", n)
    d = width if width is not None else _get(config, "head_dim", config["hidden_size"] // n)
    total = 0
    for _ in range(config["num_hidden_layers"]):
        total += batch * context * h * d * bits_k // 8
        total += batch * context * h * d * bits_v // 8
    return total


def divides_hidden_size(config, context, batch, bits_k, bits_v):
    width = config["hidden_size"] // config["num_attention_heads"]
    return _count(config, context, batch, bits_k, bits_v, width=width)


def takes_query_heads(config, context, batch, bits_k, bits_v):
    return _count(config, context, batch, bits_k, bits_v, heads=config["num_attention_heads"])


def keys_alone(config, context, batch, bits_k, bits_v):
    return _count(config, context, batch, bits_k, 0)


def one_reader(config, context, batch, bits_k, bits_v):
    return _count(config, context, 1, bits_k, bits_v)


def forgets_the_eight(config, context, batch, bits_k, bits_v):
    return _count(config, context, batch, 8 * bits_k, 8 * bits_v)


def same_bits_for_both(config, context, batch, bits_k, bits_v):
    return _count(config, context, batch, bits_k, bits_k)


def splits_it_among_kv_heads(config, context, batch, bits_k, bits_v):
    sharing = _get(config, "num_key_value_heads", config["num_attention_heads"])
    width = _get(config, "head_dim", int(config["hidden_size"] / sharing))
    return _count(config, context, batch, bits_k, bits_v, width=width)


def a_single_layer(config, context, batch, bits_k, bits_v):
    return _count({**config, "num_hidden_layers": 1}, context, batch, bits_k, bits_v)


FORMS = {
    "hidden / heads": divides_hidden_size,
    "query heads": takes_query_heads,
    "one copy": keys_alone,
    "no batch": one_reader,
    "bits as bytes": forgets_the_eight,
    "V stored like K": same_bits_for_both,
    "hidden_size / KV heads": splits_it_among_kv_heads,
    "layers forgotten": a_single_layer,
}
