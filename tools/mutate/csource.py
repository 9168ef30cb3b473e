# SPDX-License-Identifier: BSD-3-Clause
"""C source as tokens and function bodies, as far as drawing edits needs it."""

import bisect
import dataclasses
import re

TOKEN = re.compile(
    r"""
    (?P<skip>\s+|/\*.*?\*/|//[^\n]*)
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>[uUL]?'(?:\\.|[^'\\\n])+')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[][(){}<>;:,.?=!~+*/%&|^-])
  | (?P<other>.)
    """,
    re.X | re.S)

DIRECTIVE = re.compile(r"[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S)
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    first: int  # the token after {
    last: int  # the token }


def blank(text):
    """Spaces instead of all but line ends."""
    return re.sub(r"[^\n]", " ", text)


def without_directives(text):
    """Preprocessor lines blanked, and all that only C++ compilers see."""
    out, kept, nested = [], 0, 0
    position = 0
    for line in re.finditer(r"(?:[^\n\\]|\\.)*\n?", text, re.S):
        # A logical line: one that a backslash continues counts as one.
        if not line[0]:
            continue
        word = re.match(r"[ \t]*#[ \t]*(\w*)[ \t]*(.*)", line[0])
        if word and word[1].startswith("if"):
            if nested or re.fullmatch(r"(?:def)?\s*__cplusplus\s*", word[1][2:] + word[2]):
                nested += 1
        if nested or (word and not in_comment(text, line.start(), kept)):
            out.append(text[position:line.start()])
            out.append(blank(line[0]))
            position = line.end()
        if nested and word and word[1] == "endif":
            nested -= 1
    out.append(text[position:])
    return "".join(out)


def in_comment(text, at, since):
    """True if `at` lies in a block comment."""
    opened = text.rfind("/*", since, at)
    return opened >= 0 and text.find("*/", opened, at) < 0


class Source:
    """The tokens of one file, which closing bracket belongs to which opening one, and its functions."""

    def __init__(self, text):
        self.text = text
        self.tokens = [Token(m.lastgroup, m[0], m.start(), m.end())
                       for m in TOKEN.finditer(without_directives(text)) if m.lastgroup != "skip"]
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.match = {}
        opened = []
        for i, token in enumerate(self.tokens):
            if token.text in PAIRS and token.kind == "mark":
                opened.append(i)
            elif token.text in (")", "]", "}") and token.kind == "mark":
                if opened and PAIRS[self.tokens[opened[-1]].text] == token.text:
                    self.match[opened[-1]] = i
                    self.match[i] = opened.pop()
        self.functions = self._functions()

    def line(self, at):
        """The number of the line, from 1, of an offset."""
        return bisect.bisect_right(self.starts, at)

    def _functions(self):
        found = []
        i = 0
        while i < len(self.tokens):
            token = self.tokens[i]
            if token.text in ("(", "["):
                i = self.match.get(i, i)
            elif token.text == "{":
                end = self.match.get(i)
                if end is None:
                    break
                name = self._name_of(i)
                if name:
                    found.append(Function(name, i + 1, end))
                i = end
            i += 1
        return found

    def _name_of(self, brace):
        """The function whose body this brace opens; None if it opens something else."""
        if brace < 3 or self.tokens[brace - 1].text != ")":
            return None
        opened = self.match.get(brace - 1, 0)
        before = self.tokens[opened - 1]
        return before.text if opened > 0 and before.kind == "name" else None

    def span(self, first, last):
        """The text of tokens first..last, both included."""
        return self.text[self.tokens[first].start:self.tokens[last].end]
