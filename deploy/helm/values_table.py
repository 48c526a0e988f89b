"""The table of values in the chart's README, from the comments in values.yaml.

values_table.py CHART            prints what is wrong with it, exit code 1 if anything is
values_table.py CHART --write    writes it

A value's comment is the lines right above it. A mapping without comments in it is one value. Every
value has a comment.
"""

import json
import pathlib
import re
import sys

import yaml

BEGIN, END = "<!-- values: begin -->\n", "<!-- values: end -->\n"


def comments(text):
    """Path -> comment, of every key in the file."""
    found, stack, above = {}, [], []
    for line in text.splitlines():
        if not line.strip():
            above = []
            continue
        if line.lstrip().startswith("#"):
            above.append(line.strip().lstrip("#").strip())
            continue
        key = re.match(r"^( *)([A-Za-z0-9_]+):", line)
        if not key:
            above = []
            continue
        depth = len(key[1]) // 2
        stack = stack[:depth] + [key[2]]
        found[".".join(stack)] = " ".join(above)
        above = []
    return found


def rows(values, told, path=()):
    for key, value in values.items():
        name = ".".join((*path, key))
        inner = [n for n in told if n.startswith(name + ".")]
        if isinstance(value, dict) and any(told[n] for n in inner):
            yield from rows(value, told, (*path, key))
        else:
            yield name, value, told.get(name, "")


def table(chart):
    text = (chart / "values.yaml").read_text()
    lines, bare = ["| value | default | |", "|---|---|---|"], []
    for name, value, comment in rows(yaml.safe_load(text), comments(text)):
        if not comment:
            bare.append(f"values.yaml: {name} has no comment")
        default = json.dumps(value, ensure_ascii=False).replace("|", "\\|")
        lines.append(f"| `{name}` | `{default}` | {comment.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n", bare


def main():
    chart = pathlib.Path(sys.argv[1])
    made, wrong = table(chart)
    readme = chart / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    _, after = rest.split(END)
    text = before + BEGIN + made + END + after
    if "--write" in sys.argv:
        readme.write_text(text)
    elif text != readme.read_text():
        wrong.append("README.md: the table of values isn't that of values.yaml")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(bool(wrong))


main()
