"""The fingerprint of a set of pods, as agents on nodes compute it (github.com/k8stopologyawareschedwg/podfingerprint).

It tells whether a report counts the same pods as the scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

PREFIX: Final = "pfp0v001"
_MASK: Final = (1 << 64) - 1
_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Of pods given by namespace and name, in any order."""
    hashes = sorted(_pod_hash(namespace, name) for namespace, name in pods)
    return f"{PREFIX}{xxh64(b''.join(one.to_bytes(8, 'little') for one in hashes)):016x}"


@lru_cache(maxsize=1 << 16)
def _pod_hash(namespace: str, name: str) -> int:
    return xxh64(name.encode(), xxh64(namespace.encode()))


def xxh64(data: bytes, seed: int = 0) -> int:
    """XXH64 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    length, position = len(data), 0
    if length >= 32:
        lanes = [seed + _P1 + _P2 & _MASK, seed + _P2 & _MASK, seed, seed - _P1 & _MASK]
        while position <= length - 32:
            for lane in range(4):
                start = position + 8 * lane
                lanes[lane] = _round(lanes[lane], int.from_bytes(data[start : start + 8], "little"))
            position += 32
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        total = seed + _P5 & _MASK
    return _finished(total + length & _MASK, data[position:])


def _finished(total: int, rest: bytes) -> int:
    """With the last bytes, fewer than 32, and every bit mixed into all others."""
    while len(rest) >= 8:
        total = (_rotated(total ^ _round(0, int.from_bytes(rest[:8], "little")), 27) * _P1 + _P4) & _MASK
        rest = rest[8:]
    if len(rest) >= 4:
        total = (_rotated(total ^ (int.from_bytes(rest[:4], "little") * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        rest = rest[4:]
    for byte in rest:
        total = _rotated(total ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    total = (total ^ total >> 33) * _P2 & _MASK
    total = (total ^ total >> 29) * _P3 & _MASK
    return total ^ total >> 32


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _P2 & _MASK, 31) * _P1 & _MASK


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _MASK
