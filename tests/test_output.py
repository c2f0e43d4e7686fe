"""What a class prints is passed on: all of it, or its beginning and its end if it prints too much, and how much is left out."""

import os
import subprocess

import pytest

from queue_conformance.processes import isolation
from queue_conformance.processes.output import HEAD, MOST, TAIL, Output
from queue_conformance.running.side_effects import quietly

LINE = b"x" * 99 + b"\n"
LINES = 3 * MOST // len(LINE)


def by_system(stream):
    for _ in range(LINES):
        os.write(stream, LINE)


def by_print(stream):
    with os.fdopen(os.dup(stream), "w") as file:  # the stream of pytest is none
        for _ in range(LINES):
            print(LINE.decode(), end="", file=file)


def by_child(stream):
    subprocess.run(["head", "-c", str(LINES * len(LINE)), "/dev/zero"], stdout=stream, check=True)


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("flood", [by_system, by_print, by_child])
def test_a_flood_is_cut_and_the_process_goes_on(flood, stream, capfd, monkeypatch):
    monkeypatch.setattr(isolation, "TICK", 60.0)  # what is printed in the moment of a cut is not counted

    def prints(_watchdog):
        os.write(stream, b"first\n")
        flood(stream)
        os.write(stream, b"last\n")
        return "done"

    assert isolation.run(prints, time_limit=60.0).value == "done"
    said = capfd.readouterr()[stream - 1]
    assert said.startswith("first\n")
    assert said.endswith("last\n")
    (left_out,) = (line for line in said.splitlines() if line.startswith("[... "))
    number = int(left_out.split()[3])
    assert len(said) == HEAD + TAIL + len(left_out) + 2
    assert number == LINES * len(LINE) + len("first\nlast\n") - HEAD - TAIL


def test_what_is_short_is_passed_on_as_it_is(capfd):
    isolation.run(lambda watchdog: [os.write(stream, b"%d\n" % stream) for stream in (1, 2)], time_limit=60.0)
    assert capfd.readouterr() == ("1\n", "2\n")


def test_a_file_is_cut_while_somebody_writes_to_it(capfd):
    output = Output()
    file = output._files[0]
    for _ in range(3):
        file.write(bytes(MOST) + b"end")
        output.cut()
        assert output.sizes()[0] == HEAD
    output.pass_on()
    said = capfd.readouterr().out
    assert f"{3 * (MOST + 3) - HEAD - TAIL} bytes are left out" in said
    assert said.endswith("\0end")
    assert output.sizes() == [0, 0]
    output.close()


def test_what_is_swallowed_takes_little_memory():
    with quietly() as said:
        print("first")
        for _ in range(LINES):
            print(LINE.decode())
        by_system(1)
    assert "".join(said).startswith("first\n")
    assert len("".join(said)) <= 2 * HEAD


def test_only_what_is_swallowed_is_missing(capfd):
    def prints(_watchdog):
        os.write(1, b"before\n")
        with quietly() as said:
            os.write(1, b"swallowed\n")
        os.write(1, b"after\n")
        return said

    assert "swallowed\n" in isolation.run(prints, time_limit=60.0).value
    assert capfd.readouterr().out == "before\nafter\n"
