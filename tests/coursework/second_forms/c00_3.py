"""00.3, wrong answers as a reader might write them."""

import math


def every_flop_is_one(flop_rate, bandwidth, element_bytes):
    elements_per_s = bandwidth / element_bytes
    n = math.ceil(flop_rate / elements_per_s)
    return n if n >= 1 else 1


def per_byte(flop_rate, bandwidth, element_bytes):
    madds = flop_rate / 2
    return max(math.ceil(madds / bandwidth), 1)


def floor(flop_rate, bandwidth, element_bytes):
    elements_per_s = bandwidth / element_bytes
    n = int(flop_rate / 2 / elements_per_s)
    if n == 0:
        n = 1
    return n


def upside_down(flop_rate, bandwidth, element_bytes):
    n = bandwidth / flop_rate * element_bytes / 2
    return max(math.ceil(n), 1)


def nearest(flop_rate, bandwidth, element_bytes):
    elements_per_s = bandwidth / element_bytes
    return int(flop_rate / 2 / elements_per_s + 0.5)


def and_one_to_be_safe(flop_rate, bandwidth, element_bytes):
    return int(flop_rate * element_bytes // (2 * bandwidth)) + 1


FORMS = {
    "FLOP counted as multiply-add": every_flop_is_one,
    "element size lost": per_byte,
    "rounded down": floor,
    "rounded to the nearest": nearest,
    "one too many": and_one_to_be_safe,
    "inverted": upside_down,
}
