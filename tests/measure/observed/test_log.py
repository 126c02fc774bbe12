"""Any text at all may be called a log: nothing hangs, nothing fills memory, and wrong guesses are refused."""

import io
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.measure import NothingSaid, read_log
from memlessons.measure.observed import llama_cpp, sglang, vllm, whisper_cpp
from memlessons.measure.observed.figures import number, size, whole
from memlessons.measure.observed.lines import BLOCK_BYTES, LINE_BYTES, LogUnreadable

LLAMA = (
    "llama_kv_cache: size = 1280.00 MiB (  4096 cells,  80 layers,  1/1 seqs), "
    "K (f16):  640.00 MiB, V (f16):  640.00 MiB"
)
VLLM = "INFO [kv_cache_utils.py:716] GPU KV cache size: 178,880 tokens"
MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [("2160.00", 2160.0, 2), ("2160,00", 2160.0, 2), ("1,024.5", 1024.5, 1), ("1.024,5", 1024.5, 1),
     ("8", 8.0, 0), ("-7.83", -7.83, 2), ("11.57.", 11.57, 2)],
)  # fmt: skip
def test_sizes_are_read_with_a_point_or_a_comma(text: str, value: float, decimals: int) -> None:
    assert number(text) == (value, decimals)


def test_counts_are_read_with_thousands_separated() -> None:
    assert [whole(t) for t in ("302,921", "4,455,808", "4096", "512,")] == [302921, 4455808, 4096, 512]
    assert size(82.0, 2, MIB).bytes == 85983232


@given(st.integers(0, 10**6), st.integers(0, 3), st.sampled_from([MIB, GIB, 10**6]))
def test_a_printed_size_is_found_within_its_rounding(hundreds: int, decimals: int, unit: int) -> None:
    true = hundreds * 9973
    value, found = number(f"{true / unit:.{decimals}f}")
    got = size(value, found, unit)
    assert found == decimals and abs(got.bytes - true) <= got.within + 1


def test_a_file_a_path_a_text_and_a_stream_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a log.txt").write_text(f"\n{LLAMA}\n")
    path = tmp_path / "a log.txt"
    stream = io.BytesIO(path.read_bytes())
    assert read_log(path) == read_log(str(path)) == read_log(f"\n{LLAMA}") == read_log(stream)
    assert not stream.closed
    assert read_log(path).lines[0].line_number == 2


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    for wrong in ("vllm.log", tmp_path / "gone.log", tmp_path, "\0"):
        with pytest.raises(LogUnreadable, match="give a log file, or its text"):
            read_log(wrong)
    with pytest.raises(LogUnreadable, match="open it for bytes"):
        read_log(io.StringIO(LLAMA))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["\n", "Hello, World!\nThis is a letter.", '{"a log": [1, 2]}\n', "GPU KV cache size: many tokens \n"],
)
def test_where_no_engine_speaks_it_is_said_what_was_looked_for(text: str) -> None:
    with pytest.raises(NothingSaid) as caught:
        read_log(text)
    for word in ("vllm", "llama.cpp", "sglang", "whisper.cpp", "GPU KV cache size", "KV self size"):
        assert word in str(caught.value)


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    with pytest.raises(NothingSaid, match=r"empty\.log"):
        read_log(tmp_path / "empty.log")


@given(st.binary(max_size=300))
def test_junk_around_a_line_changes_nothing(junk: bytes) -> None:
    junk = junk.replace(b"\x1b", b"")
    log = junk + b"\n" + LLAMA.encode() + b"\n" + junk
    assert read_log(io.BytesIO(log)).cache_bytes == 1280 * MIB


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
def test_any_encoding_will_do(encoding: str) -> None:
    text = f"modèle chargé\r\n{LLAMA}\r\n"
    reported = read_log(io.BytesIO(text.encode(encoding)))
    assert reported.cache_bytes == 1280 * MIB and reported.lines[0].line_number == 2


def test_colours_prefixes_and_progress_bars_do_not_hide_a_line() -> None:
    dressed = (
        f"2026-01-01 | \x1b[1;36m(EngineCore pid=1)\x1b[0;0m Loading: 50%\rLoading: 100%\r{VLLM}\x1b[0m\n"
    )
    (said,) = read_log(dressed).lines
    assert said.value == 178880 and said.text == VLLM
    assert read_log(f"> llama.cpp said:\n> {LLAMA}").cache_bytes == 1280 * MIB


class Endless(io.RawIOBase):
    """A stream of `total` bytes of one line without end, and a line of an engine behind it."""

    def __init__(self, total: int, filler: bytes) -> None:
        self.left, self.filler = total, filler
        self.end = b"\n" + LLAMA.encode() + b"\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if self.left:
            n = min(len(view), self.left)
            view[:n] = (self.filler * (n // len(self.filler) + 1))[:n]
            self.left -= n
            return n
        n = min(len(view), len(self.end))
        view[:n], self.end = self.end[:n], self.end[n:]
        return n


@pytest.mark.parametrize("filler", [b"x", b" cells creating  KV cache, size ", b" ", b"\r", b"1,"])
def test_a_line_of_fifty_megabytes_takes_no_memory(filler: bytes) -> None:
    stream = io.BufferedReader(Endless(50 * MIB if len(filler) == 1 else 3 * MIB, filler))
    tracemalloc.start()
    try:
        reported = read_log(stream)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reported.cache_bytes == 1280 * MIB
    assert reported.lines[0].line_number == 2
    # A handful of blocks: nowhere near the line.
    assert peak < 12 * (BLOCK_BYTES + LINE_BYTES)


@pytest.mark.parametrize("module", [vllm, llama_cpp, sglang, whisper_cpp], ids=lambda m: m.__name__)
def test_no_sentence_takes_long_over_a_line_made_to_stall_it(module: Any) -> None:
    for word, patterns in module.SENTENCES:
        for filler in (
            " ",
            "a ",
            "9",
            "9.",
            "creating ",
            "x: size = ",
            "(",
            "creating a",
            "llama_kv_cache: kv self size =",
        ):
            line = (word + filler * LINE_BYTES)[:LINE_BYTES]
            # Quadratic time would be hours here: no clock is needed to notice.
            assert [p.search(line) is None or True for p in patterns] == [True] * len(patterns)


def test_a_log_that_repeats_itself_for_weeks_is_bounded() -> None:
    said = read_log("\n".join([VLLM] * 30_000)).lines
    assert len(said) == 10_000


def test_the_last_start_of_a_log_is_the_one_that_counts() -> None:
    first = "Available KV cache memory: 4.00 GiB\nGPU KV cache size: 1,000 tokens\n"
    second = (
        "Available KV cache memory: 9.00 GiB\nAvailable KV cache memory: 8.00 GiB\n"
        "GPU KV cache size: 2,000 tokens\n"
    )
    reported = read_log(first + second)
    assert (reported.available_bytes, reported.tokens) == (8 * GIB, 2000)


def test_an_engine_that_could_not_start_is_read_too() -> None:
    v0 = read_log("model weights take 6.59GiB; the rest of the memory reserved for KV Cache is -7.83GiB.\n")
    assert v0.available_bytes == round(-7.83 * GIB) and v0.weights_bytes == round(6.59 * GIB)
    assert "could not start" in v0.notes[0]
    v1 = read_log(
        "ValueError: To serve at least one request with the models's max seq len (131072), (5.00 GiB "
        "KV cache is needed, which is larger than the available KV cache memory (2.30 GiB)."
    )
    assert v1.available_bytes == round(2.3 * GIB) and v1.said("needed")[0].value == 5.0


def test_where_two_engines_speak_the_one_that_says_more_is_taken_and_the_other_named() -> None:
    reported = read_log(f"{VLLM}\n{LLAMA}\nMaximum concurrency for 1,024 tokens per request: 3.00x\n")
    assert reported.engine == "vllm" and reported.cache_bytes is None
    assert "llama.cpp" in reported.notes[-1]


def test_buffers_stand_in_where_no_sum_was_printed() -> None:
    reported = read_log(
        "llama_kv_cache_iswa: creating non-SWA KV cache, size = 512 cells\n"
        "llama_kv_cache:  CUDA0 KV buffer size = 816.00 MiB\n"
        "llama_kv_cache:  CUDA1 KV buffer size = 4.00 MiB\n"
        "llama_kv_cache_iswa: creating     SWA KV cache, size = 256 cells\n"
        "llama_kv_cache:  CUDA0 KV buffer size = 255.00 MiB\n"
        "llama_memory_recurrent:  CUDA0 RS buffer size = 20.94 MiB\n"
    )
    assert {p.name: p.total_bytes for p in reported.parts} == {
        "base": 820 * MIB, "swa": 255 * MIB, "state": round(20.94 * MIB),
    }  # fmt: skip


def test_weights_of_a_model_file_are_what_the_file_takes() -> None:
    head = "print_info: file size   = 4.58 GiB (4.89 BPW)\n"
    devices = (
        "load_tensors:   CPU_Mapped model buffer size =   281.81 MiB\n"
        "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n"
    )
    assert read_log(head + devices + LLAMA).weights_bytes == round(4.58 * GIB)
    assert read_log(devices * 2 + LLAMA).weights_bytes == round(281.81 * MIB) + round(4403.49 * MIB)
    assert read_log("llm_load_print_meta: model size       = 8.03 B\n" + LLAMA).weights_bytes is None


def test_a_whole_model_made_twice_is_counted_once() -> None:
    start = f"llama_context: constructing llama_context\nllama_context: n_ctx = 4096\n{LLAMA}\n"
    assert read_log(start * 2).cache_bytes == 1280 * MIB
    # Two caches of one context that happen to be as large are two.
    assert read_log(start + LLAMA).cache_bytes == 2560 * MIB


RECORDED = [
    line
    for path in sorted((Path(__file__).resolve().parent.parent / "logs").glob("*.txt"))
    for line in path.read_text().splitlines()
]


@given(st.lists(st.tuples(st.sampled_from(RECORDED), st.integers(0, 120), st.integers(0, 200)), max_size=12))
def test_torn_and_shuffled_lines_are_read_or_refused_by_name(torn: list[tuple[str, int, int]]) -> None:
    text = "\n".join(line[start : start + length] for line, start, length in torn)
    try:
        reported = read_log(text + "\n")
    except NothingSaid:
        return
    assert reported.lines and all(part.total_bytes >= 0 for part in reported.parts)
