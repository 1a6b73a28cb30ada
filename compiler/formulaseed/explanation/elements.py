"""Elements of a page as trees: a template renders them, or a browser builds them of packed data.

What a seed or a review says is only ever a text between tags. Tags and attributes are constants of ours.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that reverse the writing direction of what follows, and halves of characters."""
_LISTS = frozenset({"article", "section", "ul", "ol", "dl", "tbody"})
"""Elements with any number of children, which are elements."""


@dataclass(frozen=True, slots=True)
class Element:
    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Element | str, ...]


def element(tag: str, *children: Element | str | None, **attributes: str) -> Element:
    """Return an element; `tag` may name classes, as in `p.near`. Characters that hide or move text are shown as escapes."""
    name, *classes = tag.split(".")
    named = {"class": " ".join(classes)} if classes else {}
    kept = tuple(visible(child) if isinstance(child, str) else child for child in children if child is not None)
    return Element(name, (*named.items(), *attributes.items()), kept)


def visible(text: str) -> str:
    """Return the text with characters that hide or move what is beside them shown as escapes."""
    return _HIDDEN.sub(lambda match: ascii(match[0])[1:-1], text)


@dataclass
class Packing:
    """Packs elements for a page that builds many which are alike.

    An element is packed as the number of its shape and what differs: the texts in it, and for a list of any number of
    children those, packed. Shapes, and texts that occur again, are kept once.
    """

    _shapes: dict[Any, int] = field(default_factory=dict)
    _texts: Counter[str] = field(default_factory=Counter)
    _elements: list[list[Any]] = field(default_factory=list)

    def add(self, added: Element) -> None:
        self._elements.append(self._packed(added))

    def to_json(self) -> dict[str, Any]:
        """Return the shapes, the common texts and the elements.

        A shape is a tag, its attributes and its children, each a shape, 0 for a text or 1 for a list. In an element a
        number stands for a common text.
        """
        common = [text for text, number in self._texts.most_common() if number > 1 and len(text) > 1]
        places = {text: place for place, text in enumerate(common)}

        def shared(value: Any) -> Any:
            if isinstance(value, list):
                return [shared(each) for each in value]
            return places.get(value, value) if isinstance(value, str) else value

        return {"shapes": list(self._shapes), "texts": common, "elements": shared(self._elements)}

    def _packed(self, whole: Element) -> list[Any]:
        values: list[Any] = []
        shape = self._shape(whole, values)
        return [self._shapes.setdefault(shape, len(self._shapes)), *values]

    def _shape(self, part: Element, values: list[Any]) -> tuple[Any, ...]:
        """The shape of an element; what differs goes into the values, in their order."""
        children: list[Any] = []
        if part.tag in _LISTS:
            children.append(1)
            values.append([self._packed(cast(Element, child)) for child in part.children])
        else:
            for child in part.children:
                children.append(0 if isinstance(child, str) else self._shape(child, values))
                if isinstance(child, str):
                    values.append(child)
                    self._texts[child] += 1
        return (part.tag, part.attributes, *children)
