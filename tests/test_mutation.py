"""Mutants die of what the kit finds, and of nothing else."""

import json
import os
import shutil
import subprocess
import sys
import tomllib

import pytest
from kit import TESTS

MUTATION = TESTS / "mutation"
SCRIPT = """
import json, sys
from pathlib import Path
from killer import Killer
from subjects import SUBJECTS

killer = Killer(SUBJECTS["queue_reference.memory"], Path(sys.argv[1]), thorough=False)
killer.learn()

def fate(was, becomes):
    assert was in killer.source
    killed = killer.kill(killer.source.replace(was, becomes), 0)
    return [death and [death.check, death.how] for death in (killed.first, killed.must)]

print(json.dumps([
    fate("", ""),
    fate("self._requests.popleft() if self._requests else None", "None"),
    fate("self._requests[-1] if self._requests else None", "self._requests[0] if self._requests else None"),
    fate("def close(self)", "def shut(self)"),
    fate("from collections import deque", "from collections import queue"),
    fate("self._requests.append(request)", "while True: pass"),
    fate("def close(self) -> None:", "def close(self) -> None:\\n        del self._requests"),
]))
"""


@pytest.mark.further
def test_the_module_as_it_is_survives_and_its_mutants_do_not(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(TESTS.parent / "reference", copy)
    path = os.pathsep.join([str(copy), str(MUTATION)])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", SCRIPT, str(copy)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    untouched, loses, peeks, lacks, unimportable, hangs, closes_once = json.loads(ended.stdout)
    assert untouched == [None, None]
    assert "queue." in loses[1][1]
    assert "queue.peek.equals-pop" in peeks[1][1]
    assert "queue.ctor.interface" in lacks[1][1]
    assert unimportable[1][0] == "import"
    assert hangs[0][1] == "hangs"
    assert "queue.push.accept" in hangs[1][1]
    assert "queue.close." in closes_once[0][1]
    assert closes_once[1] is None


def test_every_equivalent_mutant_has_its_line_and_reason():
    table = tomllib.loads((MUTATION / "equivalents.toml").read_text("utf-8"))
    for module, entries in table.items():
        for entry in entries:
            assert entry.keys() == {"was", "becomes", "why"}, module
            assert entry["why"], entry
