"""This machine as a card: by its driver's name, by what was measured, or not at all."""

import subprocess
import sys

import pytest

from memlessons.cost import get
from memlessons.show import SizerState, sizer_machine
from memlessons.show.sizer_export import python_text
from memlessons.show.sizer_machine import THIS_MACHINE, Found, matched, this_machine
from memlessons.show.sizer_state import ImpossibleState
from memlessons.units import GIB


@pytest.fixture
def unknown(monkeypatch, tmp_path):
    """A machine without a driver and without a measurement."""
    monkeypatch.setenv("MEMLESSONS_CACHE", str(tmp_path))
    monkeypatch.setattr(sizer_machine, "_gpu", lambda: None)
    this_machine.cache_clear()
    yield tmp_path
    this_machine.cache_clear()


def is_here(monkeypatch, found):
    for module in ("sizer_machine", "sizer_state", "sizer_fields"):
        monkeypatch.setattr(f"memlessons.show.{module}.this_machine", lambda: found)


@pytest.mark.parametrize(
    ("name", "gib", "card"),
    [
        ("NVIDIA GeForce RTX 4090", 23.5, "RTX 4090"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", 7.6, "RTX 4060 Laptop"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 15.6, "RTX 4090 Laptop"),
        ("NVIDIA A100-SXM4-80GB", 79.2, "A100 80GB SXM"),
        ("NVIDIA A100 80GB PCIe", 79.2, "A100 80GB PCIe"),
        ("NVIDIA A100-PCIE-40GB", 39.4, "A100 40GB"),
        ("NVIDIA H100 80GB HBM3", 79.2, "H100 SXM 80GB"),
        ("NVIDIA H100 PCIe", 79.2, "H100 PCIe 80GB"),
        ("NVIDIA H200", 139.8, "H200 SXM"),
        ("Tesla T4", 14.6, "T4"),
        ("NVIDIA RTX 6000 Ada Generation", 47.4, "RTX 6000 Ada"),
        ("AMD Instinct MI300X", 191.9, "MI300X"),
        # The name alone is not enough: another memory is another card.
        ("Tesla V100-SXM2-16GB", 15.8, None),
        ("NVIDIA GeForce RTX 4060 Ti", 7.6, None),
        ("NVIDIA GeForce RTX 9999", 24.0, None),
        ("", 24.0, None),
    ],
)
def test_a_drivers_name_finds_the_card_with_its_memory(name, gib, card):
    found = matched(name, round(gib * GIB))
    assert (found and found.name) == card


def test_what_cannot_be_found_is_no_card(unknown):
    assert this_machine() is None
    with pytest.raises(ImpossibleState, match="this machine.*measure"):
        SizerState(card=THIS_MACHINE)


def test_a_damaged_or_old_measurement_is_no_card(unknown):
    for text in ("", "{", "[]", '{"form": "memlessons.machine/1"}'):
        (unknown / "machine-cpu.json").write_text(text)
        this_machine.cache_clear()
        assert this_machine() is None


def test_a_kept_measurement_is_a_card_and_is_copied_as_such(unknown, monkeypatch):
    monkeypatch.setenv("MEMLESSONS_PACE", "quick")
    from memlessons.measure import machine

    here = machine("cpu")
    this_machine.cache_clear()
    assert this_machine() == Found(here.accelerator())
    state = SizerState("smollm2-135m", card="This Machine")
    assert state.card == THIS_MACHINE
    assert state.answer().card_bytes == here.memory_bytes
    assert "card=machine().accelerator()" in python_text(state)


def test_a_known_card_counts_with_the_memory_that_is_seen(monkeypatch):
    is_here(monkeypatch, Found(get("H200 SXM"), 150_000_000_000))
    state = SizerState(card=THIS_MACHINE)
    assert state.answer().card_bytes == 150_000_000_000
    assert state.answer().step == SizerState(card="H200 SXM").answer().step
    assert "card=get('H200 SXM')" in python_text(state) and "visible_bytes=150000000000" in python_text(state)


def test_a_machine_without_driver_and_measurement_costs_no_torch(tmp_path):
    program = (
        "import sys; from memlessons.show import sizer_machine as m\n"
        "m.has_nvidia_driver = lambda: False\n"
        "print(m.this_machine(), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"MEMLESSONS_CACHE": str(tmp_path), "PATH": "/usr/bin"},
    )
    assert done.stdout.strip() == "None False"


def test_this_machine_is_first_in_the_list_if_it_is_there(monkeypatch):
    pytest.importorskip("ipywidgets")
    from memlessons.show.sizer_fields import fields_of

    is_here(monkeypatch, None)
    assert THIS_MACHINE not in [value for _, value in fields_of(SizerState())["card"].options]
    is_here(monkeypatch, Found(get("H200 SXM"), 150_000_000_000))
    label, value = fields_of(SizerState())["card"].options[0]
    assert (label, value) == ("this machine: H200 SXM", THIS_MACHINE)
