"""Whether requests can have a device each: that is found quickly, where a search may not come to an end."""

from __future__ import annotations

from collections.abc import Sequence


def can_be_served(wishes: Sequence[tuple[int, int]]) -> bool:
    """Whether so many devices can be given to each wish, each device once. A wish is (count, candidates as bits)."""
    if any(candidates.bit_count() < count for count, candidates in wishes):
        return False
    holder: dict[int, int] = {}  # by device: the place that has it
    places = [candidates for count, candidates in sorted(wishes, key=_choice) for _ in range(count)]
    return all(_is_placed(number, places, holder) for number in range(len(places)))


def _choice(wish: tuple[int, int]) -> int:
    return wish[1].bit_count()


def _is_placed(number: int, places: Sequence[int], holder: dict[int, int]) -> bool:
    """Give a place a device, and those that must move for it others (Kuhn's algorithm, breadth first)."""
    came_from: dict[int, int] = {}  # by device: the place that wants it
    seen, waiting = 0, [number]
    while waiting:
        place = waiting.pop()
        left = places[place] & ~seen
        while left:
            bit = left & -left
            left ^= bit
            seen |= bit
            device = bit.bit_length()
            came_from[device] = place
            if device not in holder:
                _move(device, number, came_from, holder)
                return True
            waiting.append(holder[device])
    return False


def _move(device: int, number: int, came_from: dict[int, int], holder: dict[int, int]) -> None:
    """Everybody on the way takes the next device, and leaves the one that they had."""
    had = {place: one for one, place in holder.items()}
    while True:
        place = came_from[device]
        holder[device] = place
        if place == number:
            return
        device = had[place]
