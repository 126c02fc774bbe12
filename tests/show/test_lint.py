"""No measured number in prose: what the lint finds, what it lets pass, and where it says it is."""

import subprocess
import sys

import pytest

from memlessons.show.lint import main, offences


def found(text):
    """The offending words in one Markdown cell that says `text`."""
    lines = "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
    return [o.words for o in offences(f'# %% [markdown] id="00-a"\n{lines}\n\n# %% id="00-b"\nx = 1\n')]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is 37% faster.", "37%"),
        ("some 37 % of it", "37 %"),
        ("37 percent", "37 percent"),
        ("That is 16 times the work.", "16 times"),
        ("a 2.5x gain", "2.5x"),
        ("a 20× gain", "20×"),
        ("8 x faster", "8 x"),
        ("It takes 12 ms.", "12 ms"),
        ("12.5ms", "12.5ms"),
        ("3 µs", "3 µs"),
        ("40 ns each", "40 ns"),
        ("after 2 s", "2 s"),
        ("in 60 seconds", "60 seconds"),
        ("a 5-second run", "5-second"),
        ("in 40 minutes", "40 minutes"),
        ("for 2 hours", "2 hours"),
        ("98 MB to download", "98 MB"),
        ("80 GB cards", "80 GB"),
        ("1.5 GiB", "1.5 GiB"),
        ("45 MiB in all", "45 MiB"),
        ("22.5 KiB", "22.5 KiB"),
        ("1,024 KB", "1,024 KB"),
        ("16.6 GB/s", "16.6 GB/s"),
        ("8.3 tokens/s", "8.3 tokens/s"),
        ("8 tokens per second", "8 tokens per second"),
        ("8 tokens a second", "8 tokens a second"),
        ("73 GFLOP/s", "73 GFLOP/s"),
        ("2 TFLOPS", "2 TFLOPS"),
        ("at 3.2 GHz", "3.2 GHz"),
        ("700 W", "700 W"),
        ("3.2 nats", "3.2 nats"),
        ("a perplexity of 11.06", "perplexity of 11.06"),
        ("perplexity 11", "perplexity 11"),
        ("perplexity rises to 25.7", "perplexity rises to 25.7"),
        ("perplexity is only 12", "perplexity is only 12"),
        ("11.1 perplexity", "11.1 perplexity"),
        ("30-60 ms", "30-60 ms"),
        ("between 10 and 36 GB/s", "36 GB/s"),
        ("about ~5 %", "~5 %"),
        ("1e-3 s", "1e-3 s"),
        ("**12** ms", "12 ms"),
        ("a line that ends in 12\nms of waiting", "12 ms"),
        ("- one item: 5 ms", "5 ms"),
        ("## 5 ms", "5 ms"),
        ("| a | 5 ms |", "5 ms"),
        ("> quoted 5 ms", "5 ms"),
        ("see [chapter 02](02_tax.ipynb): 5 ms", "5 ms"),
        ("![5 ms](a.png)", "5 ms"),
        ("It takes 12 ms\nof [time](#here)", "12 ms"),
    ],
)
def test_a_measured_number_in_prose_is_found(text, words):
    assert found(text) == [words]


@pytest.mark.parametrize(
    "text",
    [
        "Add 64 million numbers, or multiply two 1,024 matrices.",
        "30 layers, 9 query heads, 3 KV heads of 64",
        "any of the 1,024",
        "512 tokens",
        "an 8k context",
        "16 bits",
        "2 bytes each",
        "sixteen times the work",
        "chapter 07, line 3",
        "In 2017 and the 1990s",
        "SmolLM2-135M",
        "a product 3 x 64",
        "3×64",
        "9 times 64",
        "the perplexity of the first 1,024 tokens",
        "step 3 says",
        "Llama-2-7B",
        "fig-00",
        "5 Sorts of memory",
        "3 more",
        "It is `12 ms` here",
        "``12 ms`` too",
        "$t = 12 s$ by definition",
        "$$\n12 ms\n$$",
        "<!-- 12 ms -->",
        "```\n12 ms\n```",
        "It took 12 ms [Smith 2020](#src-smith).",
        "12 ms, see [there](https://example.org/a).",
        "12 ms[^a]",
        "12 ms <https://example.org>",
        "A first line\nof 12 ms by\n[Smith](#src-smith) here",
        "2 sentences",
        "10 items",
        "3 systems",
        "the 4 heads",
        "4 msgs",
        "v2.5",
        "(0.0 at the embedding)",
    ],
)
def test_counts_definitions_code_formulas_and_cited_numbers_pass(text):
    assert found(text) == []


def test_a_citation_covers_its_own_paragraph_only():
    cited = "12 ms [Smith](#src-smith).\n\nAnd 13 ms.\n\n- 14 ms\n- 15 ms [Smith](#src-smith)"
    text = f"{cited}\n\n| 16 ms |\n| 17 ms[^a] |"
    assert found(text) == ["13 ms", "14 ms", "16 ms"]


def test_only_markdown_cells_are_read():
    source = '# ---\n# 12 ms\n# ---\n\n# %% id="00-a"\n# 12 ms\nx = "12 ms"\n'
    source += '\n# %% [markdown] id="00-b"\n# 13 ms\n'
    assert [(o.line, o.cell, o.words) for o in offences(source)] == [(10, "00-b", "13 ms")]


def test_cells_in_triple_quotes_and_cells_without_ids_are_read_too():
    source = '# %% [markdown]\n"""\nIt took\n13 ms.\n"""\n'
    assert [(o.line, o.cell, o.words) for o in offences(source)] == [(4, "cell without id", "13 ms")]


def test_each_offence_is_said_once_with_file_line_and_cell(tmp_path, capsys):
    bad = tmp_path / "00_start.py"
    bad.write_text('# %% [markdown] id="00-open"\n# Fine.\n#\n# It took 12 ms, then 5 % more.\n')
    assert main([str(bad)]) == 1
    assert capsys.readouterr().out == f"{bad}:4: 00-open: 12 ms\n{bad}:4: 00-open: 5 %\n"


def test_it_can_be_run_and_its_exit_code_says_it(tmp_path):
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text('# %% [markdown] id="00-open"\n# How long is a token?\n')
    bad.write_text('# %% [markdown] id="00-open"\n# A token is 12 ms long.\n')
    for files, code in (([good], 0), ([good, bad], 1), ([tmp_path / "none.py"], 2), ([], 2)):
        command = [sys.executable, "-m", "memlessons.show.lint", *map(str, files)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == code
