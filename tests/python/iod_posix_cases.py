"""The table of `iod_posix.py`: cases of steps, and the differences that are known.

`step -> ERROR` is a step that fails on Linux, `step -> ?` one whose result is compared alone; all
others succeed. A `;` separates steps in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TYPES = ("file", "dir", "fifo", "socket", "symlink")

LEFT_OUT = [
    ("mknod devices", ".*", "the daemon makes no devices"),
    ("a removed directory", "list|lstat", "without a name, a folder that is not open is not found"),
    ("extended attributes", "setx a bad", "the daemon refuses other name spaces with EPERM"),
    (r"modes of files \[user\]", "access b", "the mount does not know the daemon's user"),
    ("an open folder .*", "fstat", "the daemon finds attributes of files by their names"),
]
"""Case, step and reason of each known difference."""

TABLE = """
mkdir
    mkdir a 755; lstat a type,mode,nlink,uid,gid; mkdir b 151; lstat b mode; umask 77
    mkdir c 777; lstat c mode; umask 70; mkdir d 345; lstat d mode; umask 0; mkdir e 1777
    lstat e mode; lstat . nlink; list .; rmdir a; lstat . nlink
mkdir with a trailing slash
    mkdir a/ 755; lstat a/ type; lstat a type; rmdir a/; lstat a type -> ENOENT
mkfifo and mknod
    mkfifo a 755; lstat a type,mode,nlink,size; mkfifo b 151; lstat b mode; umask 77
    mkfifo c 777; lstat c mode; mksock d 777; lstat d type,mode; umask 0; mksock e 666
    lstat e mode; bind f; lstat f type; unlink a; unlink f
mknod devices
    mknod a block -> ?; lstat a type,mode,rdev -> ?; unlink a -> ?; mknod b char -> ?
    lstat b type,mode,rdev -> ?
open creates
    open a w,creat 755; lstat a type,mode,nlink,size,uid,gid; open b rw,creat 151; lstat b mode
    umask 77; open c w,creat 777; lstat c mode; umask 70; open d w,creat 345; lstat d mode
    umask 0; open e w,creat 666; lstat e mode; open f w,creat,excl 600; lstat f mode
    open f w,creat 644; lstat f mode; open f/ r -> ENOTDIR; open g/ w,creat -> EISDIR
open creates a file that it may not open again
    hold f a w,creat 0; write f text; fstat f mode,size; close f; lstat a mode,size
    hold f b rw,creat 444; write f text; seek f 0; read f 9; close f; cat b
open empties a file
    put a longer; open a r; lstat a size; open a rw; lstat a size; open a w,trunc; lstat a size
    put a longer; open a w,creat,trunc; lstat a size; put a more; hold f a r; open a rw,trunc
    fstat f size; read f 9; cat a
open appends
    put a one; hold f a w,append; hold g a w,append; write f two; write g three; write f four
    pwrite f five 0; cat a; ftruncate f 2; write g six; cat a; seek f 0; write f seven; cat a
open of a symbolic link
    put t text; symlink t a; open a r; cat a; open a r,nofollow -> ELOOP; open a w,trunc
    lstat t size; symlink none b; open b r -> ENOENT; open b w,creat,excl -> EEXIST
    open b w,creat; lstat none type; symlink loop loop; open loop r -> ELOOP
    open loop w,creat -> ELOOP; mkdir d; symlink d e; open e r,directory; open e/ r
    open e r,directory,nofollow -> ENOTDIR; open t r,directory -> ENOTDIR; open t/ r -> ENOTDIR
    stat e type; lstat e type; lstat e/ type
open of a directory
    mkdir d; open d r; open d r,directory; open d w -> EISDIR; open d rw -> EISDIR
    open d r,trunc -> EISDIR; open d r,creat -> EISDIR|EINVAL; open d w,append -> EISDIR
    hold f d r; read f 1 -> EISDIR; ftruncate f 0 -> EINVAL; fsync f; fstat f type
open of pipes and sockets
    mkfifo a; open a w,nonblock -> ENXIO; hold f a r,nonblock; hold g a w,nonblock; write g text
    read f 9; seek f 0 -> ESPIPE; ftruncate f 0 -> EINVAL; mksock s; open s r -> ENXIO
    open s w -> ENXIO; truncate a 0 -> EINVAL; truncate s 0 -> EINVAL
descriptors that cannot do it
    put a text; hold f a r; write f x -> EBADF; ftruncate f 1 -> EINVAL; hold g a w
    read g 1 -> EBADF; fallocate f 0 10 -> EBADF; fchmod f 600; lstat a mode
truncate and ftruncate
    put a text; truncate a 2; cat a; truncate a 5; cat a; truncate a 0; lstat a size
    truncate a -1 -> EINVAL; hold f a rw; ftruncate f 3; pread f 9 0; ftruncate f -1 -> EINVAL
    ftruncate f 100000; fstat f size; pread f 2 99998; ftruncate f 4096; fstat f size
    pread f 2 4095; mkdir d; truncate d 0 -> EISDIR; truncate a 9223372036854775807 -> ?
    lstat a size -> ?
truncate keeps the offset
    hold f a rw,creat; write f 12345678; ftruncate f 4; write f X; fstat f size; pread f 20 0
    seek f 0 1
offsets
    hold f a rw,creat; pwrite f end 5000000000; fstat f size; pread f 3 5000000000
    pread f 3 4999999999; seek f -2 2; read f 5; seek f -1 -> EINVAL; pread f 5 -1 -> EINVAL
    pwrite f x -1 -> EINVAL; seek f 6000000000; read f 1; write f z; fstat f size
    ftruncate f 4294967297; fstat f size; pread f 3 4294967295; ftruncate f 0
    fstat f size,blocks; pwrite f x 9223372036854775806 -> ?
posix_fallocate
    hold f a rw,creat; fallocate f 0 5000; fstat f size; fallocate f 10000 5; fstat f size
    fallocate f 0 10; fstat f size; pread f 5 10000; fallocate f 0 0 -> EINVAL
    fallocate f -1 5 -> EINVAL; fallocate f 5 -1 -> EINVAL; pwrite f data 0; fallocate f 0 20000
    pread f 4 0; fstat f size
link
    put a text; link a b; lstat a nlink; lstat b nlink,size; unlink a; cat b; lstat b nlink
    link b a; chmod a 640; lstat b mode; rename a b; list .; lstat a nlink; mkdir d; link a d/a
    unlink a; cat d/a; link d e -> EPERM; symlink none s; link s t; lstat t type,nlink; readlink t
link while open
    hold f a rw,creat; link a b; write f one; cat b; unlink a; write f two; cat b; fstat f nlink
    unlink b; fstat f nlink; write f three; fstat f size; pread f 20 0; ftruncate f 2
    fstat f size; fchmod f 600; fstat f mode; fsync f; close f; list .
symlink and readlink
    symlink target a; lstat a type,size,nlink; readlink a; stat a type -> ENOENT
    symlink /absolute/path b; readlink b; symlink @254 c; readlink c; symlink ./../d/ d
    readlink d; put f x; readlink f -> EINVAL; mkdir e; readlink e -> EINVAL; symlink e s
    mkdir s/in; list e; symlink f s/to; list e; readlink e/to; symlink @long l -> ?
    symlink @path l -> ENAMETOOLONG; open a/b r -> ENOENT; rmdir s -> ENOTDIR; unlink s; list e
unlink
    mkdir d; unlink d -> EISDIR; put d/a x; hold f d/a rw; unlink d/a; lstat d/a type -> ENOENT
    write f yes; pread f 3 0; rmdir d; fstat f nlink; write f more; pread f 9 0; close f
    unlink none -> ENOENT; unlink . -> EISDIR; put a x; unlink a/ -> ENOTDIR
a removed name is used again
    hold f a rw,creat; write f one; unlink a; put a two; cat a; pread f 9 0; rename a b
    put a three; write f more; pread f 9 0; cat a; cat b; close f; cat a
rmdir
    mkdir a; mkdir a/b; rmdir a -> ENOTEMPTY; rmdir a/b; put a/c x; rmdir a -> ENOTEMPTY
    unlink a/c; symlink x a/l; rmdir a -> ENOTEMPTY; unlink a/l; rmdir a/. -> EINVAL; mkdir a/b
    rmdir a/b/.. -> ENOTEMPTY; rmdir a/b; rmdir a; rmdir a -> ENOENT; put f x; rmdir f -> ENOTDIR
a removed directory
    mkdir d; cd d; rmdir ../d; open x w,creat -> ENOENT; mkdir x -> ENOENT; list .; lstat . nlink
    symlink t x -> ENOENT; stat .. type
rename
    put a one; rename a b; list .; cat b; lstat b nlink; rename b b; cat b; put c two; rename b c
    cat c; mkdir d; put d/x x; rename d e; list e; rename e/x x; list e; rename none x -> ENOENT
    list .; mkdir g; rename e g; list .; mkdir g/full; mkdir h; rename h g -> ENOTEMPTY
    rename g g/sub -> EINVAL; rename g g/full/sub -> EINVAL; rename g/full g -> ENOTEMPTY
    rename g . -> EBUSY; rename . q -> EBUSY; rename g/. q -> EBUSY; rename g/.. q -> EBUSY
    rename c g -> EISDIR; rename g c -> ENOTDIR; rename c z/ -> ENOTDIR; rename g z/; list .
    rename z none/z -> ENOENT; rename none/z z -> ENOENT
rename of open files and folders
    mkdir d; hold f d/a rw,creat; write f one; rename d e; write f two; cat e/a; rename e/a e/b
    write f three; cat e/b; put c old; hold g c rw; rename e/b c; read g 9; write g more
    pread g 9 0; fstat g nlink; write f four; cat c; fstat f nlink; close g; close f; cat c
rename of names of one file
    put a x; link a b; rename a b; list .; lstat a nlink; mkdir d; link a d/a; rename a d/a
    list d; list .
between file systems
    put a x; rename a ~/a -> EXDEV; link a ~/a -> EXDEV; list .
chmod
    put a x; chmod a 0; lstat a mode; chmod a 111; lstat a mode; chmod a 777; lstat a mode
    symlink a s; chmod s 600; lstat a mode; lstat s mode; mkdir d; chmod d 1755; lstat d mode
    chmod d 500; lstat d mode; chmod d 755; mkfifo f; chmod f 612; lstat f mode; mksock k
    chmod k 612; lstat k mode; hold h a w; fchmod h 640; fstat h mode; lstat a mode
    symlink none t; chmod t 644 -> ENOENT
sticky folders of one user
    mkdir d 1777; put d/a x; mkdir d/b; rename d/a d/c; rmdir d/b; unlink d/c; lstat d mode
chown
    put a x; chown a me me; lstat a uid,gid,mode; chown a - -; lstat a uid,gid; chown a me -
    chown a - me; symlink a s; lchown s me me; lstat s uid,gid; chown s me me; mkdir d
    chown d me me; lstat d uid,gid; symlink none t; chown t me me -> ENOENT; lchown t me me
    mkfifo f; chown f me me
chown to others [user]
    put a x; chown a 12345 - -> EPERM; chown a - 12345 -> EPERM; lstat a uid,gid
utimensat
    put a x; utimens a 100.000000001 200.999999999; lstat a atime,mtime; utimens a omit 300.5
    lstat a atime,mtime; utimens a 400 omit; lstat a atime,mtime; utimens a omit omit
    lstat a atime,mtime; utimens a 1 -5.25; lstat a mtime; utimens a 1 4294967296.5
    lstat a mtime; utimens a 1 2000000000; lstat a mtime; utimens a 1 1.1000000000 -> EINVAL
    symlink a s; utimens s 7 8; lstat a mtime; utimens s 9 10 nofollow; lstat a mtime
    lstat s mtime; symlink none t; utimens t 1 2 -> ENOENT; mkdir d; utimens d 11 12
    lstat d atime,mtime; mkfifo f; utimens f 13 14; lstat f atime,mtime
utimensat now
    put a x; utimens a 1 2; changed a; utimens a 1 now; changed a; utimens a 1 2; changed a
    utimens a now now; changed a; tick; utimens a omit omit; changed a
times of writes survive the close
    hold f a rw,creat; write f one; utimens a 100 200; close f; lstat a mtime; hold f a rw
    write f x; utimens a 300 400; write f y; close f; open a r; changed a; tick; open a r
    changed a
extended attributes
    put a x; setx a user.one 1; getx a user.one; setx a user.two 22; listx a; setx a user.one 3
    getx a user.one; setx a user.one 4 1 -> EEXIST; setx a user.none 4 2 -> ENODATA
    setx a user.new 5 1; setx a user.new 6 2; getx a user.new; removex a user.one
    getx a user.one -> ENODATA; removex a user.one -> ENODATA; listx a; setx a bad 1 -> ENOTSUP
    setx a user.empty; getx a user.empty; mkdir d; setx d user.d 1; getx d user.d; listx d
    rename a b; listx b; link b c; getx c user.new; setx b user.@300 1 -> ERANGE; symlink b s
    getx s user.new; mkfifo f; setx f user.f 1 -> EPERM
names
    put @255 x; cat @255; mkdir d; rename @255 d/@255; list d; unlink d/@255
    open @256 r -> ENAMETOOLONG; mkdir d/@255; put d/@255/@255 x; list d/@255
    cat @longd/@255/@255 -> ?; stat @long type -> ?; statvfs .; put ü x; put a\\nb x; put -x x
    put ... x; list .; cat ü; unlink ...; stat d/../d/. type; stat d//.. type
access
    put a x; access a f; access none f; chmod a 444; access a r; access a x; chmod a 555
    access a rx; mkdir d; access d rwx; chmod d 500; access d rx; chmod d 755
modes of files [user]
    put a x; chmod a 444; open a r; open a w -> EACCES; open a rw -> EACCES
    open a w,trunc -> EACCES; truncate a 0 -> EACCES; access a w; chmod a 222; open a w
    open a r -> EACCES; open a rw -> EACCES; truncate a 0; access a r; chmod a 0
    open a r -> EACCES; open a w -> EACCES; lstat a mode; unlink a; put b x; chmod b 77
    open b r -> EACCES; access b r; access b w; access b x; utimens b now now; utimens b 1 2
    setx b user.a 1 -> EACCES; rename b c; link c d; chmod c 644; cat d
modes of folders [user]
    mkdir d; put d/a x; mkdir d/b; chmod d 555; open d/a r; open d/a w
    open d/n w,creat -> EACCES; list d; chmod d 111; list d -> EACCES; open d/a r; lstat d/a type
    chmod d 444; list d; open d/a r -> EACCES; lstat d/a type -> EACCES; access d/a f; access d x
    chmod d 666; open d/n w,creat -> EACCES; chmod d 333; open d/n w,creat; list d -> EACCES
    unlink d/n; chmod d 0; lstat d type; chmod d 755
an open folder that is closed to its user [user]
    mkdir d; put d/a x; hold f d/a rw; chmod d 0; write f more; fstat f size; chmod d 755; cat d/a
times of failed calls
    mkdir d; put d/a x; changed d d/a; tick; mkdir d/a -> EEXIST; link d/a d/a -> EEXIST
    rmdir d -> ENOTEMPTY; symlink t d/a -> EEXIST; unlink d/none -> ENOENT
    rename d/none d/a -> ENOENT; mkfifo d/a -> EEXIST; truncate d/a -1 -> EINVAL
    open d/a w,creat,excl -> EEXIST; changed d d/a
"""
"""Cases with their steps."""

USERS_OF_NAMES = """
    chmod P 644; chown P me me; truncate P 3; open P r,nonblock; open P w,nonblock; rename P n
    link P n; unlink P; rmdir P; utimens P now now; stat P type; lstat P type; readlink P
    getx P user.a; setx P user.a v; list P
"""
"""Calls that use an entry P."""

MAKERS_OF_NAMES = """
    mkdir P; mkfifo P; mksock P; open P w,creat; symlink t P; link s P; rename s P
"""
"""Calls that make an entry P of an entry s, or of nothing."""

PREFIXES = {
    "a file in the path": ("put f x", "f/a", "ENOTDIR"),
    "a missing folder in the path": ("", "none/a", "ENOENT"),
    "a loop of symbolic links": ("symlink l m; symlink m l", "l/a", "ELOOP"),
    "a long name": ("", "@256", "ENAMETOOLONG"),
    "a long name in the path": ("", "@256/a", "ENAMETOOLONG"),
    "a long path": ("", "@path", "ENAMETOOLONG"),
    "a closed folder [user]": ("mkdir d; put d/a x; chmod d 0", "d/a", "EACCES"),
}
"""Steps that prepare a path, and the error of each call that uses it."""

TIMES = """
d: mkdir d/a | mkfifo d/a | mksock d/a | symlink t d/a | open d/a w,creat
d, put d/a x: unlink d/a
d, mkdir d/a: rmdir d/a | rename d/a d/b
d, put d/a x; put d/b y: rename d/a d/b
d e, put d/a x; mkdir e: rename d/a e/a
d e, mkdir d/a; mkdir e: rename d/a e/a
d d/a, put d/a x: open d/a w,creat | open d/a r | open d/a w,trunc | put d/a other | link d/a d/b
d d/a, put d/a x: truncate d/a 5 | truncate d/a 1 | chmod d/a 600 | chown d/a me me | cat d/a
d d/a, put d/a x: utimens d/a 1 2 | setx d/a user.a 1 | lstat d/a type | list d
d d/a, open d/a w,creat: open d/a w,trunc
d d/b, put d/a x; link d/a d/b: unlink d/a
d d/a, hold f d/a rw,creat: write f x | ftruncate f 5 | read f 5 | fallocate f 0 5 | fchmod f 600
d d/a, hold f d/a rw,creat; write f x: ftruncate f 1 | write f x | fsync f
d d/b, hold f d/a rw,creat; write f x; link d/a d/b: unlink d/a | close f
"""
"""The paths whose times may change, the steps before, and calls that are tried one by one."""


def _steps(text: str) -> list[str]:
    return [step.strip() for line in text.splitlines() for step in line.split(";") if step.strip()]


def _table() -> Iterator[tuple[str, list[str]]]:
    """Give the cases of the table."""
    for part in re.split(r"\n(?! )", TABLE.strip()):
        name, _, text = part.partition("\n")
        yield name, _steps(text)


def _paths() -> Iterator[tuple[str, list[str]]]:
    """Give a case for each path that cannot be used, and one for each type of an existing entry."""
    for name, (before, path, error) in PREFIXES.items():
        calls = [call.replace("P", path) for call in _steps(USERS_OF_NAMES + MAKERS_OF_NAMES)]
        yield (
            name,
            [*_steps(before), "put s x", *(f"{call} -> {error}" for call in calls), "chmod . 755"],
        )
    missing = [f"{call.replace('P', 'a')} -> ENOENT" for call in _steps(USERS_OF_NAMES)]
    yield "a missing entry", missing
    for kind in TYPES:
        # The name of each call's new entry is another one, so that each has the same start.
        for call in _steps(USERS_OF_NAMES):
            step = call.replace("P", "a")
            yield (
                f"{step} on a {kind}",
                [f"make {kind} a", f"{step} -> ?", "lstat a type,nlink -> ?"],
            )
        for call in _steps(MAKERS_OF_NAMES)[:-1]:
            is_open = call.startswith("open") and kind != "file"
            if kind != "fifo" or not is_open:
                error = "?" if call.startswith("open") else "EEXIST"
                yield (
                    f"{call} onto a {kind}",
                    [f"make {kind} P", "put s x", f"{call} -> {error}", "list ."],
                )
        yield f"open with excl onto a {kind}", [f"make {kind} a", "open a w,creat,excl -> EEXIST"]
        for other in TYPES:
            steps = [
                f"make {kind} a",
                f"make {other} b",
                "rename a b -> ?",
                "list .",
                "lstat b type",
            ]
            yield f"rename a {kind} onto a {other}", steps


def _times() -> Iterator[tuple[str, list[str]]]:
    """Give a case for each call that changes times."""
    for line in TIMES.strip().splitlines():
        before, _, calls = line.partition(": ")
        paths, _, before = before.partition(", ")
        changed = f"changed {paths}"
        for call in calls.split(" | "):
            steps = ["mkdir d", *_steps(before), changed, "tick", call, changed, "tick", changed]
            yield f"times of {call} after {before}", steps


CASES = {name: steps for part in (_table(), _paths(), _times()) for name, steps in part}
