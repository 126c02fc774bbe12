"""The table of accelerators: complete, sourced, honest about what it does not know."""

import subprocess
import sys
from dataclasses import replace

import pytest

from memlessons.cost import (
    Accelerator,
    MissingFigure,
    UnknownAccelerator,
    accelerators,
    get,
    ridge,
    time_bound,
)
from memlessons.errors import MemlessonsError


def test_there_are_66_cards_with_distinct_names() -> None:
    names = [a.name.lower() for a in accelerators()]
    assert len(names) == len(set(names)) == 66


@pytest.mark.parametrize("card", accelerators(), ids=lambda a: a.name)
def test_every_card_has_memory_bandwidth_source_and_confidence(card: Accelerator) -> None:
    assert 4e9 <= card.memory_bytes <= 600e9
    assert 50e9 <= card.bandwidth <= 10e12
    assert card.source
    assert card.confidence in ("cited", "partly cited", "recalled")
    assert ("recalled" in card.source) or card.confidence == "cited"
    for field in ("matmul_flops", "fp8_flops", "fp4_flops", "l2_bytes", "host_link", "peer_link"):
        value = getattr(card, field)
        assert value is None or value > 0


@pytest.mark.parametrize("card", accelerators(), ids=lambda a: a.name)
def test_narrower_formats_are_never_slower(card: Accelerator) -> None:
    rates = [r for r in (card.matmul_flops, card.fp8_flops, card.fp4_flops) if r is not None]
    assert rates == sorted(rates)


SHARED = ("apu", "apple")  # the CPU has the same memory, and keeps a part


def test_what_a_program_sees_is_known_for_nearly_all_cards() -> None:
    assert sum(a.visible_bytes is not None for a in accelerators()) >= 60


@pytest.mark.parametrize("card", accelerators(), ids=lambda a: a.name)
def test_what_a_program_sees_is_near_what_was_sold_and_has_a_source(card: Accelerator) -> None:
    if card.visible_bytes is None:
        assert card.usable_bytes == card.memory_bytes
        return
    assert "visible" in card.source
    # Chips hold 2^30 bytes for each GB of the box, and nobody sees more than the chips hold.
    assert card.visible_bytes / card.memory_bytes <= 1024**3 / 1e9
    assert card.visible_bytes / card.memory_bytes >= (0.66 if card.kind in SHARED else 0.95)


def test_visible_memory_is_what_torch_reports_not_what_nvidia_smi_shows() -> None:
    # torch: 24,081 MiB; nvidia-smi: 24,564 MiB.
    assert get("RTX 4090").visible_bytes == pytest.approx(24_081 * 2**20, rel=1e-3)
    # torch: 143,156 MiB; nvidia-smi: 143,771 MiB.
    assert get("H200 SXM").visible_bytes == pytest.approx(143_156 * 2**20, rel=1e-3)


def test_a_card_of_unknown_visible_memory_counts_as_sold() -> None:
    assert replace(get("RTX 3090"), visible_bytes=None).usable_bytes == 24_000_000_000


def test_figures_are_in_bytes_and_flop_not_in_units_of_the_box() -> None:
    card = get("H100 SXM 80GB")
    assert card.memory_bytes == 80_000_000_000
    assert card.visible_bytes == card.usable_bytes == round(79.1 * 2**30)
    assert card.bandwidth == 3.35e12
    assert card.matmul_flops == 989e12
    assert card.l2_bytes == 50 * 2**20
    assert card.host_link == 63e9


@pytest.mark.parametrize("name", ["h200 sxm", "H200 SXM", "  h200  Sxm ", "H200-SXM"])
def test_names_are_found_in_any_case_and_spacing(name: str) -> None:
    assert get(name).name == "H200 SXM"


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("h100", "H100 NVL 94GB"),
        ("RTX 4909", "RTX 4090"),
        ("M4 Max", "Apple M4 Max"),
        ("A100 80 GB", "A100 80GB SXM"),
    ],
)
def test_unknown_names_suggest_the_close_ones(name: str, suggested: str) -> None:
    with pytest.raises(UnknownAccelerator) as caught:
        get(name)
    assert suggested in str(caught.value)
    assert isinstance(caught.value, MemlessonsError)


def test_unknown_names_far_from_any_say_where_to_look() -> None:
    with pytest.raises(UnknownAccelerator, match=r"accelerators\(\)"):
        get("abacus zzz")


def test_missing_figures_raise_and_name_what_is_missing() -> None:
    card = get("Apple M4")
    assert card.matmul_flops is None
    with pytest.raises(MissingFigure, match="Apple M4: matmul_flops"):
        ridge(card)
    with pytest.raises(MissingFigure, match="matmul_flops"):
        time_bound(1.0, 1.0, card)
    # Where nothing is computed the missing figure is not needed.
    assert time_bound(0, card.bandwidth, card).seconds == 1.0
    assert ridge(replace(card, matmul_flops=120e12)) == 1000.0


def test_cost_and_its_table_load_no_torch_numpy_rich() -> None:
    code = (
        "import sys, memlessons.cost as c; c.accelerators();"
        "print(sorted({'torch', 'numpy', 'rich', 'triton'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
