from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from formulaseed.data.extractions import FieldValue
from formulaseed.errors import DataError
from formulaseed.extract.fields import Field
from formulaseed.extract.lexical.cues import KINDS, SPOKEN, Index, Score, cues_of
from formulaseed.extract.lexical.text import sentences

_NONE_NAMES = frozenset("none no na n/a null unknown unclear unspecified not_mentioned unmentioned nothing".split())
_NONE_OPENINGS = ("no ", "not ", "nothing ", "none ", "unknown", "unclear", "unspecified")


class LexicalExtractor:
    def __init__(self, fields: Sequence[Field], kinds: Collection[str] = KINDS) -> None:
        self.fields = tuple(fields)
        self._kinds = kinds
        self._options = [_options(f) for f in self.fields]
        self._nothing = [_nothing(f) for f in self.fields]
        self._index = Index((c for i, os in enumerate(self._options) for j, (v, n, d) in enumerate(os) if v != self._nothing[i] or f_bool(self.fields[i]) for c in cues_of((i, j), n, d, kinds)), kinds)

    def spoken(self, text: str) -> dict[str, FieldValue]:
        scores = self._index.scores(sentences(text))
        out = {}
        for i, f in enumerate(self.fields):
            found = [(j, scores[i, j]) for j in range(len(self._options[i])) if (i, j) in scores]
            if f.type == "boolean":
                if found:
                    s = found[0][1]
                    if s.best >= SPOKEN: out[f.name] = True
                    elif s.denied >= SPOKEN: out[f.name] = False
                continue
            said = sorted(((s.best, s.total, j) for j, s in found if s.best >= SPOKEN), reverse=True)
            if said and (len(said) == 1 or said[0][:2] > said[1][:2]):
                out[f.name] = self._options[i][said[0][2]][0]
            elif not said and any(s.denied >= SPOKEN for _, s in found) and self._nothing[i] is not None and f.default is None:
                out[f.name] = self._nothing[i]
        return out


def f_bool(f): return f.type == "boolean"

def _options(f):
    if f.type == "enum":
        return [(v, v, d) for v, d in f.values]
    if f.type == "boolean":
        return [(True, f.name, f.description)]
    return []

def _nothing(f):
    if f.default is not None: return f.default
    for v, d in f.values:
        if v.lower() in _NONE_NAMES or d.lower().startswith(_NONE_OPENINGS): return v
    return None
