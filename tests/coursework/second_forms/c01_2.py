"""01.2, wrong answers as a reader might write them."""

import torch


def per_layer(states, plus, minus, value):
    n, layers, _ = states.shape
    out = torch.zeros(n, layers, dtype=states.dtype)
    for i in range(n):
        for j in range(layers):
            a, b = plus[:, j].mean(0), minus[:, j].mean(0)
            out[i, j] = value(states[i, j], a, b)
    return out


def cos(x, y):
    return (x * y).sum() / (x.norm() * y.norm())


def uncentred(states, plus, minus):
    return per_layer(states, plus, minus, lambda x, a, b: cos(x, a - b))


def last_axis(states, plus, minus):
    axis = (plus.sum(0) / len(plus) - minus.sum(0) / len(minus))[-1]
    return per_layer(states, plus, minus, lambda x, a, b: cos(x - (a + b) / 2, axis))


def plain_product(states, plus, minus):
    return per_layer(states, plus, minus, lambda x, a, b: (x - (a + b) / 2) @ (a - b))


def projection(states, plus, minus):
    return per_layer(states, plus, minus, lambda x, a, b: (x - (a + b) / 2) @ (a - b) / (a - b).norm())


def towards_minus(states, plus, minus):
    return per_layer(states, plus, minus, lambda x, a, b: cos(x - (a + b) / 2, b - a))


def sum_of_means(states, plus, minus):
    return per_layer(states, plus, minus, lambda x, a, b: cos(x - a - b, a - b))


FORMS = {
    "no midpoint": uncentred,
    "last layer's axis everywhere": last_axis,
    "dot product": plain_product,
    "divided by the axis only": projection,
    "sign flipped": towards_minus,
    "midpoint not halved": sum_of_means,
}
