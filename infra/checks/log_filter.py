"""Filter patterns of CloudWatch Logs for JSON lines, as far as ours go.

Grammar and meaning: the user guide of CloudWatch Logs, "Filter pattern syntax for metric filters".
"""

import fnmatch
import re

_TOKEN = re.compile(r"\s*(\{|\}|\(|\)|&&|\|\||!=|<=|>=|=|<|>|\"[^\"]*\"|\*|\$[.\w]+|-?[0-9.]+)")


def _tokens(pattern):
    at, found = 0, []
    pattern = pattern.strip()
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if not token:
            raise ValueError(f"{pattern!r} isn't understood from {pattern[at:]!r} on")
        found.append(token[1])
        at = token.end()
    return found


def _selected(line, selector):
    value = line
    for name in selector[2:].split("."):
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return value


class Filter:
    def __init__(self, pattern):
        self._tokens = _tokens(pattern)
        if self._tokens[:1] != ["{"] or self._tokens[-1:] != ["}"]:
            raise ValueError(f"{pattern!r} isn't a pattern for JSON: it stands in braces")
        self._tokens = self._tokens[1:-1]

    def selectors(self):
        return [token for token in self._tokens if token.startswith("$")]

    def matches(self, line):
        self._at, self._line = 0, line
        answer = self._either()
        if self._at != len(self._tokens):
            raise ValueError(f"{self._tokens[self._at:]} is left over")
        return answer

    def _next(self):
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self):
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _either(self):
        answer = self._both()
        while self._peek() == "||":
            self._next()
            right = self._both()
            answer = answer or right
        return answer

    def _both(self):
        answer = self._one()
        while self._peek() == "&&":
            self._next()
            right = self._one()
            answer = answer and right
        return answer

    def _one(self):
        if self._peek() == "(":
            self._next()
            answer = self._either()
            if self._next() != ")":
                raise ValueError("a bracket isn't closed")
            return answer
        value, operator, wanted = _selected(self._line, self._next()), self._next(), self._next()
        if value is None:
            return False
        if wanted == "*":
            return operator == "="
        if wanted.startswith('"'):
            equal = isinstance(value, str) and fnmatch.fnmatchcase(value, wanted.strip('"'))
            return {"=": equal, "!=": not equal}[operator]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        number = float(wanted)
        return {
            "=": value == number,
            "!=": value != number,
            "<": value < number,
            "<=": value <= number,
            ">": value > number,
            ">=": value >= number,
        }[operator]
