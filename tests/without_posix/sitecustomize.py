"""What Windows does not have is not there, in this process and in those that it starts; Python imports this by itself."""

import os
import signal
import sys

import twisted.internet.asyncioreactor
import twisted.internet.process  # noqa: F401  what Twisted itself needs

for name in ("fcntl", "resource"):
    sys.modules[name] = None
for name in ("fork", "killpg", "mkfifo", "pidfd_open", "setpgid", "setsid", "waitid"):
    delattr(os, name)
for name in ("SIGALRM", "SIGCONT", "SIGKILL", "SIGSTOP", "SIGXFSZ", "alarm", "setitimer"):
    delattr(signal, name)
