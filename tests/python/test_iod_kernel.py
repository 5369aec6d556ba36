"""A Linux kernel, in an emulated machine, mounts what ``isthmus iod serve`` exports.

The machine starts from a file system in memory that this module makes: a static busybox, modules of
the kernel, and a script that mounts the export and uses it. It takes about ten seconds without
hardware support. The test is left out where QEMU, busybox or a kernel with its modules is missing.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nic_daemon import PATIENCE, daemon

MODULES = ("virtio_pci", "virtio_net", "9pnet_fd", "9p")
SCRIPT = r"""#!/bin/sh
export PATH=/bin
echo
busybox mount -t proc none /proc
busybox --install -s /bin
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for module in @MODULES@; do insmod "/modules/$module" || echo "FAILED insmod $module"; done
ip link set lo up
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
mkdir /mnt
mount -t 9p -o trans=tcp,port=@PORT@,version=9p2000.L,access=any,msize=65536,aname=@EXPORT@ \
    10.0.2.2 /mnt || { echo FAILED mount; poweroff -f; sleep 9; }
cd /mnt
check() { name=$1; shift; if "$@"; then echo "PASSED $name"; else echo "FAILED $name"; fi; }
same() { [ "$(cat "$1")" = "$2" ]; }
check read same from-host 'written by the host'
printf 'written by the kernel' > from-kernel
check write same from-kernel 'written by the kernel'
printf ' again' >> from-kernel
check append same from-kernel 'written by the kernel again'
check large dd if=/dev/urandom of=large bs=64k count=64 2>/dev/null
cp large copy
check copy cmp large copy
check hole dd if=/dev/zero of=hole bs=1 count=1 seek=5368709119 2>/dev/null
check size [ "$(stat -c %s hole)" = 5368709120 ]
check truncate truncate -s 3 from-kernel
check truncated same from-kernel wri
mkdir -p a/b
check rename mv a c
echo deep > c/b/file
( cd c/b; mv /mnt/c /mnt/d; check follows same file deep; echo more > other )
check moved same d/b/other more
ln -s d/b/file soft
ln d/b/file hard
check soft same soft deep
check links [ "$(stat -c %h hard)" = 2 ]
check mode chmod 640 hard
check moded [ "$(stat -c %a d/b/file)" = 640 ]
check times touch -d '2001-02-03 04:05:06' hard
check timed [ "$(stat -c %Y hard)" = "$(date -d '2001-02-03 04:05:06' +%s)" ]
exec 3< d/b/file
rm d/b/file hard
check unlinked [ "$(cat <&3)" = deep ]
exec 3<&-
i=0; while [ $i -lt 300 ]; do : > "d/b/entry-$i"; i=$((i + 1)); done
check entries [ "$(ls d/b | wc -l)" = 301 ]
mkfifo pipe
check pipe [ -p pipe ]
check space df .
check sync sync
rm -r d
check removed [ ! -e d ]
cd /
check unmount umount /mnt
echo ENDED
poweroff -f
"""


def _entry(name: str, mode: int, data: bytes = b"") -> bytes:
    """Return an entry of an archive as the kernel reads it (cpio, "newc")."""
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    padded = [part + bytes(-len(part) % 4) for part in (head, data)]
    return b"".join(padded)


def _needed(modules: Path) -> list[Path]:
    """Return the files of the modules and of those that they need, these first."""
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[Path(path).name.partition(".")[0]] = [path, *others.split()]
    found: list[str] = []
    for name in MODULES:
        # Names with a hyphen in the file have an underscore elsewhere; a module may be built in.
        for path in reversed(needs.get(name) or needs.get(name.replace("_", "-"), [])):
            if path not in found:
                found.append(path)
    return [modules / path for path in found]


def _machine() -> tuple[str, Path, Path, Path]:
    """Return QEMU, busybox, a kernel and its modules, or skip the test."""
    qemu = shutil.which("qemu-system-x86_64")
    busybox = shutil.which("busybox")
    kernels = sorted(Path("/boot").glob("vmlinuz-*"))
    found = [(kernel, Path("/lib/modules") / kernel.name.partition("-")[2]) for kernel in kernels]
    found = [(kernel, modules) for kernel, modules in found if (modules / "modules.dep").exists()]
    if qemu is None or busybox is None or not found or not os.access(found[-1][0], os.R_OK):
        pytest.skip("needs qemu-system-x86, busybox-static and a kernel with its modules")
    return qemu, Path(busybox), *found[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="the daemon is Linux's")
def test_a_kernel_mounts_and_uses_an_export(tmp_path):
    qemu, busybox, kernel, modules = _machine()
    files = tmp_path / "files"
    files.mkdir()
    (files / "from-host").write_text("written by the host")
    words = ["--export", files, "--listen", "tcp:127.0.0.1:0", "--allow-plain"]
    with daemon(*words, command=("iod", "serve")) as (_, printed):
        needed = _needed(modules)
        script = SCRIPT.replace("@MODULES@", " ".join(path.name for path in needed))
        script = script.replace("@PORT@", printed["listening"][0].rpartition(":")[2])
        script = script.replace("@EXPORT@", str(files))
        folder, program = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
        parts = [_entry(name, folder) for name in ("bin", "modules", "proc", "sys", "dev")]
        parts += [_entry("init", program, script.encode())]
        parts += [_entry("bin/busybox", program, busybox.read_bytes())]
        parts += [_entry("bin/sh", program, busybox.read_bytes())]
        parts += [_entry(f"modules/{path.name}", program, path.read_bytes()) for path in needed]
        archive = tmp_path / "initrd"
        archive.write_bytes(gzip.compress(b"".join(parts) + _entry("TRAILER!!!", 0), 1))
        command = [qemu, "-accel", "tcg", "-m", "256", "-nographic", "-no-reboot", "-nodefaults"]
        command += ["-serial", "stdio", "-kernel", str(kernel), "-initrd", str(archive)]
        command += ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"]
        command += ["-append", "console=ttyS0 quiet panic=-1"]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    lines = done.stdout.replace("\r", "").splitlines()
    failed = [line for line in lines if line.startswith("FAILED")]
    assert not failed, done.stdout
    assert "ENDED" in lines, done.stdout + done.stderr
    names = re.findall(r"^(?:\(.*; )?check (\w+)", SCRIPT, re.MULTILINE)
    assert [line for line in lines if line.startswith("PASSED")] == [
        f"PASSED {name}" for name in names
    ]
    assert (files / "from-kernel").read_text() == "wri"
    assert (files / "hole").stat().st_size == 5368709120
    assert (files / "copy").read_bytes() == (files / "large").read_bytes()
