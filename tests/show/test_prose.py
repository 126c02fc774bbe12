"""What cells say, in a shell: plain, aligned, and never a tag."""

import html.parser
import math
import re
import subprocess
import sys

import numpy
import pytest

from memlessons.show import prose, shell
from memlessons.show.prose import NoSource, claim, folded, say, show_source, table
from memlessons.show.shell import code_span, plain_text, safe_markdown


@pytest.fixture
def notebook(monkeypatch):
    """A shell that renders: collects the bundles it is given."""
    shown = []

    class Publisher:
        def publish(self, data, metadata):
            shown.append(data)

    class Shell:
        display_pub = Publisher()

    monkeypatch.setattr(shell, "notebook_shell", Shell)
    return shown


def test_a_shell_prints_prose_without_its_marks(capsys):
    say("""
        Seeing all: **11.1** tokens, *not* `2*x*3`; see [the paper](https://example.org/a_b).

        ## Next
        - 3 * 4 * 5 stays, snake_case_too
    """)
    assert capsys.readouterr().out == (
        "Seeing all: 11.1 tokens, not 2*x*3; see the paper (https://example.org/a_b).\n\n"
        "Next\n- 3 * 4 * 5 stays, snake_case_too\n"
    )


def test_a_notebook_gets_markdown_and_the_plain_text(notebook):
    say("Between **11.1** tokens.")
    assert notebook == [{"text/markdown": "Between **11.1** tokens.", "text/plain": "Between 11.1 tokens."}]


@pytest.mark.parametrize("bad", ["<|im_start|>", "<img src=x onerror=alert(1)>", "a < b", "</div>"])
def test_text_from_a_model_never_becomes_a_tag(notebook, bad):
    say(f"It says {bad}")
    assert "<" not in notebook[0]["text/markdown"]
    assert bad in notebook[0]["text/plain"]


@pytest.mark.parametrize(
    "kept", ["`a < b`", "``a ` < b``", "```python\nif a < b:\n    pass\n```", "$a < b$", "$$\na < b\n$$"]
)
def test_code_and_formulas_are_left_to_the_renderer(kept):
    assert safe_markdown(f"x < y {kept}" if "\n" not in kept else f"x < y\n\n{kept}\n").count("<") == 1


def test_prices_are_no_formulas():
    assert plain_text("from $5 to **$6**") == "from $5 to $6"


@pytest.mark.parametrize(
    "text", ["plain", "`", "``x``", " lead", "two\nlines", "", "**bold** <b> $x$", "a`b``c"]
)
def test_a_code_span_shows_any_text_as_it_is(text):
    from markdown_it import MarkdownIt

    (inline,) = [t for t in MarkdownIt().parse(f"It wrote {code_span(text)} there.") if t.type == "inline"]
    codes = [child.content for child in inline.children if child.type == "code_inline"]
    assert codes == [text.replace("\n", "⏎") or " "]


def test_what_is_folded_opens_in_a_notebook_and_stands_below_its_title_in_a_shell(notebook, capsys):
    folded("The <answer>", "1. **Four** <script>\n2. Five")
    (bundle,) = notebook
    assert bundle["text/markdown"] == (
        "<details><summary>The &lt;answer&gt;</summary>\n\n1. **Four** &lt;script>\n2. Five\n\n</details>"
    )
    assert bundle["text/plain"] == "The <answer>:\n1. Four <script>\n2. Five"


def test_a_claim_says_what_shows_here(capsys):
    claim(2 < 3, "It is faster.", "Not here.")
    claim(numpy.bool_(False), "It is faster.", "Not here.")
    claim(math.nan, "It is faster.", "Not here.")
    assert capsys.readouterr().out == "It is faster.\nNot here.\nNot here.\n"


def test_a_table_in_a_shell_is_aligned(capsys):
    table({"token 0": 14.2, "token 100": 25.713, "none": None}, unit="perplexity", beside=25.7)
    assert capsys.readouterr().out.splitlines() == [
        "           perplexity  against 25.7",
        "---------  ----------  ------------",
        "token 0          14.2       × 0.553",
        "token 100        25.7           × 1",
        "none                –",
    ]


def test_units_that_scale_stand_with_each_value(capsys):
    table({"K and V": 3 * 2**20, "scales": 2048}, unit="bytes", caption="What is kept")
    out = capsys.readouterr().out
    assert out.startswith("What is kept\n")
    assert "3.00 MiB" in out and "2.00 KiB" in out


def test_a_list_of_rows_has_a_unit_for_each_column(capsys):
    rows = [
        {"layer": "0", "time": 0.002, "share": 0.25, "fits": True},
        {"layer": "1", "time": 3.0, "share": 0.5},
    ]
    table(rows, unit={"time": "seconds", "share": "of the roof"})
    assert capsys.readouterr().out.splitlines() == [
        "layer     time  share (of the roof)  fits",
        "-----  -------  -------------------  ----",
        "    0  2.00 ms                 0.25  yes",
        "    1   3.00 s                  0.5  –",
    ]


def test_numbers_of_numpy_and_torch_are_numbers(notebook):
    table({"a": numpy.float32(1.5), "b": numpy.int64(1024)}, unit="")
    assert ">1.5<" in notebook[0]["text/html"] and ">1,024<" in notebook[0]["text/html"]


def test_an_html_table_escapes_what_it_shows_has_headers_and_no_colours(notebook):
    table({"<script>alert(1)</script>": "<b>&", "b": 1.0}, unit="<i>", caption="<u>")
    shown = notebook[0]["text/html"]
    tags = []

    class Tags(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append((tag, dict(attrs)))

    Tags().feed(shown)
    names = {tag for tag, _ in tags}
    assert names == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {attrs["scope"] for tag, attrs in tags if tag == "th"} == {"col", "row"}
    assert all(set(attrs) <= {"scope", "align"} for _, attrs in tags)
    assert "color" not in shown and "style" not in shown


def test_source_is_shown_with_its_place_in_the_package(capsys, notebook):
    show_source(prose.claim)
    shown = notebook[0]["text/markdown"]
    assert re.match(r"`memlessons/show/prose.py, line \d+`\n\n```python\ndef claim\(", shown)
    assert "/root" not in shown and str(prose.__file__) not in shown


def test_source_in_a_shell_is_plain(capsys):
    show_source(prose.NoSource)
    first, _, code = capsys.readouterr().out.partition("\n\n")
    assert first.startswith("memlessons/show/prose.py, line ")
    assert code.startswith("class NoSource(")


def test_jitted_and_wrapped_functions_show_what_they_were_made_from(capsys):
    class Jitted:
        def __init__(self, fn):
            self.fn = fn

    show_source(Jitted(prose.claim))
    assert "def claim(" in capsys.readouterr().out


def test_backticks_in_source_do_not_end_the_block(notebook):
    show_source(shell.code_span)
    shown = notebook[0]["text/markdown"]
    fence = shown.split("\n")[2].removesuffix("python")
    assert shown.endswith(f"\n{fence}")
    assert f"\n{fence}\n" not in shown


@pytest.mark.parametrize("thing", [len, 3, "text"])
def test_what_has_no_source_is_named(thing):
    with pytest.raises(NoSource, match="pass a function"):
        show_source(thing)


def test_prose_needs_neither_ipython_nor_the_drawing_library():
    program = (
        "import sys\n"
        "sys.modules['IPython'] = None\n"
        "from memlessons.show import say, predict, reveal, claim, table, show_source\n"
        "say('**fine**'); table({'a': 1}); claim(True, 'yes', 'no')\n"
        "assert not {'plotly', 'torch', 'numpy', 'pygments'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fine\n")


def test_all_public_names_load():
    import memlessons.show as package

    assert all(getattr(package, name) is not None for name in package.__all__)
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError):
        _ = package.nothing_of_that_name


def test_show_source_reads_a_named_function_without_importing_its_module(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_source("memlessons.kernels.split.split_kernel")
    said = capsys.readouterr().out
    assert said.startswith("kernels/split.py, line ")
    assert "def split_kernel(" in said and "def times(" not in said
    for name in (
        "memlessons.kernels.split.nothing",
        "memlessons.kernels.nothing.split_kernel",
        "split_kernel",
    ):
        with pytest.raises(NoSource, match="no Python source"):
            show_source(name)
