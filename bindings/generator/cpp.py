"""C++: enum classes, structs with the library's defaults, and conversions from and to the structs of C."""

import re

from generator.interface import WRITTEN, camel, paragraphs

KEYWORDS = {"bool"}
NUMBERS = {"int32_t": "std::int32_t", "uint32_t": "std::uint32_t", "int64_t": "std::int64_t", "uint64_t": "std::uint64_t",
           "double": "double", "float": "float"}
# Structs that have a class of their own.
BY_HAND = ("troika_device", "troika_error")
# The comment of the field that has the status.
STATUS_DOCS = {
    "troika_step_result": "Status::ok, Status::step_skipped, or Status::stopped: then nothing was done.",
    "troika_metrics": "Status::ok, Status::stopped, or Status::end_of_data of `Trainer::train_batches`.",
}
# Pointers and functions, whose types no table can know, and fields that say something about them.
# None: C++ has no such field. The classes convert all of these by hand.
TYPES = {
    ("troika_arrays", "dtype"): None,
    ("troika_arrays", "inputs"): None,
    ("troika_arrays", "n"): None,
    ("troika_arrays", "targets"): None,
    ("troika_arrays", "target_dtype"): None,
    ("troika_arrays", "destroy"): "DestroyFunction",
    ("troika_arrays", "user"): None,
    ("troika_batch_info", "inputs"): "Span<const float>",
    ("troika_batch_info", "labels"): "Span<const std::int32_t>",
    ("troika_batch_info", "values"): "Span<const float>",
    ("troika_batch_info", "tokens"): "Span<const std::int32_t>",
    ("troika_batch_info", "weights"): "Span<const float>",
    ("troika_context_options", "log"): "LogFunction",
    ("troika_context_options", "log_user"): None,
    ("troika_context_options", "log_user_destroy"): None,
    ("troika_loader_options", "weights"): "std::vector<double>",
    ("troika_read_request", "indices"): "Span<const std::int64_t>",
    ("troika_read_request", "inputs"): "MutableElements",
    ("troika_read_request", "labels"): "Span<std::int32_t>",
    ("troika_read_request", "values"): "Span<float>",
    ("troika_source", "read"): "ReadFunction",
    ("troika_source", "user"): None,
    ("troika_source", "user_destroy"): None,
}
HEAD = """/** @file {file} {what}
 *
 * {written}
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef {guard}
#define {guard}

{includes}

namespace troika {{
inline namespace v1 {{
"""
TAIL = """
}  // namespace v1
}  // namespace troika

#endif"""


def enumerator(value):
    name = value.name.removeprefix("ERROR_").lower()
    return f"{name}_" if name in KEYWORDS else name


class Words:
    """Names of C in comments, as C++ has them."""

    def __init__(self, interface):
        self.names = {"TROIKA_UNSET": "unset", "troika_value": "Value"}
        for enum in interface.enums:
            self.names |= {value.c_name: f"{enum.name}::{enumerator(value)}" for value in enum.values}
        self.names |= {struct.name: camel(struct.name) for struct in interface.structs if struct.name not in BY_HAND}
        nouns = "|".join(handle["name"].removeprefix("troika_") for handle in interface.handles)
        for function in interface.functions:
            method = re.fullmatch(rf"troika_({nouns}|device)_(\w+)", function["name"])
            if method and not function["name"].endswith("_init"):
                noun = camel(method[1])
                self.names[function["name"]] = noun if method[2] == "create" else f"{noun}::{method[2]}"

    def of(self, doc):
        doc = re.sub(r" ?Begin with TROIKA_\w+_INIT\.", "", doc)
        return re.sub(r"\b(?:TROIKA|troika)_\w+", lambda match: self.names.get(match[0], match[0]), doc)


def comment(doc, indent):
    if not doc:
        return []
    space = " " * indent
    lines = paragraphs(doc, 97, space + " *  " if indent else " * ", space + "/** ")
    if len(lines) == 1:
        return [lines[0] + " */"]
    return [*lines[:-1], lines[-1] + " */"] if indent else ["/**", " * " + lines[0][4:], *lines[1:], " */"]


def assignment(target, value):
    line = f"{target} = {value};"
    indent = len(target) - len(target.lstrip()) + 4
    return [line] if len(line) <= 120 else [f"{target} =", f"{' ' * indent}{value};"]


def is_by_hand(struct, field):
    return (struct.name, field.name) in TYPES


class Structs:
    """Writes the structs, and their conversions."""

    def __init__(self, interface, words):
        self.interface, self.words = interface, words
        self.by_name = {struct.name: struct for struct in interface.structs}
        self.read, self.filled = self._directions()

    def _directions(self):
        """Returns the structs that the library reads, and those that it fills, with those inside of them."""
        read, filled = set(), set()
        for function in self.interface.functions:
            if function["name"].endswith("_init"):
                continue
            for kind in (parameter["type"] for parameter in function["parameters"]):
                is_filled = kind.endswith(" *") and not kind.startswith("const ")
                (filled if is_filled else read).add(kind.removeprefix("const ").removesuffix(" *"))
        for callback in self.interface.callbacks:
            filled |= {parameter["type"].removeprefix("const ").removesuffix(" *") for parameter in callback["parameters"]}
        return self._with_inner(read), self._with_inner(filled)

    def _with_inner(self, names):
        inner = {field.element or field.type for name in names & set(self.by_name) for field in self.by_name[name].fields
                 if field.kind in ("struct", "optional", "array")}
        return names if inner <= names else self._with_inner(names | inner)

    def element(self, kind):
        if kind in self.by_name:
            return camel(kind)
        return "Value" if kind == "troika_value" else NUMBERS[self.interface.aliases.get(kind, kind)]

    def kind_of(self, struct, field):
        """The C++ type of a field; None if C++ has no such field."""
        if is_by_hand(struct, field):
            return TYPES[struct.name, field.name]
        kinds = {
            "flag": lambda: "bool",
            "enum": lambda: field.enum,
            "text": lambda: "std::optional<std::string>",
            "buffer": lambda: "std::string",
            "handle": lambda: field.type,
            "number": lambda: self.element(field.type),
            "struct": lambda: self.element(field.type),
            "optional": lambda: f"std::optional<{self.element(field.element)}>",
            "array": lambda: f"std::vector<{self.element(field.element)}>",
            "numbers": lambda: f"std::array<{self.element(field.element)}, {field.count}>",
            "part": lambda: "Dims" if "dims" in field.name else f"ShortList<{self.element(field.element)}, {field.count}>",
        }
        if field.kind not in kinds:
            raise SystemExit(f"bindings/generator/cpp.py: TYPES has no type for {struct.name}.{field.name}")
        return kinds[field.kind]()

    def fields(self, struct):
        """The fields that C++ has, each with its type."""
        for field in struct.fields:
            kind = self.kind_of(struct, field) if field.kind not in ("size", "reserved", "length") else None
            if kind:
                yield field, kind

    def converted(self, struct):
        """The fields that generated code converts, each with its type."""
        return [(field, kind) for field, kind in self.fields(struct) if not is_by_hand(struct, field)]

    def struct(self, struct):
        yield from ["", *comment(self.words.of(struct.doc), 0), f"struct {camel(struct.name)} {{"]
        if struct.has_status:
            yield from [*comment(STATUS_DOCS[struct.name], 2), "  Status status = Status::ok;"]
        for field, kind in self.fields(struct):
            value = "{}"
            if struct.is_input and not is_by_hand(struct, field) and field.kind not in ("array", "optional"):
                value = f"detail::initial<{kind}, &{struct.name}::{field.name}>()"
            yield from [*comment(self.words.of(field.doc), 2), *assignment(f"  {kind} {field.name}", value)]
        yield "};"

    def converter(self, struct):
        name = camel(struct.name)
        yield from ["", "template <>", f"struct Converter<{name}> {{", f"  using Struct = {struct.name};",
                    f"  static {name} from(const {struct.name}& from) {{", f"    {name} to;"]
        for field, kind in self.converted(struct):
            value = f"convert<{kind}>(from.{field.name})"
            if field.kind in ("part", "array"):
                function = "convert_part" if field.kind == "part" else "convert_list"
                value = f"{function}<{kind}>(from.{field.name}, from.{field.length})"
            yield from assignment(f"    to.{field.name}", value)
        yield from ["    return to;", "  }", "};"]

    def to_c(self, field, kind):
        """Statements that set a field of C, and the member that they need or ""."""
        source, target = f"from.{field.name}", f"value.{field.name}"
        if field.kind == "optional":
            return [f"if ({source}) {target} = &{field.name}.emplace(*{source}).value;"], \
                f"std::optional<Raw<{self.element(field.element)}>> {field.name};"
        if field.kind == "array":
            length = f"value.{field.length} = length({source});"
            if field.element not in self.by_name:
                return [f"{target} = address({source});", length], ""
            element = self.element(field.element)
            return [f"for (const {element}& each : {source}) {field.name}.push_back(Raw<{element}>(each).value);",
                    f"{target} = address({field.name});", length], f"std::vector<{field.element}> {field.name};"
        simple = {
            "flag": f"{target} = {source} ? 1 : 0;",
            "enum": f"{target} = static_cast<std::int32_t>({source});",
            "text": f'{target} = c_text({source}, "{field.name}");',
            "numbers": f"std::copy({source}.begin(), {source}.end(), {target});",
            "struct": f"{target} = Raw<{kind}>({source}).value;",
        }
        return [simple.get(field.kind, f"{target} = {source};")], ""

    def raw(self, struct):
        name = camel(struct.name)
        parts = [self.to_c(field, kind) for field, kind in self.converted(struct)]
        yield from ["", "template <>", f"struct Raw<{name}> {{", f"  explicit Raw(const {name}& from) {{"]
        yield from [f"    {statement}" for statements, _ in parts for statement in statements]
        yield from ["  }", "  Raw(const Raw&) = delete;", "  Raw& operator=(const Raw&) = delete;",
                    f"  const {struct.name}* get() const noexcept {{ return &value; }}", ""]
        yield from [f"  {struct.name} value = defaults<{struct.name}>();", *[f"  {member}" for _, member in parts if member], "};"]


DEFAULTS = """
// The mesh has no `_init` function; that of trainers sets it.
inline void init(troika_mesh* value) noexcept {
  troika_trainer_options options;
  init(&options);
  *value = options.mesh;
}

/** Returns a struct of C as the library's `_init` function fills it. */
template <typename Struct>
const Struct& defaults() noexcept {
  static const Struct value = [] {
    Struct filled;
    init(&filled);
    return filled;
  }();
  return value;
}

template <typename Struct, typename Field>
Struct struct_of(Field Struct::*);

/** Returns the library's default of a field. */
template <typename To, auto Field>
To initial() {
  return convert<To>(defaults<decltype(struct_of(Field))>().*Field);
}

}  // namespace detail"""


def defaults(interface):
    yield from ["", "namespace detail {", ""]
    for struct in interface.structs:
        if struct.init:
            yield f"inline void init({struct.name}* value) noexcept {{ {struct.init}(value, sizeof *value); }}"
    yield DEFAULTS


def head(file, what, includes):
    lines = "\n".join(f"#include <{include}>" if include else "" for include in includes)
    guard = "TROIKA_" + re.sub(r"\W", "_", file.upper())
    return HEAD.format(file=file, what=what, written=WRITTEN, guard=guard, includes=lines).splitlines()


def enums(interface, words):
    version = [int(part) for part in interface.version.split(".")]
    number = version[0] * 10000 + version[1] * 100
    lines = head("enums.hpp", "The constants of the interface.", ["troika/troika.h", "", "cstdint"])
    lines += ["", f"static_assert(TROIKA_VERSION_MAJOR == {version[0]} && TROIKA_VERSION >= {number},",
              f'              "these headers need those of Troika {version[0]}.{version[1]} or a later {version[0]}.x");']
    for constant in interface.constants:
        name = constant["name"].removeprefix("TROIKA_").lower()
        if not name.startswith("version"):
            lines += ["", *comment(words.of(constant["doc"]), 0), f"inline constexpr std::int32_t {name} = {constant['name']};"]
    lines += ["", "/** The output of a layer. Other models refuse the value. 0 is no value. */",
              f"enum class Value : {NUMBERS[interface.aliases['troika_value']]} {{}};"]
    for enum in interface.enums:
        lines += ["", *comment(words.of(enum.doc), 0), f"enum class {enum.name} : std::int32_t {{"]
        for value in enum.values:
            lines += [*comment(words.of(value.doc), 2), f"  {enumerator(value)} = {value.c_name},"]
        lines.append("};")
        if enum.name != "Status":
            lines += ["", f'/** Returns the name of an enumerator, such as "{enumerator(enum.values[0])}"; "?" for others. */',
                      f"constexpr const char* to_string({enum.name} value) noexcept {{", "  switch (value) {"]
            lines += [f'    case {enum.name}::{enumerator(value)}: return "{value.name.lower()}";' for value in enum.values]
            lines += ["  }", '  return "?";', "}"]
    return "\n".join([*lines, TAIL]) + "\n"


def defaults_file(interface):
    lines = head("interface/defaults.hpp", "The library's defaults of options and results.", ["troika/convert.hpp"])
    return "\n".join([*lines, *defaults(interface), TAIL]) + "\n"


def structs(header, part, writer):
    """The options, results and descriptions of one header; "" if it has none."""
    written = [struct for struct in part.structs if struct.name not in BY_HAND]
    if not written:
        return ""
    inner = {writer.by_name[field.element or field.type].header for struct in written for field in struct.fields
             if (field.element or field.type) in writer.by_name and (field.element or field.type) not in BY_HAND} - {header}
    includes = ["troika/interface/defaults.hpp", *(f"troika/interface/{other}.hpp" for other in sorted(inner))]
    lines = head(f"interface/{header}.hpp", f"Options and results of {header}.h in C++.", includes)
    # The conversions of a struct come before the structs that contain it.
    for struct in written:
        lines += writer.struct(struct)
        conversions = []
        if struct.name in writer.filled:
            conversions += writer.converter(struct)
        if struct.name in writer.read:
            conversions += writer.raw(struct)
        if conversions:
            lines += ["", "namespace detail {", *conversions, "", "}  // namespace detail"]
    return "\n".join([*lines, TAIL]) + "\n"


def all_structs(headers):
    """The file that includes those of all headers."""
    lines = ["/** @file interface.hpp Options, results and descriptions as C++ has them.", " *", f" * {WRITTEN}", " */",
             "#ifndef TROIKA_INTERFACE_HPP", "#define TROIKA_INTERFACE_HPP", ""]
    return "\n".join([*lines, *(f"#include <troika/interface/{header}.hpp>" for header in sorted(headers)), "", "#endif"]) + "\n"


def files(interface):
    words = Words(interface)
    writer = Structs(interface, words)
    texts = {header: text for header, part in interface.parts().items() if (text := structs(header, part, writer))}
    return {"cpp/include/troika/enums.hpp": enums(interface, words),
            "cpp/include/troika/interface.hpp": all_structs(texts),
            "cpp/include/troika/interface/defaults.hpp": defaults_file(interface),
            **{f"cpp/include/troika/interface/{header}.hpp": text for header, text in texts.items()}}
