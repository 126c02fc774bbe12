"""Races that leave a record: `python -m memlessons.bench NAME`."""
