"""Matching in linear time. The class is copied, as it stands, into each generated module that needs it.

Typed and tested like everything else; standard library only. Each name is private to the module it lands in.
"""

import re

_ASSERTIONS = ("^", "$", "\\A", "\\Z", "\\b", "\\B")
_REMEMBERED = 2000


class _Automaton:
    """A pattern, case ignored, whose matching takes time in proportion to the text, whatever the text is.

    `program` is an automaton. An entry is a test of one character or an assertion, as `re` writes them, which leads
    to the next entry; or the numbers of the entries that lie open from there. Behind the last entry the pattern has
    matched. All ways are followed at once, a set of entries being the bits of an integer. `head` is a pattern that
    every match begins with.
    """

    head: str
    program: tuple[str | tuple[int, ...], ...]
    waiting: dict[str, int]
    passes: dict[str, int]
    opened: dict[tuple[int, int], int]
    opened_few: dict[tuple[int, str, int], int]

    def __init__(self, head: str, program: tuple[str | tuple[int, ...], ...]) -> None:
        self.head = head
        self.program = program
        self.waiting = {}  # test or assertion: its entries
        self.passes = {}  # character: the entries whose test it passes
        self.opened = {}  # entries reached, assertions that hold: the entries that lie open
        self.opened_few = {}  # four entries by their digit, assertions that hold: the same
        for place, entry in enumerate(program):
            if isinstance(entry, str):
                self.waiting[entry] = self.waiting.get(entry, 0) | 1 << place

    def search(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text."""
        position = 0
        for head in re.finditer(f"(?={self.head})", text, re.IGNORECASE):
            if head.start() >= position:
                position = self.follow(text, head.start())
                if position < 0:
                    return True
        return False

    def follow(self, text: str, start: int) -> int:
        """Follow the matches that begin at `start` and, until all have failed, behind it.

        Gives -1 where one succeeds, else the position up to which all are known to have failed.
        """
        asserted = [(re.compile(entry), self.waiting[entry]) for entry in _ASSERTIONS if entry in self.waiting]
        matched = 1 << len(self.program)
        reached = 1
        for position in range(start, len(text) + 1):
            holding = 0
            for assertion, places in asserted:
                if assertion.match(text, position):
                    holding |= places
            opened = self.opened.get((reached, holding))
            if opened is None:
                opened = self.open(reached, holding)
            if opened & matched:
                return -1
            if position < len(text):
                passes = self.passes.get(text[position])
                if passes is None:
                    passes = self.test(text[position])
                reached = (opened & passes) << 1
                if not reached:
                    return position + 1
                reached |= 1
        return len(text) + 1

    def open(self, reached: int, holding: int) -> int:
        """The entries that lie open from the ones reached, where the assertions `holding` hold."""
        opened = 0
        for index, digit in enumerate(reversed(f"{reached:x}")):  # four entries each, so that what is known serves again
            if digit != "0":
                few = self.opened_few.get((index, digit, holding))
                opened |= self.open_few(index, digit, holding) if few is None else few
        if len(self.opened) >= _REMEMBERED:
            self.opened.clear()
        self.opened[reached, holding] = opened
        return opened

    def open_few(self, index: int, digit: str, holding: int) -> int:
        """The same from the entries that a digit, counted from the last, stands for."""
        opened = int(digit, 16) << 4 * index
        places = [place for place in range(4 * index, 4 * index + 4) if opened >> place & 1]
        for place in places:  # which grows meanwhile
            entry = self.program[place] if place < len(self.program) else ""
            ways = (place + 1,) if holding >> place & 1 else () if isinstance(entry, str) else entry
            for way in ways:
                if not opened >> way & 1:
                    opened |= 1 << way
                    places.append(way)
        if len(self.opened_few) >= _REMEMBERED:
            self.opened_few.clear()
        self.opened_few[index, digit, holding] = opened
        return opened

    def test(self, character: str) -> int:
        """The entries whose test the character passes."""
        passes = 0
        for entry, places in self.waiting.items():
            if entry not in _ASSERTIONS and re.match(entry, character, re.IGNORECASE):
                passes |= places
        if len(self.passes) >= _REMEMBERED:
            self.passes.clear()
        self.passes[character] = passes
        return passes
