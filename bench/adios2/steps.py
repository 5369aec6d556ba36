"""Messages from one process to another by ADIOS2's SST engine over sockets, a step each:
``steps.py MESSAGE_BYTES MESSAGES QUEUE PRELOAD``, at most QUEUE steps waiting, data sent before
they are asked for or not (ON, OFF). Prints seconds and CPU seconds of both processes as JSON.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from adios2 import bindings as adios2

NAME = "bench"


def _io(adios: "adios2.ADIOS", queue: str, preload: str) -> "adios2.IO":
    io = adios.DeclareIO("steps")
    io.SetEngine("SST")
    io.SetParameters(
        {
            "QueueLimit": queue,
            "QueueFullPolicy": "Block",
            "RendezvousReaderCount": "1",
            "MarshalMethod": "BP5",
            "DataTransport": "WAN",
            "ControlTransport": "sockets",
            "NetworkInterface": "lo",
            "SpeculativePreloadMode": preload,
        }
    )
    return io


def _cpu(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def write(message: int, messages: int, queue: str, preload: str) -> None:
    """The process that sends: one buffer again and again."""
    adios = adios2.ADIOS()
    io = _io(adios, queue, preload)
    data = np.zeros(message, np.uint8)
    variable = io.DefineVariable("data", data, [message], [0], [message], True)
    engine = io.Open(NAME, adios2.Mode.Write)
    for _ in range(messages + 1):
        engine.BeginStep()
        engine.Put(variable, data, adios2.Mode.Deferred)
        engine.EndStep()
    engine.Close()


def read(message: int, messages: int, queue: str, preload: str) -> float:
    """Receives all; seconds from the first, which says that the other process runs."""
    adios = adios2.ADIOS()
    io = _io(adios, queue, preload)
    engine = io.Open(NAME, adios2.Mode.Read)
    data = np.empty(message, np.uint8)
    begin = 0.0
    for number in range(messages + 1):
        if engine.BeginStep() != adios2.StepStatus.OK:
            raise SystemExit(f"no step {number}")
        variable = io.InquireVariable("data")
        variable.SetSelection([[0], [message]])
        engine.Get(variable, data, adios2.Mode.Sync)
        engine.EndStep()
        if number == 0:
            begin = time.perf_counter()
    seconds = time.perf_counter() - begin
    engine.Close()
    return seconds


def main() -> None:
    """Starts the process that sends, and receives."""
    words = sys.argv[1:]
    message, messages = int(words[0]), int(words[1])
    if len(words) > 4:
        write(message, messages, *words[2:4])
        return
    with tempfile.TemporaryDirectory() as folder:
        # Where the two find each other.
        program = str(Path(__file__).resolve())
        os.chdir(folder)
        sender = subprocess.Popen([sys.executable, program, *words, "write"])
        cpu = _cpu(resource.RUSAGE_SELF)
        seconds = read(message, messages, *words[2:4])
        cpu = _cpu(resource.RUSAGE_SELF) - cpu
        if sender.wait():
            raise SystemExit("the process that sends failed")
        os.chdir("/")
    # Of the other process all of it, its start included.
    cpu += _cpu(resource.RUSAGE_CHILDREN)
    sys.stdout.write(json.dumps({"seconds": seconds, "cpu_s": cpu}) + "\n")


main()
