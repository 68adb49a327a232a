"""Python: ctypes structs, enums, results as named tuples, options as typed dictionaries, and the types of all functions."""

import re

from generator.interface import WRITTEN, camel, paragraphs

NUMBERS = {"int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64", "uint64_t": "c_uint64", "double": "c_double",
           "float": "c_float", "char": "c_char"}
# Structs whose fields are read and written by hand.
BY_HAND = ("troika_arrays", "troika_source", "troika_read_request", "troika_error", "troika_device")
PACKAGE = "troika._interface"
HEAD = '''"""{what} {written}

{more}
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long
'''


class Types:
    """C types as ctypes."""

    def __init__(self, interface):
        self.aliases = interface.aliases
        self.handles = {handle["name"] for handle in interface.handles}
        self.callbacks = {callback["name"] for callback in interface.callbacks}
        self.structs = {struct.name for struct in interface.structs}

    def parameter(self, kind):
        """The ctypes name of a parameter's type. Arrays that C only reads are addresses, whatever their elements."""
        pointed = kind.removeprefix("const ").removesuffix(" *")
        if kind.startswith("const ") and kind.endswith(" *") and self.aliases.get(pointed, pointed) in NUMBERS and pointed != "char":
            return "ctypes.c_void_p"
        return self.name(kind)

    def name(self, kind):
        """The ctypes name of a field's type."""
        kind = self.aliases.get(kind, kind)
        if kind == "const char *":
            return "ctypes.c_char_p"
        if kind in NUMBERS:
            return f"ctypes.{NUMBERS[kind]}"
        if kind in self.handles | self.callbacks | self.structs:
            return kind
        pointed = kind.removeprefix("const ").removesuffix(" *")
        if kind.endswith(" *") and pointed in self.handles | self.structs | set(self.aliases) | {"int32_t", "int64_t", "double"}:
            return f"ctypes.POINTER({self.name(pointed)})"
        # Memory of any element type: Python passes an address.
        return "ctypes.c_void_p"


def with_own_values(doc, interface):
    """A comment of C with the values of enums as Python has them."""
    values = {value.c_name: f"{enum.name}.{member(value)}" for enum in interface.enums for value in enum.values}
    return re.sub(r"\bTROIKA_[A-Z0-9_]+\b", lambda match: values.get(match[0], match[0]), doc)


def member(value):
    return value.name.removeprefix("ERROR_")


def docstring(doc, indent):
    space = " " * indent
    doc = doc.replace("\\", "\\\\")
    lines = paragraphs(doc, 100, space, space + '"""')
    if len(lines) == 1 and len(lines[0]) < 97:
        return [lines[0] + '"""']
    return lines + [space + '"""']


def comment(doc, indent):
    return paragraphs(doc, 100, " " * indent + "# ") if doc else []


def enums(part, interface):
    for enum in part.enums:
        yield from ["", "", f"class {enum.name}(enum.IntEnum):", *docstring(with_own_values(enum.doc, interface), 4), ""]
        for value in enum.values:
            yield from comment(with_own_values(value.doc, interface), 4)
            yield f"    {member(value)} = {value.number}"


def structs(interface, types):
    for struct in interface.structs:
        yield from ["", "", f"class {struct.name}(ctypes.Structure):", *docstring(struct.doc, 4), "", "    _fields_ = ["]
        for field in struct.fields:
            kind = types.name(field.type)
            if field.count:
                kind = f"{types.name(field.element or field.type)} * {field.count}"
            yield f'        ("{field.name}", {kind}),'
        yield "    ]"


def python_type(field, interface):
    """The type of a field as Python's annotations say it."""
    structs_by_name = {struct.name: struct for struct in interface.structs}

    def of(kind):
        kind = interface.aliases.get(kind, kind)
        if kind in structs_by_name:
            return "Device" if kind == "troika_device" else camel(kind)
        return "float" if kind in ("double", "float") else "int"

    if field.kind in ("flag",):
        return "bool"
    if field.kind == "enum":
        return field.enum
    if field.kind in ("text", "buffer"):
        return "str"
    if field.kind in ("part", "array"):
        return f"tuple[{of(field.element)}, ...]" if field.kind == "part" else f"typing.Sequence[{of(field.element)}]"
    if field.kind == "numbers":
        return f"tuple[{', '.join([of(field.element)] * field.count)}]"
    if field.kind == "optional":
        return f"{of(field.element)}"
    if field.kind == "handle":
        return camel(field.type)
    return of(field.type)


def is_seen(field):
    """Whether a field is one of Python's, and not bookkeeping of C."""
    return field.kind not in ("size", "reserved", "length", "function", "pointer")


def is_tuple(struct):
    """Whether a struct is a named tuple; options are typed dictionaries."""
    return not struct.is_input or struct.name in ("troika_mesh", "troika_loader_position")


def results(part, interface):
    """Structs that the library fills, as named tuples; options, as typed dictionaries."""
    for struct in part.structs:
        if struct.name in BY_HAND:
            continue
        seen = [field for field in struct.fields if is_seen(field)]
        base = "typing.NamedTuple" if is_tuple(struct) else "typing.TypedDict, total=False"
        yield from ["", "", f"class {camel(struct.name)}({base}):", *docstring(with_own_values(struct.doc, interface), 4), ""]
        for field in seen:
            kind = python_type(field, interface)
            default = ""
            if struct.name == "troika_mesh":
                default = " = 0" if field.name == "data" else " = 1"
            if not is_tuple(struct) and field.kind == "numbers":
                kind = f"{kind} | int"
            if not is_tuple(struct) and field.kind == "enum":
                kind = f"{kind} | str"
            if not is_tuple(struct) and field.kind == "struct":
                kind = f"{kind} | tuple[int, ...]"
            yield from comment(with_own_values(field.doc, interface), 4)
            yield f"    {field.name}: {kind}{default}"
        if struct.has_status:
            yield from comment("The status that the call returned: OK, or information such as STOPPED.", 4)
            yield "    status: Status = Status.OK"


def meanings(part, interface):
    yield from ["", "", "# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.",
                "MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {"]
    for struct in part.structs:
        if struct.name in BY_HAND:
            continue
        yield f"    {struct.name}: {{"
        for field in struct.fields:
            if not is_seen(field):
                continue
            detail = {"enum": field.enum, "part": repr(field.length), "numbers": str(field.count)}.get(field.kind, "None")
            if field.kind == "array":
                element = interface.aliases.get(field.element, field.element)
                detail = f"({'ctypes.' + NUMBERS[element] if element in NUMBERS else element}, {field.length!r})"
            if field.kind in ("struct", "optional"):
                detail = field.element or field.type
            yield f'        "{field.name}": ("{field.kind}", {detail}),'
        yield "    },"
    yield "}"
    yield from ["", "# The named tuple of each struct that the library fills.", "RESULTS: dict[type, type] = {"]
    for struct in part.structs:
        if struct.name not in BY_HAND and is_tuple(struct):
            yield f"    {struct.name}: {camel(struct.name)},"
    yield "}"


def functions(part, types):
    yield from ["", "", "# The type of the result, and of each parameter.",
                "FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {"]
    for function in part.functions:
        result = "None" if function["returns"] == "void" else types.name(function["returns"])
        parameters = ", ".join(types.parameter(parameter["type"]) for parameter in function["parameters"])
        yield f'    "{function["name"]}": ({result}, [{parameters}]),'
    yield "}"


def constants(part, interface):
    for constant in part.constants:
        if not constant["name"].startswith("TROIKA_VERSION"):
            yield from [*comment(constant["doc"], 0), f"{constant['name'].removeprefix('TROIKA_')} = {constant['value']}"]
        elif constant["name"] == "TROIKA_VERSION":
            yield f'VERSION = "{interface.version}"'


def owners(interface):
    """The module of each name that another module may need."""
    found = {}
    for header, part in interface.parts().items():
        for name in [handle["name"] for handle in part.handles] + [callback["name"] for callback in part.callbacks] + \
                [enum.name for enum in part.enums]:
            found[name] = header
        for struct in part.structs:
            found |= {struct.name: header} if struct.name in BY_HAND else {struct.name: header, camel(struct.name): header}
    return found


def module(header, part, interface, types, owner):
    """The declarations of one header."""
    lines = list(constants(part, interface))
    lines += enums(part, interface)
    for handle in part.handles:
        lines += ["", "", f"class {handle['name']}(ctypes.c_void_p):", *docstring(handle["doc"], 4)]
    # A callback's structs may come later, so callbacks take addresses.
    for callback in part.callbacks:
        result = "None" if callback["returns"] == "void" else types.name(callback["returns"])
        parameters = ["ctypes.c_void_p" if parameter["type"].endswith("*") and parameter["type"] != "const char *"
                      else types.name(parameter["type"]) for parameter in callback["parameters"]]
        lines += ["", "", *comment(callback["doc"], 0),
                  f"{callback['name']} = ctypes.CFUNCTYPE({', '.join([result, *parameters])})"]
    lines += structs(part, types)
    lines += results(part, interface)
    lines += meanings(part, interface)
    lines += functions(part, types)
    code = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    code = re.sub(r'"""(?:.|\n)*?"""', "", code)
    needed = {}
    for name in sorted(set(re.findall(r"\b\w+\b", code)) & set(owner)):
        if owner[name] != header and name != "Device":
            needed.setdefault(owner[name], []).append(name)
    head = HEAD.format(what=f"Declarations of {header}.h.", written=WRITTEN,
                       more="Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.")
    imports = ["", "from __future__ import annotations", "", "import ctypes"] + \
              (["import enum"] if "enum.IntEnum" in code else []) + ["import typing"]
    imports += [""] * bool(needed) + [f"from {PACKAGE}.{other} import {', '.join(names)}" for other, names in sorted(needed.items())]
    seen = [name for name in ("Device", "Group") if re.search(rf": {name}\b", code)]
    if seen:
        imports += ["", "if typing.TYPE_CHECKING:", *(f"    from troika.{name.lower()} import {name}" for name in seen)]
    return [*head.splitlines(), *imports, *([""] if lines and lines[0] else []), *lines]


def package(headers):
    """The file that has the names of all modules."""
    head = HEAD.format(what="Declarations of the C interface.", written=WRITTEN, more="Each module has those of one header.")
    lines = [*head.splitlines(), "", *(f"from {PACKAGE} import {header}" for header in headers)]
    lines += [f"from {PACKAGE}.{header} import *  # pylint: disable=wildcard-import" for header in headers]
    for table in ("MEANINGS", "RESULTS", "FUNCTIONS"):
        lines += ["", f"{table} = {{", *(f"    **{header}.{table}," for header in headers), "}"]
    return lines


def files(interface):
    types, owner, parts = Types(interface), owners(interface), interface.parts()
    texts = {header: module(header, part, interface, types, owner) for header, part in parts.items()}
    texts["__init__"] = package(list(parts))
    return {f"python/troika/_interface/{name}.py": "\n".join(lines) + "\n" for name, lines in texts.items()}
