"""Every queue that is shipped, in the documentation too, runs the sequences of the machine, whatever is drawn.

``make test-all`` draws from two seeds, ``make nightly`` from a hundred: the mistakes so far showed at 39 and later. The tests
of each queue draw from seed 0.
"""

import pytest
from kit import NO_POSTGRESQL, REFERENCES, examine, failed_rules
from pages import DOCS, blocks

from mutants import QCRAWL

pytestmark = pytest.mark.further

SERVED = {"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"}
ADDRESS = {"host": "{host}", "port": "{port}"}
ASYNC = "queue_reference.async_redis.RedisQueue"
SHARED = "queue_reference.redis_shared.SharedFifoRedisQueue"
FAULTY = {"machine", "lost-replies"}
BEHIND_A_SERVER = (
    "queue_reference.redis.FifoRedisQueue",
    "queue_reference.redis.LifoRedisQueue",
    SHARED,
    *((ASYNC,) if QCRAWL else ()),
)
POSTGRESQL = ("queue_reference.postgresql.FifoPostgreSQLQueue", "queue_reference.postgresql_shared.SharedFifoPostgreSQLQueue")
TUTORIAL, FOLDER = "page_tutorial.RedisQueue", "page_howto_constructor.FolderQueue"
"""The queues of pages that are right, at the end of the page."""


def pytest_generate_tests(metafunc):
    """Draw from as many seeds as are asked for."""
    metafunc.parametrize("seed", range(1, 1 + metafunc.config.getoption("--seeds")))


@pytest.mark.parametrize("path", REFERENCES)
def test_a_reference(path, seed):
    assert not failed_rules(examine(path, seed=seed, only="machine"))


@pytest.mark.parametrize("path", BEHIND_A_SERVER)
def test_a_reference_behind_a_server(path, seed):
    settings = ADDRESS if path == ASYNC else SERVED
    claims = {"shared": "yes"} if path == SHARED else {}
    assert not failed_rules(examine(path, claims, settings=settings, server="redis", seed=seed, only=FAULTY))


@pytest.mark.skipif(bool(NO_POSTGRESQL), reason=NO_POSTGRESQL)
@pytest.mark.parametrize("path", POSTGRESQL)
def test_a_reference_on_postgresql(path, seed):
    claims = {"shared": "yes"} if "Shared" in path else {}
    settings = {"POSTGRESQL_TIMEOUT": "0.5"}
    assert not failed_rules(examine(path, claims, settings=settings, server="postgresql", seed=seed, only=FAULTY))


def test_the_queue_of_the_tutorial(seed, pages):
    report = examine(TUTORIAL, settings=SERVED, server="redis", seed=seed, only=FAULTY)
    assert not failed_rules(report)
    assert {check.name for check in report.checks} >= FAULTY


def test_the_queue_with_a_constructor_of_its_own(seed, pages):
    report = examine(FOLDER, {"kind": "downstream-queue"}, seed=seed, only="machine", factory=build)
    assert not failed_rules(report)
    assert "machine" in {check.name for check in report.checks}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Modules with the last listing of a page that defines its queue."""
    directory = tmp_path_factory.mktemp("pages")
    for path in (TUTORIAL, FOLDER):
        module, _, cls = path.partition(".")
        page = f"{module.removeprefix('page_').replace('_', '-')}.md"
        found = [block for block in blocks(page, (DOCS / page).read_text("utf-8")) if block.caption == "my_package/queues.py"]
        assert f"class {cls}:" in found[-1].text
        (directory / f"{module}.py").write_text(found[-1].text, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        yield


def build(cls, crawler, key):
    return cls(key, crawler.spider, compress=False)
