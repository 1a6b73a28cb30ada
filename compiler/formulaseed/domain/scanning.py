"""Matching in linear time. The class is copied, as it stands, into each generated module that needs it.

Typed and tested like everything else; standard library only. Each name is private to the module it lands in.
"""

import re

_ASSERTIONS = ("^", "$", "\\A", "\\Z", "\\b", "\\B")
_REMEMBERED = 2000


class _Automaton:
    """A pattern, case ignored, whose search takes time in proportion to the text, whatever the text is.

    `program` is a nondeterministic automaton. An entry is a test of one character or an assertion, as `re` writes
    them, which leads to the next entry; or the numbers of the entries that it leads to. Behind the last entry the
    pattern has matched. All ways are followed at once: a set of entries is the bits of an integer. `head` is a
    pattern that every match begins with. What is remembered is forgotten when it becomes too much.
    """

    head: str
    program: tuple[str | tuple[int, ...], ...]
    waiting: dict[str, int]
    passes: dict[str, int]
    closures: dict[tuple[int, int], int]
    parts: dict[tuple[int, str, int], int]

    def __init__(self, head: str, program: tuple[str | tuple[int, ...], ...]) -> None:
        self.head = head
        self.program = program
        self.waiting = {}  # test or assertion: the entries that are it
        self.passes = {}  # character: the entries whose test it passes
        self.closures = {}  # entries, assertions that hold: the entries that these lead to without a character
        self.parts = {}  # the same for four entries, given as a digit and its place
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
        """Follow the matches that begin at `start` or behind it until all have failed, or one has not.

        Gives -1 where one succeeds, else the position before which none begins that could.
        """
        asserted = [(re.compile(each), self.waiting[each]) for each in _ASSERTIONS if each in self.waiting]
        matched = 1 << len(self.program)
        reached = 1
        for position in range(start, len(text) + 1):
            holding = 0
            for pattern, entries in asserted:
                if pattern.match(text, position):
                    holding |= entries
            closure = self.closures.get((reached, holding))
            if closure is None:
                closure = self.closure(reached, holding)
            if closure & matched:
                return -1
            if position < len(text):
                passes = self.passes.get(text[position])
                if passes is None:
                    passes = self.passing(text[position])
                reached = (closure & passes) << 1
                if not reached:
                    return position + 1
                reached |= 1
        return len(text) + 1

    def passing(self, character: str) -> int:
        """The entries whose test the character passes."""
        passes = 0
        for entry, entries in self.waiting.items():
            if entry not in _ASSERTIONS and re.match(entry, character, re.IGNORECASE):
                passes |= entries
        if len(self.passes) >= _REMEMBERED:
            self.passes.clear()
        self.passes[character] = passes
        return passes

    def closure(self, reached: int, holding: int) -> int:
        """Some entries with those that they lead to without a character, where the assertions `holding` hold."""
        closure = 0
        for index, digit in enumerate(reversed(f"{reached:x}")):
            if digit != "0":
                part = self.parts.get((index, digit, holding))
                closure |= self.part(index, digit, holding) if part is None else part
        if len(self.closures) >= _REMEMBERED:
            self.closures.clear()
        self.closures[reached, holding] = closure
        return closure

    def part(self, index: int, digit: str, holding: int) -> int:
        """The same for the four entries that one hexadecimal digit holds."""
        closure = int(digit, 16) << 4 * index
        places = [place for place in range(4 * index, 4 * index + 4) if closure >> place & 1]
        for place in places:  # which grows meanwhile
            entry = self.program[place] if place < len(self.program) else ""
            ways = (place + 1,) if holding >> place & 1 else () if isinstance(entry, str) else entry
            for way in ways:
                if not closure >> way & 1:
                    closure |= 1 << way
                    places.append(way)
        if len(self.parts) >= _REMEMBERED:
            self.parts.clear()
        self.parts[index, digit, holding] = closure
        return closure
