"""Stands for a program of Python: lets the fork server run it, whose socket it has inherited, and ends as that ends.

What is no file, as ``python -c``, is run by an interpreter.
"""

import json
import os
import socket
import sys

_, directory, path = os.environ["PATH"].split(os.pathsep, 2)
environment = {name: value for name, value in os.environ.items() if name != "FORK_SERVER"}
environment["PATH"] = os.pathsep.join([directory, path])
program = os.path.join(directory, os.path.basename(sys.argv[0]))
arguments = sys.argv[1:]
if os.path.basename(program) != "python":
    arguments = [program, *arguments]
elif not arguments or arguments[0].startswith("-"):
    os.execve(program, [program, *arguments], environment)
server = socket.socket(fileno=int(os.environ["FORK_SERVER"]))
message = {"arguments": arguments, "cwd": os.getcwd(), "env": environment}
socket.send_fds(server, [json.dumps(message).encode()], [0, 1, 2])
status = int(server.recv(16))
os._exit(status if status >= 0 else 128 - status)
