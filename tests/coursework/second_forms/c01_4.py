"""01.4, wrong answers as a reader might write them."""


def all_steps(prompt, new):
    return [prompt + i for i in range(new)]


def one_step_more(prompt, new, cached):
    steps = all_steps(prompt, new + 1)
    return steps[-1] if cached else sum(steps)


def every_step_the_prompt(prompt, new, cached):
    if cached:
        return all_steps(prompt, new)[-1]
    return new * prompt


def every_step_the_end(prompt, new, cached):
    longest = all_steps(prompt, new)[-1]
    return longest if cached else new * longest


def new_ones_only(prompt, new, cached):
    if cached:
        return new
    return sum(all_steps(prompt, new))


FORMS = {
    "feeds the last token": one_step_more,
    "no growth": every_step_the_prompt,
    "final length at every step": every_step_the_end,
    "prompt forgotten": new_ones_only,
}
