"""Wrong answers to 02.2 as readers write them."""


def _walk(weight_bytes, layers, constant, batch, longest):
    """Token by token, adding what each layer still takes."""
    held = batch * constant
    for t in range(1, longest + 1):
        held += batch * sum(b for b, window in layers if window is None or t <= window)
        if held >= weight_bytes:
            return t
    return None


def keeps_the_first_slope(weight_bytes, layers, constant, batch, longest):
    return _walk(weight_bytes, [(b, None) for b, _ in layers], constant, batch, longest)


def drops_windowed_layers(weight_bytes, layers, constant, batch, longest):
    kept = []
    for b, window in layers:
        if window is None:
            kept.append((b, window))
    return _walk(weight_bytes, kept, constant, batch, longest)


def single_reader(weight_bytes, layers, constant, batch, longest):
    return _walk(weight_bytes, layers, constant, 1, longest)


def never_asks_the_model(weight_bytes, layers, constant, batch, longest):
    found = _walk(weight_bytes, layers, constant, batch, longest)
    if found is not None:
        return found
    # Beyond every window only the global layers grow.
    slope = batch * sum(b for b, window in layers if window is None)
    wide = max([longest] + [window for _, window in layers if window is not None])
    found = _walk(weight_bytes, layers, constant, batch, wide)
    if found is not None or slope == 0:
        return found
    held = batch * (
        constant + sum(b * (wide if window is None else min(window, wide)) for b, window in layers)
    )
    return wide + -((held - weight_bytes) // slope)


def waits_until_it_is_more(weight_bytes, layers, constant, batch, longest):
    return _walk(weight_bytes + 1, layers, constant, batch, longest)


def shares_the_constant(weight_bytes, layers, constant, batch, longest):
    return _walk(weight_bytes - constant, layers, 0, batch, longest)


FORMS = {
    "slope at one token": keeps_the_first_slope,
    "global layers only": drops_windowed_layers,
    "no batch": single_reader,
    "beyond the longest": never_asks_the_model,
    "more than, not at least": waits_until_it_is_more,
    "constant once": shares_the_constant,
}
