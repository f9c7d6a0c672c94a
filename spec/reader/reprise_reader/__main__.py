"""python3 -m reprise_reader: see command.py."""

from reprise_reader.command import run

run()
