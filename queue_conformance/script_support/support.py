"""What checks call besides the subject; scripts quote it. It has no annotations, because scripts have none."""

import itertools
import logging
import os
import re
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path


def exit_if(accepted):
    """Whoever accepts is right too; nothing below says anything of it."""
    if accepted:
        sys.exit()


def forked():
    """Fork, without the warning that threads stay behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def names_below(directory):
    """Return the paths of the files below a directory, relative to it."""
    return sorted(os.path.relpath(path, directory) for path in Path(directory).rglob("*") if path.is_file())


def bytes_below(directory):
    """Return how many bytes the files below a directory have."""
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


def emptied(queue, most):
    """Pop until nothing comes, so many times at most; return what came."""
    return list(itertools.islice(iter(queue.pop, None), most))


def outcomes_of_pops(queue, most):
    """Pop until nothing comes, so many times at most; return the URLs of what came, and the exceptions."""
    outcomes = []
    for _ in range(most):
        try:
            popped = queue.pop()
        except Exception as error:
            outcomes.append(error)
            continue
        if popped is None:
            break
        outcomes.append(popped.url)
    return outcomes


def make_unreadable(directory, text):
    """Put bytes that are no text in the place of a text, wherever it is in a file; return in how many files."""
    before = {path: path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()}
    for path, content in before.items():
        path.write_bytes(content.replace(text.encode(), b"\xff" * len(text.encode())))
    return sum(text.encode() in content for content in before.values())


def contents_of_files(directory):
    """Return the contents of the files below a directory, by their paths."""
    return {path: path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()}


def appended_below(directory, before):
    """Return the most that one of the files below a directory has beyond what it had before."""
    now = contents_of_files(directory)
    grown = (path for path in now if now[path].startswith(before.get(path, b"")))
    return max((now[path].removeprefix(before.get(path, b"")) for path in grown), key=len, default=b"")


def damage_record(directory, record):
    """Change eight bytes in the middle of a record, wherever it is in a file; return in how many files.

    Less than 64 bytes may be a frame alone, and are left as they are.
    """
    if len(record) < 64:
        return 0
    middle = len(record) // 2
    damaged = record[: middle - 4] + b"\xff" * 8 + record[middle + 4 :]
    before = contents_of_files(directory)
    for path, content in before.items():
        path.write_bytes(content.replace(record, damaged))
    return sum(record in content for content in before.values())


def harm_file(directory, number, way, earlier):
    """Leave one of the files below a directory empty, cut, removed, or as it was earlier; return whether there is such a file."""
    paths = sorted(contents_of_files(directory))
    if number >= len(paths):
        return False
    path = paths[number]
    if way == "emptied":
        os.truncate(path, 0)
    elif way == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif way == "older" and path in earlier:
        path.write_bytes(earlier[path])
    else:
        path.unlink()
    return True


@contextmanager
def shortened_file(directory, number):
    """Meanwhile, one of the files below a directory has half of its bytes, if there is such a file."""
    path, content = dict(enumerate(sorted(contents_of_files(directory).items()))).get(number, (None, b""))
    if path is None:
        yield
        return
    path.write_bytes(content[: len(content) // 2])
    try:
        yield
    finally:
        path.write_bytes(content)


def missing_methods(queue, names):
    """Return which of these methods a queue does not have; special ones are those of its class."""
    return [name for name in names if not callable(getattr(type(queue) if name[0] == "_" else queue, name, None))]


def class_lacks(queue, names):
    """Return which of these methods the class of a queue does not have."""
    return [name for name in names if not callable(getattr(type(queue), name, None))]


def satisfies(queue, interface):
    """Tell whether the class of a queue counts as a subclass."""
    return issubclass(type(queue), interface)


def values_of(mapping, names):
    """Return what a dict has under these names; what is no dict, as it is."""
    return {name: mapping.get(name) for name in names} if isinstance(mapping, dict) else mapping


def truth(value):
    """Return the truth of a value."""
    return bool(value)


def look_at(value):
    """Do with a value what everybody does, which must raise nothing."""
    return bool(value), bool(value == value), repr(value), hash(type(value).__name__), value in [0, None]


def content(item):
    """Return the bytes that an item carries."""
    return getattr(item, "body", item)


def push_often(queue, item, times):
    """Push an item so many times."""
    for _ in range(times):
        queue.push(item)


def pass_through(queue, item, times):
    """So many times push an item, and pop the one before."""
    for _ in range(times):
        queue.push(item)
        queue.pop()


def push_each(queue, items):
    """Push items one by one, and keep none."""
    for item in items:
        queue.push(item)


def push_until_refused(queue, items):
    """Push items one by one until one is refused; return how many were accepted."""
    for accepted, item in enumerate(items):
        try:
            queue.push(item)
        except Exception:
            return accepted
    return accepted + 1


def pop_numbers(queue, most):
    """Pop so often, or until nothing comes; return the numbers of what came, or what has none."""
    popped = itertools.takewhile(lambda item: item is not None, (queue.pop() for _ in range(most)))
    texts = [str(getattr(item, "url", item)).strip("'") for item in popped]
    return [int(found[0]) if (found := re.findall(r"\d+$", text)) else text for text in texts]


def grown(build, items, counts):
    """Push items, close and open again at each of these counts, at last pop all, the last one after another opening; return the
    first count of which not all came.
    """
    queue, pushed = build(), 0
    for count in counts:
        while pushed < count:
            queue.push(next(items))
            pushed += 1
        queue.close()
        queue = build()
        if len(queue) != count:
            return count, len(queue)
    received = {key(item) for item in itertools.islice(iter(queue.pop, None), pushed - 1)}
    queue.close()
    queue = build()
    received |= {key(item) for item in iter(queue.pop, None)}
    queue.close()
    return pushed, len(received)


def received_of_keys(build, items, keys):
    """Push two items into each of many queues that are open at once, then pop all; return how many came."""
    queues = [build(number) for number in range(keys)]
    for queue in [*queues, *queues]:
        queue.push(next(items))
    received = {key(item) for queue in queues for item in iter(queue.pop, None)}
    for queue in queues:
        queue.close()
    return len(received)


def shrunk(build, items):
    """Push items, then pop one, close and open again until none is left; return the first count that is not the length."""
    queue, count = build(), 0
    for item in items:
        queue.push(item)
        count += 1
    while count:
        queue.pop()
        queue.close()
        queue, count = build(), count - 1
        if len(queue) != count:
            return count, len(queue)
    queue.close()
    return 0, 0


def sizes_lost(queue, items):
    """Push each item twice, and pop both; return the sizes of those that do not come back, or hide what is behind them, or are
    refused though a larger one is not; None if all are refused.
    """
    lost, refused, stored = [], [], False
    for item in items:
        size = len(content(item))
        try:
            queue.push(item)
            queue.push(item)
        except ValueError:  # it may be too large
            refused.append(size)
            queue.pop()
        else:
            lost, refused, stored = lost + refused, [], True
            if [content(queue.pop()), content(queue.pop())] != [content(item)] * 2:
                lost.append(size)
    return lost if stored else None


def edges_lost(open_queue, made, directory, size):
    """Let a file end a few bytes before a size, push two items more, and pop all; return the numbers of bytes with which one is
    lost; None of a queue whose files do not grow by as much as is pushed.
    """

    def sizes():
        found = {}
        for path in Path(directory).rglob("*"):
            with suppress(OSError):  # it may be gone by now
                found[path] = path.stat().st_size
        return found

    def filled(number, length):
        before, queue = sizes(), open_queue(number)
        try:
            queue.push(made(length))
        except ValueError:  # it may be too large
            return queue, -1
        return queue, max((now - before.get(path, 0) for path, now in sizes().items()), default=0)

    queue, grown = filled(0, size - 5000)
    queue.close()
    more, lost = grown - (size - 5000), None
    for short in range(9) if 0 <= more < 5000 else ():
        queue, grown = filled(short + 1, size - short - more)
        if grown >= 0:
            queue.push(made(1))
            queue.push(made(2))
            lost = (lost or []) + [short] * (count_all(queue) != 3)
        queue.close()
        if grown != size - short:
            break
    return lost


def count_all(queue):
    """Pop until nothing comes; return how many came."""
    return sum(1 for _ in iter(queue.pop, None))


def count_while_peeking(queue, items):
    """Push items one by one, and pop until nothing comes, or one too many; peek before each pop; return how many came."""
    pushed = 0
    for item in items:
        queue.push(item)
        pushed += 1
    for popped in range(pushed + 1):
        queue.peek()
        if queue.pop() is None:
            return popped
    return pushed + 1


def sizes_of_all(queue):
    """Pop until nothing comes; return how many bytes each that came carries, sorted."""
    return sorted(len(content(item)) for item in iter(queue.pop, None))


@contextmanager
def logged(level=0):
    """Collect the texts of what is logged meanwhile, from a level on; what cannot be formatted is not logged."""
    texts, handler, root = [], logging.Handler(level), logging.getLogger()

    def emit(record):
        with suppress(Exception):  # as other handlers do, who print it and go on
            texts.append(record.getMessage())

    handler.emit = emit
    usual = root.level
    root.addHandler(handler)
    root.setLevel(min(level, usual))
    try:
        yield texts
    finally:
        root.removeHandler(handler)
        root.setLevel(usual)


def open_files():
    """Return how many files this process has open; 0 where nothing tells."""
    try:
        return next((len(os.listdir(path)) for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), 0)
    except OSError:  # no descriptor is left to look with: all that there may be are open
        return os.sysconf("SC_OPEN_MAX")


def can_open_files():
    """Return whether this process can open one more file."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return False
    return True


def key(item):
    """Return what tells an item from others: of a request its URL, and how long its body is if it has one."""
    if not hasattr(item, "body"):
        return item
    return f"{item.url} with {len(item.body)} bytes" if item.body else item.url


def contents(items):
    """Return the keys of items, sorted."""
    return sorted((key(item) for item in items if item is not None), key=repr)


def drain(queue, seconds=2.0, most=50):
    """Take out everything, close, and return the keys of what came, sorted.

    For so many seconds, None from a queue that is not empty is a temporary problem.
    """
    received, deadline = [], time.monotonic() + seconds
    while len(received) < most:
        if (item := queue.pop()) is not None:
            received.append(item)
        elif time.monotonic() > deadline or len(queue) == 0:
            break
        else:
            time.sleep(0.02)
    with suppress(Exception):  # that it closes without an error is a rule of its own
        queue.close()
    return contents(received)


def push_again(queue, item, seconds=2.0):
    """Push what was refused while the server was away, once the queue finds out that it is back."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return queue.push(item)
        except Exception:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.02)
