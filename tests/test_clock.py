"""The clock that checks and scripts show to a class."""

import copy
import datetime
import pickle
import sys
import time
from time import gmtime, localtime, strftime, time_ns

import pytest

from queue_conformance.script_support.clock import clock_at, years_ago

MOMENT = 1_700_000_000
TODAY = datetime.datetime(2020, 1, 2, 3, fold=1)
found = 0


def test_all_who_ask_are_shown_one_moment():
    zone = datetime.UTC
    with clock_at(MOMENT):
        assert {time.time(), time_ns() / 10**9, datetime.datetime.now(zone).timestamp()} == {MOMENT}
        assert localtime() == localtime(MOMENT)
        assert (gmtime(), gmtime(0)) == (gmtime(MOMENT), time.struct_time((1970, 1, 1, 0, 0, 0, 3, 1, 0)))
        assert strftime("%s") == str(MOMENT)
        assert datetime.datetime.now(zone).replace(tzinfo=None) == datetime.datetime.utcnow()
    assert abs(time_ns() / 10**9 - MOMENT) > 1000
    assert datetime.datetime.now(zone).timestamp() > MOMENT + 1000


def test_the_clock_goes_on_for_who_waits_for_it():
    with clock_at(MOMENT):
        while time.time() < MOMENT + 3:
            pass


def test_the_clock_of_years_ago_goes_on(tmp_path):
    (tmp_path / "stored").touch()
    with years_ago(tmp_path):
        times = [time.time(), time.time_ns() / 10**9, datetime.datetime.now().timestamp()]
    assert times == sorted({*times})
    assert times[-1] - times[0] < 1
    assert int(times[0]) == (tmp_path / "stored").stat().st_mtime == 1_600_000_000


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_times_are_what_they_are_meanwhile(protocol):
    stored = pickle.dumps(TODAY, protocol)
    with clock_at(MOMENT):
        assert type(datetime.datetime(2020, 1, 2)) is type(TODAY)
        assert isinstance(TODAY, datetime.datetime)
        assert not isinstance(datetime.date(2020, 1, 2), datetime.datetime)
        assert pickle.loads(stored) == TODAY == copy.deepcopy(TODAY) == datetime.datetime.fromisoformat("2020-01-02T03:00")
        meanwhile = pickle.dumps([TODAY, datetime.datetime.now()], protocol)
    first, second = pickle.loads(meanwhile)
    assert (first, first.fold, type(second)) == (TODAY, 1, type(TODAY))


def test_what_is_set_or_imported_meanwhile_stays(tmp_path, monkeypatch):
    global found
    (tmp_path / "imported_meanwhile.py").write_text("from datetime import datetime\nfrom time import time\nset = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    with clock_at(MOMENT):
        import imported_meanwhile

        assert imported_meanwhile.time() == MOMENT
        found = imported_meanwhile.set = 2
    assert (found, imported_meanwhile.set) == (2, 2)
    assert imported_meanwhile.time is time.time
    assert imported_meanwhile.datetime is datetime.datetime is type(TODAY)
    del sys.modules["imported_meanwhile"]
