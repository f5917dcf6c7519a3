#!/usr/bin/env python3
"""Writes docs/README.md, the reference, from the doc strings of the public classes: reference.py [FILE]"""

import ast
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
source = os.path.join(here, "src/namewharf")

# The classes in the order of the page, with the modules that define them.
PUBLIC = [
    ("Clients", [("_client", "Namewharf"), ("_async_client", "AsyncNamewharf"), ("_partner", "Partner"), ("_partner", "AsyncPartner")]),
    ("Batches", [("_batch", "Batch"), ("_batch", "Deferred")]),
    ("Lists", [("_paging", "Pages"), ("_paging", "Page"), ("_paging", "AsyncPages"), ("_paging", "AsyncPage")]),
    ("Signing in", [("_signin", "Session"), ("_signin", "AsyncSession"), ("store", "FileStore"), ("store", "TokenStore")]),
    ("Errors", [("errors", "NamewharfError"), ("errors", "ConnectionError"), ("errors", "TimeoutError")]),
]
FUNCTIONS = [("_signature", "sign"), ("_signature", "canonical_string"), ("_signature", "canonical_query")]
# Classes whose methods those of another one have too.
BASES = {"Partner": ("_generated/partner", "PartnerOperations"), "AsyncPartner": ("_generated/async_partner", "AsyncPartnerOperations"),
         "Page": ("_paging", "_Page"), "AsyncPage": ("_paging", "_Page")}  # fmt: skip
OPTIONS = ("timeout", "token", "idempotency_key", "headers")  # which every method takes


def parsed(module):
    with open(os.path.join(source, f"{module}.py"), encoding="utf-8") as file:
        text = file.read()
    return text.splitlines(), {node.name: node for node in ast.parse(text).body if hasattr(node, "name")}


def doc(node):
    return (ast.get_docstring(node) or "").strip()


def signature(function, name):
    """The call, without what every method takes and without types that are hard to read."""
    given = function.args
    parts = []
    ordered = given.args[1:] if given.args and given.args[0].arg == "self" else given.args
    defaults = [None] * (len(ordered) - len(given.defaults)) + list(given.defaults[-len(ordered) :] if ordered else [])
    both = list(zip(ordered, defaults)) + ["*"] * bool(given.kwonlyargs) + list(zip(given.kwonlyargs, given.kw_defaults))
    options = {argument.arg for argument in given.kwonlyargs} >= {"timeout", "headers"} and name != "__init__"
    for one in both:
        if one == "*":
            parts.append("*")
            continue
        argument, default = one
        if options and argument.arg in OPTIONS:
            continue
        parts.append(argument.arg + (f": {ast.unparse(argument.annotation)}" if argument.annotation else "") + (f" = {ast.unparse(default)}" if default is not None else ""))
    if parts and parts[-1] == "*":
        parts.pop()
    if options:
        parts.append("**options")
    returns = f" -> {ast.unparse(function.returns)}" if function.returns and name != "__init__" else ""
    return f"({', '.join(parts)}){returns}"


def fields(lines, node):
    """The attributes of a class, with the comments before them."""
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and not statement.target.id.startswith("_"):
            comment, at = [], statement.lineno - 2
            while lines[at].strip().startswith("#:"):
                comment.insert(0, lines[at].strip()[2:].strip())
                at -= 1
            yield f"- `{statement.target.id}: {ast.unparse(statement.annotation)}` {' '.join(comment)}".rstrip()


def methods(node):
    for function in node.body:
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and not function.name.startswith("_"):
            prefix = "async " if isinstance(function, ast.AsyncFunctionDef) else ""
            if any(isinstance(d, ast.Name) and d.id == "property" for d in function.decorator_list):
                yield f"**`{function.name}: {ast.unparse(function.returns)}`**", doc(function)
            else:
                yield f"**`{prefix}{function.name}{signature(function, function.name)}`**", doc(function)


def described(module, name):
    lines, found = parsed(module)
    node = found[name]
    out = [f"### {name}", ""]
    init = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    if name in ("FileStore", "Namewharf", "AsyncNamewharf", "Partner", "AsyncPartner"):
        out += [f"`{name}{signature(init, '__init__')}`", ""]
    out += [as_markdown(doc(node)), ""]
    nodes = [(lines, node)]
    if name in BASES:
        base_lines, base_found = parsed(BASES[name][0])
        nodes.append((base_lines, base_found[BASES[name][1]]))
    listed = [field for of, one in reversed(nodes) for field in fields(of, one)]
    if listed:
        out += [*listed, ""]
    for _, one in nodes:
        for call, text in methods(one):
            out += [call, "", as_markdown(text), ""]
    if name in ("Partner", "AsyncPartner"):
        function = found["_verify"]
        out += [f"**`verify_webhook{signature(function, 'verify_webhook')}`** (static)", "", as_markdown(doc(function)), ""]
    return out


def as_markdown(text):
    """A doc string, whose lines `name: what it is` are a list."""
    lines = []
    for line in text.splitlines():
        word, colon, _ = line.partition(": ")
        if colon and word.isidentifier():
            lines.append(f"- `{word}`: {line[len(word) + 2 :]}")
        else:
            lines.append(line[2:] if line.startswith("    ") else line)
    return "\n".join(lines)


def page():
    out = [
        "# Reference of namewharf", "",
        "Written by `reference.py` from the doc strings; change those. Every method with `**options` takes by name:", "",
        "- `timeout: float`: seconds for each attempt, in place of the client's; 0: no limit",
        "- `token: str`: an access token, in place of the client's or the sign-in's (not for partners)",
        "- `idempotency_key: str`: the same key never does the same write twice, and lets the SDK try it again",
        "- `headers: Mapping[str, str]`: further headers", "",
        "Types named `types.X` are in `namewharf.types`: dictionaries (`TypedDict`) with the fields of the wire.", "",
    ]  # fmt: skip
    for title, classes in PUBLIC:
        out += [f"## {title}", ""]
        for module, name in classes:
            out += described(module, name)
    out += ["## Signatures", ""]
    for module, name in FUNCTIONS:
        function = parsed(module)[1][name]
        out += [f"**`{name}{signature(function, name)}`**", "", as_markdown(doc(function)), ""]
    return "\n".join(out).rstrip("\n") + "\n"


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "docs/README.md")
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(page())
