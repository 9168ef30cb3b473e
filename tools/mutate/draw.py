# SPDX-License-Identifier: BSD-3-Clause
"""Draws edits of C functions: a comparison, a constant, a condition or a statement is replaced or left out."""

import dataclasses
import random
import re

import csource

KINDS = ("comparison", "constant", "condition", "statement")
ORDER = ("<", "<=", ">", ">=")
TYPES = re.compile(r"(?:const|static|volatile|struct|union|enum|unsigned|signed|int|char|short|long|float|double|bool|void|"
                   r"_Atomic|_Alignas|alignas|extern|register|typedef|\w+_t)$")
NO_TYPES = {"return", "goto", "else", "case", "sizeof", "break", "continue", "do", "default"}
WORDS = NO_TYPES | {"if", "while", "for", "switch"}
INTEGER = re.compile(r"(?:(0[xX])([0-9a-fA-F]+)|()([0-9]+))([uUlL]*)$")
# Where the operand of an operator ends, leftwards and rightwards.
ENDS = {";", ",", "?", ":", "{", "}", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "return", "case"}


@dataclasses.dataclass(frozen=True)
class Edit:
    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    new: str  # what replaces the text from start to end; it has as many lines

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]

    def lines(self, text):
        """The lines that it touches, before and after, each as one line of single spaces."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        new = text[first:self.start] + self.new + text[self.end:last]
        return " ".join(text[first:last].split()), " ".join(new.split())


class Sites:
    """All edits that the functions of one file offer, by kind."""

    def __init__(self, file, text):
        self.file = file
        self.source = csource.Source(text)
        self.tokens = self.source.tokens
        self.found = {kind: [] for kind in KINDS}
        for function in self.source.functions:
            self._function(function)

    def weight(self):
        return sum(self.tokens[f.last].start - self.tokens[f.first].start for f in self.source.functions)

    def _add(self, kind, first, last, new):
        """Offers `new` instead of tokens first..last."""
        start, end = self.tokens[first].start, self.tokens[last].end
        old = self.source.text[start:end]
        missing = old.count("\n") - new.count("\n")
        if new + "\n" * missing == old or missing < 0:
            return
        self.found[kind].append(Edit(self.file, self.source.line(start), self.function.name, kind, start, end,
                                     new + "\n" * missing))

    def _function(self, function):
        self.function = function
        i = function.first
        statement = function.first  # its first token
        depth = 0
        while i < function.last:
            text = self.tokens[i].text
            if i == statement and self._declares(i):
                i = self._declared(i)
            if i >= function.last:
                break
            token = self.tokens[i]
            text = token.text
            if i == statement:
                self._statement(i)
            if text in ("(", "["):
                depth += 1
            elif text in (")", "]"):
                depth -= 1
            self._token(i)
            i += 1
            if depth == 0 and self._ends_statement(i - 1):
                statement = i

    def _ends_statement(self, i):
        text = self.tokens[i].text
        if text in (";", "{", "}", "else", "do"):
            return True
        if text == ")":
            return self.tokens[self.source.match[i] - 1].text in ("if", "while", "for", "switch")
        return text == ":" and self._labels(i)

    def _labels(self, i):
        """True if this colon ends a label."""
        before = i - 1
        if self.tokens[before].text == "default":
            return True
        if self.tokens[before].kind == "name" and self.tokens[before - 1].text in (";", "{", "}", ":"):
            return True
        while before > self.function.first and self.tokens[before].text not in (";", "{", "}", "?"):
            if self.tokens[before].text == "case":
                return True
            before -= 1
        return False

    def _declares(self, i):
        """True if a declaration begins here: two names in a row, or a name, stars, a name and what follows one."""
        first, second = self.tokens[i], self.tokens[i + 1]
        if first.kind != "name" or first.text in WORDS:
            return False
        if TYPES.match(first.text):
            return second.text not in ("(", ".", "->", "=", "[", "++", "--")
        if second.kind == "name":
            return True
        stars = i + 1
        while self.tokens[stars].text == "*":
            stars += 1
        return stars > i + 1 and self.tokens[stars].kind == "name" and self.tokens[stars + 1].text in ("=", ";", "[", ",")

    def _declared(self, i):
        """The first token of a declaration that may be edited: what comes after `=`; the end if nothing does."""
        static = self.tokens[i].text == "static" or (self.tokens[i].text == "const" and self.tokens[i + 1].text == "static")
        while self.tokens[i].text not in (";", "="):
            i = self.source.match.get(i, i) + 1 if self.tokens[i].text in csource.PAIRS else i + 1
        if static:
            while self.tokens[i].text != ";":
                i = self.source.match.get(i, i) + 1 if self.tokens[i].text in csource.PAIRS else i + 1
        elif self.tokens[i].text == "=" and [t.text for t in self.tokens[i + 1:i + 4]] == ["{", "0", "}"]:
            i += 4  # {0} is how all is set to zero
        return i

    def _operand(self, i, step, stops):
        """The last token of the operand beside token i, going left (-1) or right (1)."""
        i += step
        last = i
        while True:
            text = self.tokens[i].text
            if text in ENDS or text in stops:
                return last
            if step > 0 and text in (")", "]") or step < 0 and text in ("(", "["):
                return last
            if text in ("(", "[", "{", ")", "]", "}"):
                i = self.source.match[i]
            last = i
            i += step

    def _token(self, i):
        token = self.tokens[i]
        if token.text in ORDER:
            for other in ORDER:
                self._add("comparison", i, i, other)
        elif token.text in ("==", "!="):
            for other in {"==": ("!=", "<=", ">="), "!=": ("==", "<", ">")}[token.text]:
                self._add("comparison", i, i, other)
        elif token.kind == "number":
            self._number(i)
        elif token.text in ("&&", "||"):
            self._joined(i)
        elif token.text == "?":
            first = self._operand(i, -1, ())
            self._condition(first, i - 1, True)
        elif token.text in ("if", "while") and self.tokens[i + 1].text == "(":
            self._condition(i + 2, self.source.match[i + 1] - 1, token.text == "if")
        elif token.text == "for" and self.tokens[i + 1].text == "(":
            self._for(i + 1)

    def _number(self, i):
        m = INTEGER.match(self.tokens[i].text)
        if not m:
            return
        octal = not m[1] and len(m[4]) > 1 and m[4][0] == "0"
        value = int(m[2], 16) if m[1] else int(m[4], 8 if octal else 10)
        for other in (value + 1, value - 1):
            if other >= 0:
                self._add("constant", i, i, (f"{m[1]}{other:x}" if m[1] else f"0{other:o}" if octal and other else str(other)) + m[5])

    def _joined(self, i):
        text = self.tokens[i].text
        stops = ("&&", "||")
        left = self._operand(i, -1, stops if text == "&&" else ("||",))
        right = self._operand(i, 1, stops if text == "&&" else ("||",))
        nearest = self._operand(i, -1, stops), self._operand(i, 1, stops)
        self._add("condition", i, i, "||" if text == "&&" else "&&")
        self._add("condition", left, i, "")
        self._add("condition", i, right, "")
        for first, last in ((nearest[0], i - 1), (i + 1, nearest[1])):
            self._negate(first, last)

    def _negate(self, first, last):
        self._add("condition", first, last, f"!({self.source.span(first, last)})")

    def _condition(self, first, last, once):
        """A whole condition; a loop that would never end is no edit worth its time."""
        if last < first:
            return
        self._negate(first, last)
        self._add("condition", first, last, "0")
        if once:
            self._add("condition", first, last, "1")

    def _for(self, opened):
        ends = []
        i = opened + 1
        while i < self.source.match[opened]:
            if self.tokens[i].text == ";":
                ends.append(i)
            i = self.source.match[i] + 1 if self.tokens[i].text in csource.PAIRS else i + 1
        if len(ends) == 2 and ends[1] > ends[0] + 1:
            self._condition(ends[0] + 1, ends[1] - 1, False)

    def _statement(self, i):
        """A statement as a whole: left out, or what it returns changed."""
        text = self.tokens[i].text
        end = i
        while self.tokens[end].text != ";":
            if self.tokens[end].text == "}" or end >= self.function.last:
                return
            end = self.source.match.get(end, end) + 1 if self.tokens[end].text in csource.PAIRS else end + 1
        if text == "return":
            self._return(i, end)
        elif text in ("break", "continue", "goto"):
            self._add("statement", i, end - 1, "")
        elif text not in WORDS and not (self.tokens[i].kind == "name" and self.tokens[i + 1].text == ":") and \
                self.tokens[i].text not in ("{", "}", ";") and self.tokens[i:i + 2] and \
                not (text == "(" and self.tokens[i + 1].text == "void" and self.tokens[end - 1].kind == "name" and end == i + 4):
            self._add("statement", i, end - 1, "")

    def _return(self, i, end):
        if end == i + 1:
            self._add("statement", i, i, "")
            return
        value = self.source.span(i + 1, end - 1)
        if value in ("true", "false"):
            self._add("statement", i + 1, end - 1, "false" if value == "true" else "true")
        elif value in ("0", "NULL"):
            self._add("statement", i, end - 1, "")
        else:
            self._add("statement", i + 1, end - 1, "0")


class Drawing:
    """Edits in an order that the seed decides: first a file, by the size of its functions, then a kind, then a place."""

    def __init__(self, texts, seed):
        self.sites = [s for s in (Sites(file, text) for file, text in sorted(texts.items())) if any(s.found.values())]
        self.random = random.Random(seed)
        self.weights = [s.weight() for s in self.sites]
        self.drawn = set()

    def total(self):
        return sum(len(found) for s in self.sites for found in s.found.values())

    def next(self):
        """Another edit; None if there is no other."""
        total = self.total()
        while len(self.drawn) < total:
            sites = self.random.choices(self.sites, self.weights)[0]
            kind = self.random.choice([kind for kind in KINDS if sites.found[kind]])
            edit = self.random.choice(sites.found[kind])
            if edit not in self.drawn:
                self.drawn.add(edit)
                return edit
        return None
