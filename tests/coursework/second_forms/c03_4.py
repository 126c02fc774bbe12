"""Wrong answers to 03.4 as readers write them: from the elements of one token up."""


def _elements(batch, heads, tokens, width):
    keys = batch * tokens * heads * width
    values = keys
    return keys + values


def reads_the_copy_and_no_more(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded):
    heads = q_heads if expanded else kv_heads
    return _elements(batch, heads, tokens, width) * element_bytes


def reads_twice_writes_never(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded):
    moved = _elements(batch, kv_heads, tokens, width)
    if expanded:
        moved += _elements(batch, q_heads, tokens, width)
    return moved * element_bytes


def counts_keys(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded):
    moved = _elements(batch, kv_heads, tokens, width)
    if expanded:
        moved += 2 * _elements(batch, q_heads, tokens, width)
    return moved // 2 * element_bytes


def ignores_the_copy(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded):
    return _elements(batch, kv_heads, tokens, width) * element_bytes


def every_head_fetches(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded):
    if not expanded:
        return _elements(batch, q_heads, tokens, width) * element_bytes
    return (
        _elements(batch, kv_heads, tokens, width) + 2 * _elements(batch, q_heads, tokens, width)
    ) * element_bytes


def copy_out_and_in(batch, q_heads, kv_heads, tokens, width, element_bytes, expanded):
    if not expanded:
        return _elements(batch, kv_heads, tokens, width) * element_bytes
    copy = _elements(batch, q_heads, tokens, width) * element_bytes
    written, read = copy, copy
    return written + read


FORMS = {
    "final read only": reads_the_copy_and_no_more,
    "write forgotten": reads_twice_writes_never,
    "original read forgotten": copy_out_and_in,
    "K only": counts_keys,
    "expanding is free": ignores_the_copy,
    "shared but read per head": every_head_fetches,
}
