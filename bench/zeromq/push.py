"""Messages from one process to another by ZeroMQ, PUSH to PULL over loopback TCP, without copies in
Python: ``push.py MESSAGE_BYTES MESSAGES BUFFER_BYTES IO_THREADS``, BUFFER_BYTES 0 for the system's.
Prints seconds and CPU seconds of both processes as JSON.
"""

import json
import resource
import subprocess
import sys
import time

import zmq


def _socket(context: zmq.Context, kind: int, buffer: int) -> zmq.Socket:
    socket = context.socket(kind)
    if buffer:
        socket.setsockopt(zmq.SNDBUF, buffer)
        socket.setsockopt(zmq.RCVBUF, buffer)
    # As many on their way as fit into 64 MiB.
    socket.setsockopt(zmq.SNDHWM, 64)
    socket.setsockopt(zmq.RCVHWM, 64)
    return socket


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def push(message: int, messages: int, buffer: int, threads: int, address: str) -> None:
    """The process that sends."""
    context = zmq.Context(threads)
    socket = _socket(context, zmq.PUSH, buffer)
    socket.connect(address)
    data = bytes(message)
    for _ in range(messages + 1):
        socket.send(data, copy=False)
    socket.close()
    context.term()


def main() -> None:
    """Starts the process that sends, and receives."""
    words = sys.argv[1:]
    message, messages, buffer, threads = map(int, words[:4])
    if len(words) > 4:
        push(message, messages, buffer, threads, words[4])
        return
    context = zmq.Context(threads)
    socket = _socket(context, zmq.PULL, buffer)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    address = f"tcp://127.0.0.1:{port}"
    sender = subprocess.Popen([sys.executable, __file__, *words, address])
    # The first says that the other process runs.
    socket.recv(copy=False)
    begin, cpu = time.perf_counter(), _cpu(resource.RUSAGE_SELF)
    for _ in range(messages):
        if len(socket.recv(copy=False)) != message:
            raise SystemExit("another message")
    seconds, cpu = time.perf_counter() - begin, _cpu(resource.RUSAGE_SELF) - cpu
    if sender.wait():
        raise SystemExit("the process that sends failed")
    # Of the other process all of it, its start included.
    cpu += _cpu(resource.RUSAGE_CHILDREN)
    sys.stdout.write(json.dumps({"seconds": seconds, "cpu_s": cpu}) + "\n")


main()
