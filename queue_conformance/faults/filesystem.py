"""A small file system, which can really be full. Linux only.

Scripts quote the functions that they need from this file word by word, so each one stands on its own.
"""

import ctypes
import os
from contextlib import suppress
from pathlib import Path


def mount_small_filesystem(directory: str) -> None:
    """Mount a file system of 4 MiB on a directory. Only this process sees it, and it vanishes with the process.

    Raises:
        OSError: if that is not permitted.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    owner, group = os.getuid(), os.getgid()
    mounts, users = 0x20000, 0x10000000  # CLONE_NEWNS, which needs root, and CLONE_NEWUSER, which may be forbidden
    if libc.unshare(mounts):
        if libc.unshare(mounts | users):
            raise OSError(ctypes.get_errno(), "no namespace for mounts")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{owner} {owner} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    private = 0x44000  # MS_REC | MS_PRIVATE: nothing of this reaches other processes
    if libc.mount(None, b"/", None, private, None) or libc.mount(b"tmpfs", directory.encode(), b"tmpfs", 0, b"size=4m"):
        raise OSError(ctypes.get_errno(), "cannot mount")


def fill_filesystem(directory: str, room: int) -> None:
    """Write a file that leaves this number of bytes free, in pages of 4096 bytes."""
    with open(directory + "/filler", "wb", buffering=0) as filler:
        with suppress(OSError):
            while filler.write(bytes(65536)):
                pass
        filler.truncate(filler.tell() - room)


def obey_modes() -> None:
    """Let this process, and those that it starts, be refused what the modes of files forbid, even if it is root's.

    Raises:
        OSError: if that is not possible.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version, override = 0x20080522, 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, in three sets of two words
    header, sets = (ctypes.c_uint32 * 2)(version, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "no capabilities")
    for word in range(3):
        sets[word] &= ~override
    libc.prctl(24, 1), libc.prctl(24, 2)  # PR_CAPBSET_DROP: a program that this process becomes does not get them back
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "cannot give them up")
