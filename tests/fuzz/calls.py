#!/usr/bin/env python3
"""Writes the calls of the tape fuzzer as C++, from the public headers: calls.py HEADER_FOLDER VERSION_SCRIPT OUTPUT

Every exported function becomes one call. Its arguments are made by type and name (arguments.h). A
function that is declared but not defined yet is a weak symbol, and its call does nothing.
"""

import pathlib
import re
import sys

HANDLES = ("context", "tensor", "dataset", "loader", "batch", "model", "trainer", "pending")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*|#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.S)


def split_declaration(text):
    """Splits "const int64_t dims[8]" into type, name and the length in brackets, or ""."""
    kind, name, length = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*(?:\[(\w+)\])?\s*", text, flags=re.S).groups()
    return re.sub(r"\s*\*\s*", "*", " ".join(kind.split())), name, length or ""


def read_functions(text):
    """Returns the parameters of each function, as types and names."""
    functions = {}
    for returns, name, parameters in re.findall(r"TROIKA_API\(([^)]*)\)\s*(\w+)\s*\(([^)]*)\)\s*;", text):
        parts = [] if parameters.strip() == "void" else parameters.split(",")
        functions[name] = (returns.strip(), [split_declaration(part)[:2] for part in parts])
    return functions


def read_structs(text):
    """Returns the fields of each struct that begins with its size."""
    structs = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, flags=re.S):
        fields = [split_declaration(field) for field in body.split(";") if field.strip()]
        if fields[0][1] == "struct_size":
            structs[name] = fields
    return structs


def write_struct(name, fields):
    """A function that changes one field of an option struct. Pointers and callbacks are set by hand."""
    lines = [f"inline void change_field({name}& s, Call& call) {{", f"  switch (call.byte() % {len(fields)}) {{"]
    for index, (kind, field, length) in enumerate(fields):
        if field == "struct_size" or (kind.endswith("*") and kind != "const char*") or kind.endswith("_function") or \
                kind == "char":
            continue
        target = f"s.{field}[call.byte() % {length}]" if length else f"s.{field}"
        value = f'make<{kind}>(call, "{field}")'
        lines.append(f"    case {index}: {target} = {value}; break;")
    return "\n".join([*lines, "    default: break;", "  }", "}"])


def write_call(name, returns, parameters):
    if name.endswith("_init"):
        body = f"    call_init({name}, call);"
    else:
        made = "".join(f'    Argument<{kind}> a{i}(call, "{argument}");\n' for i, (kind, argument) in enumerate(parameters))
        values = ", ".join(f"a{i}.value()" for i in range(len(parameters)))
        checks = ", ".join(f"a{i}" for i in range(len(parameters)))
        body = made
        if returns == "troika_status":
            body += f"    call.run([&] {{ return {name}({values}); }}, {checks});"
        else:
            body += f"    call.run([&] {{ (void){name}({values}); return TROIKA_OK; }}{', ' + checks if checks else ''});"
    return f"""inline void call_{name}(Call& call) {{
  if (&{name}) {{
{body}
  }}
}}"""


def main():
    folder, script, output = map(pathlib.Path, sys.argv[1:4])
    text = without_comments("\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h"))))
    functions, structs = read_functions(text), read_structs(text)
    exported = set(re.findall(r"\b(troika_\w+);", script.read_text(encoding="utf-8")))
    if exported != set(functions):
        sys.exit(f"calls.py: the headers and {script.name} differ in {sorted(exported ^ set(functions))}")
    used = {re.sub(r"const |\*", "", kind) for _, parameters in functions.values() for kind, _ in parameters}
    parts = ["// Written by calls.py.", "#pragma once", '#include "fuzz/call.h"']
    parts += [f'extern "C" __attribute__((weak)) decltype({name}) {name};' for name in functions]
    parts.append("namespace troika::fuzz {")
    parts += [write_struct(name, fields) for name, fields in structs.items() if name in used]
    parts += [f"inline void set_defaults({name}& s) {{ {name}_init(&s, sizeof s); }}" for name in structs
              if f"{name}_init" in functions]
    parts.append("}  // namespace troika::fuzz")
    parts.append('#include "fuzz/arguments.h"')
    parts.append("namespace troika::fuzz {")
    parts += [write_call(name, *function) for name, function in functions.items()]
    parts.append("constexpr Function kFunctions[] = {")
    parts += [f'    {{"{name}", call_{name}}},' for name in functions]
    parts.append("};\n}  // namespace troika::fuzz\n")
    output.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
