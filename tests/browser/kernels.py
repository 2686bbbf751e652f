"""Kernels of notebooks at the cost of a fork: importing the lab takes seconds, and there is a kernel for each notebook.

As `python -m tests.browser.kernels SOCKET` this file imports the lab once, and forks a kernel for whoever asks at the
socket. As a script it is what Jupyter starts and stops: it asks, and stands for the kernel until one of the two ends.
"""

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

INTERRUPT = b"i"


def stand_for(place: str, connection: str) -> None:
    """Have a kernel forked; hand on interrupts; end when it ends, as it ends when this process does."""
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(place)
        signal.signal(signal.SIGINT, lambda *_: end.sendall(INTERRUPT))
        asked = {"connection": connection, "folder": str(Path.cwd()), "environment": dict(os.environ)}
        end.sendall(json.dumps(asked).encode() + b"\n")
        while end.recv(1):
            pass


def _become_kernel(end: socket.socket, connection: str, folder: str, environment: dict) -> None:
    from ipykernel import kernelapp

    def listen():
        while end.recv(1) == INTERRUPT:
            os.kill(os.getpid(), signal.SIGINT)
        os._exit(0)

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.environ.pop("JPY_PARENT_PID", None)  # the process to end with is at the socket
    sys.argv = ["kernel", "-f", connection]
    threading.Thread(target=listen, daemon=True).start()
    kernelapp.launch_new_instance()


def _serve(place: str) -> None:
    import ipykernel.kernelapp  # noqa: F401

    from tests.processes import load

    load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the kernels
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{place}.shut")
        door.listen()
        Path(f"{place}.shut").rename(place)  # whoever sees it is answered
        while True:
            end, _ = door.accept()
            asked = json.loads(end.makefile().readline())
            if os.fork() == 0:
                door.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                try:
                    _become_kernel(end, **asked)
                finally:
                    os._exit(0)
            end.close()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        _serve(sys.argv[1])
    else:
        stand_for(*sys.argv[1:])
