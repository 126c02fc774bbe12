"""00.4, wrong answers as a reader might write them."""

from statistics import fmean, median


def line(xs, ys):
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    up = down = 0.0
    for x, y in zip(xs, ys, strict=True):
        up += (x - mx) * (y - my)
        down += (x - mx) ** 2
    slope = up / down
    return slope, my - slope * mx


def averaged_rates(sizes, seconds):
    rates = []
    for size, runs in zip(sizes, seconds, strict=True):
        rates.append(size / median(runs))
    return sum(rates) / len(rates), 0.0


def with_the_outlier(sizes, seconds):
    slope, start = line(sizes, [fmean(runs) for runs in seconds])
    return 1 / slope, start


def slope_as_it_is(sizes, seconds):
    return line(sizes, [median(runs) for runs in seconds])


def only_the_largest(sizes, seconds):
    i = sizes.index(max(sizes))
    return sizes[i] / median(seconds[i]), 0.0


def best_of_each(sizes, seconds):
    slope, start = line(sizes, [sorted(runs)[0] for runs in seconds])
    return 1 / slope, start


def first_and_last(sizes, seconds):
    t = [median(runs) for runs in seconds]
    bandwidth = (sizes[-1] - sizes[0]) / (t[-1] - t[0])
    return bandwidth, t[-1] - sizes[-1] / bandwidth


FORMS = {
    "rate per point": averaged_rates,
    "mean of repetitions": with_the_outlier,
    "slope not inverted": slope_as_it_is,
    "largest size only": only_the_largest,
    "fastest repetition": best_of_each,
    "line through the ends": first_and_last,
}
