"""Random documents, whole and damaged, through CanonicalJson(), rfc8785 and node: see canonical.sh."""

import argparse
import base64
import decimal
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys

import rfc8785

HERE = os.path.dirname(os.path.abspath(__file__))
CHARACTERS = (
    [chr(c) for c in range(0x20)]
    + list('ab01"\\/\x7f\x80\xa0éß€')
    + ["\u07ff", "\u0800", "\u2028", "\ud7ff", "\ue000", "\ufb33", "\ufeff", "\ufffd", "\uffff"]
    + ["\U00010000", "\U0001f600", "\U0010ffff"]
)
DEPTH_MAX = 128  # Of CanonicalJson().


# ---- What is given ----


class Writer:
    """A value, and one of the many texts that mean it."""

    def __init__(self, rng):
        self.rng = rng

    def name(self):
        rng = self.rng
        if rng.random() < 0.1:
            return rng.choice(["__proto__", "constructor", "toString", "length", ""])
        return "".join(rng.choice(CHARACTERS) for _ in range(rng.randrange(5)))

    def double(self):
        """Of all bit patterns, or of the magnitudes that people write."""
        rng = self.rng
        kind = rng.randrange(5)
        if kind == 0:
            value = struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0]
        elif kind == 1:
            value = float(rng.randrange(-(10**7), 10**7)) / 10 ** rng.randrange(5)
        elif kind == 2:  # About where the text changes its shape.
            value = rng.randrange(1, 10**5) * 10.0 ** rng.randrange(-12, 24)
        elif kind == 3:
            value = 2.0 ** rng.randrange(-1074, 1024)
        else:
            value = float(rng.choice([0, 1, -1, 2**53, 2**53 - 1, 1e21, 1e-6, 1e-7, 5e-324]))
        return value if math.isfinite(value) else 0.5

    def number(self):
        rng = self.rng
        if rng.random() < 0.3:
            return str(rng.randrange(-(2**53), 2**53 + 1) >> rng.randrange(54))
        value = self.double()
        shortest = decimal.Decimal(repr(value))
        kind = rng.randrange(5)
        if kind == 0:
            return repr(value).replace("e", rng.choice("eE"))
        if kind == 1:
            sign, digits, exponent = shortest.as_tuple()
            shift = rng.randrange(4) if value else 0
            return "-" * sign + "".join(map(str, digits)) + "0" * shift + f"e{exponent - shift}"
        if kind == 2 and abs(value) < 1e25:
            return f"{shortest:f}"
        if kind == 3 and abs(value) < 1e15 and not value.is_integer():
            return f"{value:.{rng.randrange(17, 40)}e}"  # More digits than there are.
        return f"{shortest:E}"

    def string(self, text):
        rng = self.rng
        out = []
        for c in text:
            if c in '"\\' or c < " " or rng.random() < 0.2:
                short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f",
                         "\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c)
                if short and rng.random() < 0.5:
                    out.append(short)
                    continue
                units = c.encode("utf-16be")
                for i in range(0, len(units), 2):
                    unit = f"{units[i]:02x}{units[i + 1]:02x}"
                    out.append("\\u" + (unit if rng.random() < 0.5 else unit.upper()))
            else:
                out.append(c)
        return '"' + "".join(out) + '"'

    def space(self):
        return "".join(self.rng.choice(" \t\r\n") for _ in range(self.rng.choice([0, 0, 0, 1, 2])))

    def value(self, depth):
        rng = self.rng
        kind = rng.randrange(8 if depth else 4)
        if kind == 0:
            text = rng.choice(["null", "true", "false"])
        elif kind == 1:
            text = self.string(self.name())
        elif kind < 4:
            text = self.number()
        elif kind < 6:
            parts = [self.value(depth - 1) for _ in range(rng.randrange(5))]
            text = "[" + (",".join(parts) or self.space()) + "]"
        else:
            names = list({self.name() for _ in range(rng.randrange(7))})
            rng.shuffle(names)
            parts = [f"{self.space()}{self.string(n)}{self.space()}:{self.value(depth - 1)}"
                     for n in names]
            text = "{" + (",".join(parts) or self.space()) + "}"
        return self.space() + text + self.space()

    def document(self):
        return self.value(self.rng.randrange(6)).encode()

    def damaged(self):
        """Mostly no JSON any more, or not I-JSON."""
        rng = self.rng
        text = bytearray(self.document())
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            at = rng.randrange(len(text) + 1)
            kind = rng.randrange(6)
            if kind == 0:
                del text[at : at + rng.randrange(1, 4)]
            elif kind == 1:
                text[at:at] = rng.choice([
                    b"NaN", b"-Infinity", b"\xef\xbb\xbf", b"\x00", b"\\ud800", b"\\udc00", b"\xff",
                    b"\xed\xa0\x80", b"\xc0\x80", b"9007199254740993", b"1e999", b"-", b"0", b"1e1",
                    b".", b"\\u", b"/**/", b"'", b"[", b"}", b",", b":", b"\xc2\xa0", b"\x0b", b'"'])
            elif kind == 2 and text:
                text[at % len(text)] ^= 1 << rng.randrange(8)
            elif kind == 3:
                text[at:at] = bytes(rng.getrandbits(8) for _ in range(rng.randrange(1, 4)))
            elif kind == 4:  # A piece of it again: names that are there twice.
                start = rng.randrange(len(text) + 1)
                text[at:at] = text[start : start + rng.randrange(1, 20)]
            else:  # Digits become many.
                digits = [i for i, c in enumerate(text) if 0x30 <= c <= 0x39]
                if digits:
                    i = rng.choice(digits)
                    text[i:i] = str(rng.randrange(10 ** rng.randrange(1, 25))).encode()
        return bytes(text)


# ---- What Python says of it ----


def number_of(literal):
    value = float(literal)
    if math.isinf(value):
        raise ValueError("too large")
    mantissa, _, exponent = literal.lower().partition("e")
    # Beyond what `decimal` holds, it is nothing or all zeros.
    if not mantissa.strip("-0."):
        return 0.0
    if value == 0.0 or len(exponent) > 6:
        return value
    exact = decimal.Decimal(literal)
    with decimal.localcontext() as context:
        context.prec = 2000
        whole = exact == exact.to_integral_value()
    if whole and exact != decimal.Decimal(repr(value)):
        raise ValueError("changed by its canonical form")
    return value


def members_of(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is there twice")
    return members


def refuse(constant):
    raise ValueError(constant)


def depth_of(value):
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max(map(depth_of, inside), default=0)


def by_python(text):
    """Its canonical form, or None."""
    try:
        value = json.loads(text.decode("utf-8"), parse_int=number_of, parse_float=number_of,
                           parse_constant=refuse, object_pairs_hook=members_of)
        return rfc8785.dumps(value) if depth_of(value) <= DEPTH_MAX else None
    except (ValueError, RecursionError):
        return None


# ---- What the others say ----


def by_cpp(binary, texts):
    given = b"".join(b"%d\n%s" % (len(t), t) for t in texts)
    out = subprocess.run([binary], input=given, stdout=subprocess.PIPE, check=True).stdout
    answers, at = [], 0
    while at < len(out):
        line_end = out.index(b"\n", at)
        verdict, size = out[at:line_end].split()
        at = line_end + 1 + int(size)
        answer = out[line_end + 1 : at]
        answers.append(answer if verdict == b"ok" else None)
        if verdict != b"ok" and not answer.startswith(b"no canonical JSON: "):
            sys.exit(f"refused without a reason: {answer!r}")
    return answers


def by_node(texts):
    given = b"".join(base64.b64encode(t) + b"\n" for t in texts)
    out = subprocess.run(["node", os.path.join(HERE, "canonical.mjs")], input=given,
                         stdout=subprocess.PIPE, check=True).stdout
    return [base64.b64decode(line) for line in out.splitlines()]


def compare(what, texts, answers, expected):
    assert len(texts) == len(answers) == len(expected), what
    differing = [row for row in zip(texts, answers, expected) if row[1] != row[2]]
    for text, answer, other in differing[:5]:
        print(f"{what}:\n  text     {text!r}\n  C++      {answer!r}\n  other    {other!r}")
    return len(differing)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--numbers", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=8785)
    options = parser.parse_args()
    binary = os.path.join(options.bin, "canonical_filter")
    writer = Writer(random.Random(options.seed))
    print(f"seed {options.seed}")

    whole = [writer.document() for _ in range(options.documents)]
    damaged = [writer.damaged() for _ in range(options.documents)]
    numbers = [writer.number().encode() for _ in range(options.numbers)]
    kinds = {"documents": whole, "damaged documents": damaged, "numbers": numbers}
    node = shutil.which("node")
    failed = 0
    for kind, texts in kinds.items():
        answers = by_cpp(binary, texts)
        taken = [i for i, answer in enumerate(answers) if answer is not None]
        failed += compare(f"{kind}, Python", texts, answers, [by_python(t) for t in texts])
        line = f"{kind}: {len(texts)} compared with Python, of which {len(taken)} have a canonical form"
        if node:
            some = [texts[i] for i in taken]
            failed += compare(f"{kind}, node", some, [answers[i] for i in taken], by_node(some))
            line += f"; {len(some)} of these compared with node"
        print(line)
        if kind != "damaged documents" and len(taken) != len(texts):
            print(f"{kind}: {len(texts) - len(taken)} refused, though nothing is wrong with them")
            failed += 1
        if kind == "damaged documents" and not 0 < len(taken) < len(texts):
            print("damaged documents: all or none were refused")
            failed += 1
    if not node:
        print("node: skipped, it is not installed")
    print(f"{failed} differences")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
