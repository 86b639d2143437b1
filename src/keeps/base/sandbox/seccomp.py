"""A seccomp filter for processes that handle untrusted input: the kernel refuses calls that they never need.

It needs no rights and works in containers that forbid namespaces. Call numbers are those of the kernel's `unistd.h`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
from collections.abc import Iterable, Sequence

_SET_SECCOMP, _FILTER_MODE = 22, 2
_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_DENY, _UNKNOWN = _ERROR | errno.EACCES, _ERROR | errno.ENOSYS
_WORD = 0xFFFFFFFF
_NEWEST = 451
"""The highest call number in this list. Newer calls, and those of the x32 ABI, return "not implemented"."""
_TYPE_MASK = 0xF
"""Masks a socket's type, without its flags."""

_MMAP = (9, 222)
_MAPPING_MASK = 0x2F
"""Masks the kind of a mapping and its anonymous flag."""
_MAPPINGS = (0x01, 0x02, 0x03, 0x22)
"""All mappings except anonymous shared memory, which no process limit counts."""

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_OPEN = {"open": (2, None), "creat": (85, None), "openat": (257, 56), "openat2": (437, 437)}
_SOCKETS = {"socket": (41, 198), "socketpair": (53, 199)}
_OWN = {"prlimit64": (302, 261), "tgkill": (234, 131)}
"""Calls whose first argument is a process, which must be the caller."""
_REFUSED = {
    # Calls that act on other processes: code, memory, descriptors, signals, priorities.
    "fork": (57, None),
    "vfork": (58, None),
    "clone": (56, 220),
    "clone3": (435, 435),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "kcmp": (312, 272),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kill": (62, 129),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setaffinity": (203, 122),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "process_mrelease": (448, 448),
    # Incoming connections. io_uring would run any other call inside the kernel, bypassing this filter.
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Memory that outlives the process or is shared by name.
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Changes to files without opening them, which Landlock does not refuse.
    "truncate": (76, 45),
    "chmod": (90, None),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "utimensat": (280, 88),
    "futimesat": (261, None),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "open_by_handle_at": (304, 265),
    # Calls available in a user namespace, and kernel interfaces that attacks commonly start with.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_secret": (447, 447),
}
_Instruction = tuple[int, int, int, int]
_Condition = tuple[int, int, tuple[int, ...]]
"""An argument's position, the mask of the bits to compare, and their allowed values."""


class _Filter(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filters", ctypes.POINTER(_Filter)))


def install(libc: ctypes.CDLL, *, network: bool = False, files: bool = False) -> bool:
    """Filter this process's system calls from now on. The process must have set `no_new_privs` already.

    Args:
        network: Allow TCP connections.
        files: Allow opening files, within other limits.

    Returns:
        True if the kernel accepted the filter; False on a processor whose call numbers are not listed.
    """
    return _load(libc, _program(network=network, files=files))


def _load(libc: ctypes.CDLL, instructions: list[_Instruction]) -> bool:
    if not instructions:
        return False
    filters = (_Filter * len(instructions))(*(_Filter(*each) for each in instructions))
    program = _Program(len(filters), filters)
    return libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0) == 0


def _program(*, network: bool, files: bool) -> list[_Instruction]:
    machine = _ARCHITECTURES.get(platform.machine())
    if machine is None:
        return []
    architecture, column = machine
    own: _Condition = (0, _WORD, (0, os.getpid()))
    stream: _Condition = (1, _TYPE_MASK, (socket.SOCK_STREAM,))
    internet: _Condition = (0, _WORD, (socket.AF_INET, socket.AF_INET6))
    tcp: _Condition = (2, _WORD, (0, socket.IPPROTO_TCP))
    rules: list[tuple[Sequence[int | None], Sequence[_Condition]]] = [(number, ()) for number in _REFUSED.values()]
    rules += [(number, (own,)) for number in _OWN.values()]
    rules.append((_MMAP, [(3, _MAPPING_MASK, _MAPPINGS)]))
    if not files:
        rules += [(number, ()) for number in _OPEN.values()]
    # Event loops wake themselves through a socket pair.
    rules.append((_SOCKETS["socket"], [internet, stream, tcp] if network else []))
    rules.append((_SOCKETS["socketpair"], [stream] if network else []))
    instructions: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_GREATER, 0, 1, _NEWEST),
        (_RETURN, 0, 0, _UNKNOWN),
    ]
    for numbers, conditions in rules:
        instructions += _call(numbers[column], conditions)
    return [*instructions, (_RETURN, 0, 0, _ALLOW)]


def _call(number: int | None, conditions: Iterable[_Condition] = ()) -> list[_Instruction]:
    """Refuse a call unless all conditions hold; without conditions, always. Skip calls that the architecture lacks."""
    if number is None:
        return []
    body: list[_Instruction] = []
    for argument, mask, values in conditions:
        body += [(_LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * argument), (_AND, 0, 0, mask)]
        body += [(_EQUAL, len(values) - position, 0, value) for position, value in enumerate(values)]
        body.append((_RETURN, 0, 0, _DENY))
    body.append((_RETURN, 0, 0, _ALLOW if body else _DENY))
    return [(_EQUAL, 0, len(body), number), *body]
