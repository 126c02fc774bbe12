"""`--why`: careless readings beside the rules, and engines' reasons with numbers that were summed by hand."""

from math import ceil

import pytest

from memlessons import cli
from memlessons.plan.engines import RULES, allocation
from memlessons.sizing import Question, answer, resolve
from memlessons.sizing.why import REFUSED, why
from memlessons.units import bytes_text
from tests.sizing.models import WINDOWED, model

GEMMA = answer(Question(resolve("gemma-3-27b"), context=20_000, batch=4))
# Keys and values of 16 heads of 128 in 16 bits, one token of one layer; 52 layers see 1,024, 10 see all.
TOKEN = 16 * 128 * 2 * 2
STATED = answer(Question(resolve("qwen3-next-80b"), context=20_000, batch=4))


def section(text: str, engine: str) -> str:
    found = [part for part in text.split("\n\n") if part.startswith(f"{engine} reserves ")]
    assert len(found) == 1, text
    return found[0]


def line(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def numbers(engine: str, found=GEMMA) -> dict[str, tuple[int, int]]:
    parts = next(each for each in found.engines if each.engine == engine).parts
    return {each.part.name: (each.part.cells, each.part.bytes) for each in parts}


def test_a_window_left_out_counts_every_layer_as_global():
    said = why(answer(Question(resolve("gemma-3-27b"), context=131_072)))
    kept, careless = (10 * 131_072 + 52 * 1024) * TOKEN, 62 * 131_072 * TOKEN
    row = line(said, "window: sliding_window")
    assert f"x {careless / kept:.2f} ({bytes_text(careless)}), every layer as global" in row
    assert f"{careless / kept:.2f}" == "5.96"
    assert REFUSED in line(said, "kv_heads: num_key_value_heads")
    # A window that is not full yet makes no difference.
    assert "the same" in line(why(answer(Question(model(WINDOWED), context=100))), "window: ")


def test_vllms_factor_is_made_of_a_window_a_prefill_chunk_and_padded_groups():
    said = section(why(GEMMA), "vllm")
    blocks, groups = ceil((1024 - 1 + 8192) / 16) + 1, ceil(52 / 10)
    windows, full = 4 * blocks * groups * 10 * 16 * TOKEN, 4 * ceil(20_000 / 16) * 10 * 16 * TOKEN
    assert numbers("vllm") == {"swa": (4 * blocks * 16, windows), "base": (4 * 20_000, full)}
    kept = 4 * (52 * 1024 + 10 * 20_000) * TOKEN
    assert f"reserves {bytes_text(windows + full)}, x {(windows + full) / kept:.2f}:" in said
    assert f"{(windows + full) / kept:.2f}" == "2.98"
    row = line(said, "layers with windows")
    assert f"{blocks} blocks of 16 a request, {groups} groups of 10 layers, {groups * 10 - 52} of them" in row
    assert "a window of 1,024 less one and the 8,192 tokens of one prefill chunk (max_num_batched" in row
    assert row.split()[3:6] == ["52", f"{4 * blocks * 16:,}", f"{4 * 1024:,}"]
    assert "defaults, assumed here: max_num_batched_tokens=8,192, block_size=16." in said
    # Without the windows' rule, six groups of ten layers hold all 1,250 blocks.
    careless = 4 * 1250 * (groups + 1) * 10 * 16 * TOKEN
    row = line(said, "vllm: blocks of a window")
    assert (
        f"x {careless / (windows + full):.2f} ({bytes_text(careless)})" in row and "SlidingWindowSpec" in row
    )
    assert "vllm: heads are divided" not in said  # one device: nothing is


def test_sglangs_factor_is_made_of_a_share_of_slots_that_no_window_needs():
    said = section(why(GEMMA), "sglang")
    windows, full = (4 * 20_000 * 8 // 10 + 1, 4 * 20_000 + 1)
    assert numbers("sglang") == {"swa": (windows, windows * 52 * TOKEN), "base": (full, full * 10 * TOKEN)}
    assert "x 4.08:" in said
    row = line(said, "layers with windows")
    assert "0.8 slots for each of 80,000 tokens and 1 beside" in row
    assert "swa_full_tokens_ratio, although a window of 1,024 needs 4,096 in all" in row
    assert "swa_full_tokens_ratio=0.8" in said.split("assumed here:")[1]
    # A slot less in both pools.
    assert f"{bytes_text(62 * TOKEN)}" == "496 KiB" and "496 KiB less" in line(said, "sglang: a page beside")


def test_llama_cpps_factor_is_made_of_a_batch_and_cells_in_256():
    said = section(why(GEMMA), "llama.cpp")
    windows, full = 4 * ceil((1024 + 512) / 256) * 256, 4 * ceil(20_000 / 256) * 256
    assert numbers("llama.cpp") == {"swa": (windows, windows * 52 * TOKEN), "base": (full, full * 10 * TOKEN)}
    assert f"{windows // 4:,} cells a slot: a window of 1,024 and the 512 tokens of one batch" in said
    assert f"{full // 4:,} cells a slot: 20,000 tokens, in 256s" in said
    assert "assumed here: n_ubatch=512." in said and "#13194" in said


def test_a_state_takes_two_blocks_of_a_page_made_as_large_as_it():
    said = section(why(STATED), "vllm")
    # Gated delta: a convolution of 3 x (2 x 16 x 128 + 32 x 128) in 16 bits, 32 x 128 x 128 numbers in 32.
    state = 3 * (2 * 16 * 128 + 32 * 128) * 2 + 32 * 128 * 128 * 4
    token = 2 * 256 * 2 * 2
    block = 16 * ceil(ceil(state / token) / 16)
    page = block * token
    assert numbers("vllm", STATED) == {
        "rs": (0, 4 * 2 * 36 * page),
        "base": (4 * ceil(20_000 / block) * block, 4 * ceil(20_000 / block) * 12 * page),
    }
    row = line(said, "states")
    assert "2 blocks a request, 3 groups of 12 layers" in row
    assert f"a page of {bytes_text(page)} for each state of {bytes_text(state)}" in row
    assert f"blocks of {block:,} tokens, so that a page holds a state of {state:,} bytes" in said
    assert "speculative_blocks=0" in said and "block_size" not in said
    assert "4 states a layer: one a slot, in 32 bits" in section(why(STATED), "llama.cpp")
    assert "a state for each of 4 requests" in section(why(STATED), "sglang")


def test_only_rules_that_make_a_difference_are_named_each_with_its_source():
    plain = section(why(answer(Question(resolve("llama-3.1-8b"), context=4096))), "vllm")
    assert "source" not in plain
    for engine in ("llama.cpp", "vllm", "sglang"):
        said = section(why(GEMMA), engine)
        named = [rule for rule in RULES if f"\n{rule} " in said]
        assert named and all(rule.startswith(f"{engine}: ") and RULES[rule] in said for rule in named)


def test_an_option_that_is_given_is_not_called_a_default():
    plan = resolve("gemma-3-27b").plan
    asked = {"engine": "vllm", "context_tokens": 20_000, "mode": "hybrid"}
    assert dict(allocation(plan, **asked).assumed) == {"max_num_batched_tokens": 8192, "block_size": 16}
    given = allocation(plan, **asked, max_num_batched_tokens=2048)
    assert dict(given.assumed) == {"block_size": 16}
    assert "the 2,048 tokens of one prefill chunk" in given.parts[0].reason


@pytest.mark.parametrize(
    "name", ["mistral-7b-v0.1", "llama-4-scout", "deepseek-v3.2", "whisper-tiny", "mamba2-2.7b"]
)
def test_every_part_of_every_engine_has_its_reason(name):
    found = answer(Question(resolve(name), context=448, batch=2, kv_dtype="bf16"))
    for engine in found.engines:
        assert engine.parts and all(each.part.rule for each in engine.parts)
        assert sum(each.part.bytes for each in engine.parts) == engine.device_bytes
        assert engine.briefly and engine.engine in why(found)


def test_windows_that_an_engine_does_not_use_are_said_not_to_be_used():
    said = section(why(answer(Question(resolve("mistral-7b-v0.1"), context=20_000))), "llama.cpp")
    assert "windows are not used" in said and "windows only beside full layers" in said
    assert line(said, "layers that see").split()[4:7] == ["32", "20,224", "4,096"]


def test_devices_and_formats_that_are_packed_have_their_words_too():
    two = section(why(answer(Question(resolve("gemma-3-27b"), context=20_000, tp=2))), "llama.cpp")
    assert "on the fullest device" in two and "on a device, x" in two
    packed = answer(Question(resolve("deepseek-v3.2"), context=9000, kv_dtype="fp8"))
    assert "packed in 656 bytes a token" in section(why(packed), "vllm")
    refused = next(each for each in packed.engines if each.engine == "llama.cpp")
    assert refused.device_bytes is None and "llama.cpp reserves" not in why(packed)


def test_the_help_and_the_table_say_what_is_true(capsys):
    with pytest.raises(SystemExit):
        cli.main(["size", "--help"])
    assert "or that nothing could be" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["size", "gemma-3-27b", "--context", "20000", "--batch", "4", "--gpu", "H200 SXM"]) == 0
    shown = capsys.readouterr().out
    assert "limited by bandwidth" in shown and "of it cache" in shown and "as is assumed" in shown
    assert "The cache of this batch outweighs the weights" in shown and "of memory," not in shown
    assert "x 2.98; layers with windows: 577 blocks of 16 a request, 6 groups of 10 layers" in shown
