"""00.1, wrong answers as a reader might write them."""


def both_in_gib(need_bytes, card_gb, reserve_gib):
    gib = 1024**3
    left = card_gb * gib - reserve_gib * gib
    left -= need_bytes
    if left < 0:
        return 0
    return int(left)


def both_in_gb(need_bytes, card_gb, reserve_gib):
    left = int((card_gb - reserve_gib) * 1e9) - need_bytes
    return left if left > 0 else 0


def never_stopped_at_nothing(need_bytes, card_gb, reserve_gib):
    card = card_gb * 1000 * 1000 * 1000
    for taken in (reserve_gib * 2**30, need_bytes):
        card -= taken
    return int(card)


FORMS = {
    "card as GiB": both_in_gib,
    "reserve as GB": both_in_gb,
    "negative room": never_stopped_at_nothing,
}
