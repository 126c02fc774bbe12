"""Feedback is short, begins with the diagnosis, and nothing a reader wrote becomes HTML."""

import re

from memlessons.coursework.check import check
from memlessons.coursework.compact import call_lines
from memlessons.coursework.feedback import LINES, Feedback
from tests.coursework.samples import no_limit, sums

WHOLE = Feedback(
    id="03.2",
    title="Merge",
    verdict="mistake",
    said='this looks like "plain average".',
    hint="3 tokens against 3,000?",
    case=("merge(a=1, b=2)", "expected  3", "got       4"),
    closing="Wrong for 7 of 9 inputs; `seed=5` draws the same again.",
    mistake="plain average",
    printed=("printed: hello",),
)


def test_text_in_whole():
    assert WHOLE.text() == (
        '03.2 Merge: this looks like "plain average".\n'
        "3 tokens against 3,000?\n"
        "  merge(a=1, b=2)\n"
        "  expected  3\n"
        "  got       4\n"
        "  printed: hello\n"
        "Wrong for 7 of 9 inputs; `seed=5` draws the same again."
    )


def test_html_in_whole():
    assert WHOLE.html() == (
        "<div><strong>03.2 Merge: this looks like &quot;plain average&quot;.</strong>"
        "<br>3 tokens against 3,000?"
        "<pre>merge(a=1, b=2)\nexpected  3\ngot       4</pre><pre>printed: hello</pre>"
        "<small>Wrong for 7 of 9 inputs; <code>seed=5</code> draws the same again.</small></div>"
    )


def test_a_pass_is_one_line():
    passed = Feedback("03.2", "Merge", "passed", "passed (9 inputs).")
    assert passed.passed
    assert passed.text() == "03.2 Merge: passed (9 inputs)."
    assert passed.html() == "<div><strong>03.2 Merge: passed (9 inputs).</strong></div>"


def test_never_more_than_twelve_lines_and_the_closing_stays():
    long = Feedback(
        id="03.2",
        title="Merge",
        verdict="raises",
        said="it raises " + "words and " * 90,
        hint="why " * 200,
        case=tuple(f"line {n}" for n in range(20)),
        closing="the seed is 5",
        printed=("printed: a", "printed: b"),
    )
    lines = long.text().splitlines()
    assert len(lines) == LINES == 12
    assert lines[-1] == "the seed is 5"
    assert max(map(len, lines)) <= 110


def test_a_traceback_comes_on_top_of_the_twelve():
    asked = Feedback("03.2", "Merge", "raises", "it raises X", trace="Traceback\n  <b>")
    assert asked.text().splitlines()[-2:] == ["Traceback", "  <b>"]
    assert "<pre>Traceback\n  &lt;b&gt;</pre>" in asked.html()


def test_what_a_reader_wrote_is_shown_as_text():
    def answer(values, most):
        print("<script>alert(1)</script>")
        return "<img src=x onerror=alert(2)>"

    def raises(values, most):
        raise ValueError("<b>bold</b> & more")

    for found in (check(sums(), answer, seed=1), check(sums(), raises, seed=1)):
        tags = set(re.findall(r"</?(\w+)", found.html()))
        assert tags <= {"div", "strong", "br", "pre", "small", "code"}
        assert "&lt;" in found.html()


def test_no_colour_is_set():
    html = check(sums(), no_limit, seed=1).html()
    assert not re.search(r"style|color|class=", html)


def test_a_call_breaks_between_its_arguments():
    given = {f"argument_{n}": "x" * 30 for n in range(5)}
    lines = call_lines("f", given, most=9)
    assert lines[0].startswith("f(argument_0=")
    assert all(line.startswith("    argument_") for line in lines[1:])
    assert lines[-1].endswith(")")
    assert max(map(len, lines)) <= 96
    assert call_lines("f", given, most=2)[1] == "    … and more"
    assert call_lines("f", {}) == ("f()",)
    assert call_lines("f", {"a": 1, "b": 2.5}) == ("f(a=1, b=2.5)",)
