"""00.2, wrong answers as a reader might write them."""


def one_after_the_other(flops, bytes_moved, flop_rate, bandwidth):
    a = flops / flop_rate
    b = bytes_moved / bandwidth
    if a >= b:
        return a + b, "compute"
    return a + b, "memory"


def wrong_rate(flops, bytes_moved, flop_rate, bandwidth):
    a = flops / bandwidth
    b = bytes_moved / flop_rate
    if a >= b:
        return a, "compute"
    return b, "memory"


def the_faster_one(flops, bytes_moved, flop_rate, bandwidth):
    times = {"compute": flops / flop_rate, "memory": bytes_moved / bandwidth}
    first = sorted(times, key=times.get)[0]
    return times[first], first


def all_in_one(flops, bytes_moved, flop_rate, bandwidth):
    work = flops + bytes_moved
    speed = (flop_rate + bandwidth) / 2
    limit = "compute" if flops / flop_rate >= bytes_moved / bandwidth else "memory"
    return work / speed, limit


def memory_first(flops, bytes_moved, flop_rate, bandwidth):
    busy, waiting = flops / flop_rate, bytes_moved / bandwidth
    if waiting >= busy:
        return waiting, "memory"
    return busy, "compute"


FORMS = {
    "sum": one_after_the_other,
    "swapped rates": wrong_rate,
    "min": the_faster_one,
    "one averaged rate": all_in_one,
    "memory on a tie": memory_first,
}
