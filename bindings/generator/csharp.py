"""C#: enums, handles, raw structs, P/Invoke declarations, and the options and infos that a host sees.

Raw structs and functions have their C names and are internal. Options and infos are partial classes: a field that only
a person can place (a callback, memory of the host) is added in bindings/csharp/Troika, by `WriteMore`.
"""

import re
import textwrap
from xml.sax.saxutils import escape

from generator.interface import WRITTEN, camel, paragraphs

COLUMNS = 100
NUMBERS = {"int32_t": "int", "uint32_t": "uint", "int64_t": "long", "uint64_t": "ulong", "double": "double",
           "float": "float", "char": "byte", "void": "void"}

# Words of enum values that do not follow the rule "first letter large".
WORDS = {"ADAMW": "AdamW", "RMSPROP": "RmsProp", "GPIPE": "GPipe"}

# Structs whose class is written by hand. troika_device is a value on both sides: it needs no raw
# struct.
BY_HAND = ("troika_error", "troika_device", "troika_read_request")

# Structs that a host fills and also receives.
RECEIVED = ("troika_trainer_options", "troika_parameter_group", "troika_mesh", "troika_loader_position")

# Fields and parameters that a callback gets back: a GCHandle.
# Arguments that are arrays which a call fills.
ARRAYS = {"class_scores", "confusion"}

USERS = ("user", "log_user")

# Fields that the layer written by hand computes from an array of the host.
COMPUTED = {("troika_arrays", "n")}

# Functions whose name in C# does not follow from theirs, as comments call them.
METHODS = {"troika_plan_estimate": "Model.EstimatePlan", "troika_plan_choose": "Model.ChoosePlan",
           "troika_dataset_describe": "Dataset.Info", "troika_batch_describe": "Batch.Info",
           "troika_model_describe": "Model.Info", "troika_tensor_describe": "Tensor.Info",
           "troika_trainer_describe": "Trainer.Info", "troika_scores_compute": "ScoreReport.Compute", "troika_context_create": "Context"}

HEAD = "// " + WRITTEN + "\n"


class Names:
    """Names and comments of C as C# has them."""

    def __init__(self, interface):
        self.aliases = interface.aliases
        self.handles = {handle["name"]: camel(handle["name"]) for handle in interface.handles}
        self.structs = {struct.name: struct for struct in interface.structs}
        self.functions = {function["name"] for function in interface.functions}
        self.callbacks = {callback["name"] for callback in interface.callbacks}
        self.constants = {constant["name"]: camel(constant["name"].removeprefix("TROIKA_").lower())
                          for constant in interface.constants}
        self.values = {value.c_name: f"{enum.name}.{value_name(value.name)}" for enum in interface.enums
                       for value in enum.values}
        self.fields = {field.name for struct in interface.structs for field in struct.fields}

    def number(self, kind):
        return NUMBERS[self.aliases.get(kind, kind)]

    def method(self, function):
        """troika_model_add_linear becomes Model.AddLinear."""
        if function in METHODS:
            return METHODS[function]
        noun = max((handle for handle in self.handles if function.startswith(handle + "_")), key=len, default="troika_device")
        return f"{camel(noun)}.{camel(function.removeprefix(noun + '_'))}"

    def _reference(self, match):
        word = match[0]
        if word == "NULL":
            return "null"
        if word == "TROIKA_UNSET":
            return "null"
        if word in self.values:
            return self.values[word]
        if word in self.constants:
            return f"Library.{self.constants[word]}"
        if word in self.functions:
            return self.method(word)
        if word in self.structs:
            return camel(word)
        return camel(word) if word in self.fields and "_" in word else word

    def doc(self, text, field=None):
        """A comment of C, in the words of C#."""
        text = re.sub(r"\s*Begin with TROIKA_\w+_INIT\.", "", text)
        if field and field.kind == "array":
            text = text.replace(f"{field.length} {field.name}; copied. NULL with 0.", f"{camel(field.name)}; copied.")
            text = text.replace(field.length + " ", "")
        if field and field.kind == "flag":
            text = re.sub(r"\b1(?=:|;| while| leaves)", "true", text)
            text = re.sub(r"(?<=[Dd]efault )0\b|\b0(?= \(default| while| after)", "false", text)
        text = re.sub(r"TROIKA_\w+|troika_\w+|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\bNULL\b", self._reference, text)
        return escape(text)


def value_name(name):
    """STEP_SKIPPED becomes StepSkipped, BF16 stays."""
    words = name.removeprefix("ERROR_").split("_")
    return "".join(WORDS.get(word) or (word if len(word) < 5 and re.search(r"\d", word) else word.capitalize()) for word in words)


def xml(doc, indent, tag="summary"):
    """An XML comment: the first paragraph is the summary, the others are remarks."""
    prefix = " " * indent + "/// "
    first, _, rest = doc.partition("\n")
    lines = paragraphs(f"<{tag}>{first}</{tag}>", COLUMNS, prefix)
    if rest:
        lines += [f"{prefix}<remarks>"]
        lines += [line for paragraph in rest.split("\n") for line in paragraphs(f"<para>{paragraph}</para>", COLUMNS, prefix)]
        lines += [f"{prefix}</remarks>"]
    return lines


def is_seen(field):
    """Whether a field is one of C#'s, and not bookkeeping of C or placed by hand."""
    return field.kind not in ("size", "reserved", "length", "function", "pointer")


def fields_by_hand(struct):
    return any(field.kind in ("function", "pointer") for field in struct.fields)


class Property:
    """A field of an option or info as a property: its type, and how it is read from and written to the raw struct."""

    def __init__(self, struct, field, names):
        self.field, self.names, self.struct = field, names, struct
        self.name = camel(field.name)
        self.raw = f"raw->{field.name}"
        # Such a value of C is null in C#.
        self.none = "Library.Unset" if field.none == "TROIKA_UNSET" else field.none

    def _element(self, kind):
        if kind == "troika_value":
            return "Value"
        return camel(kind) if kind in self.names.structs else self.names.number(kind)

    def _plain(self):
        field = self.field
        if field.kind in ("part", "array"):
            return f"IReadOnlyList<{self._element(field.element)}>"
        return {"flag": "bool", "enum": field.enum, "text": "string", "buffer": "string", "numbers": "Size2d",
                "optional": camel(field.element), "struct": camel(field.type), "handle": camel(field.type),
                "number": self._element(field.type) if field.kind == "number" else ""}[field.kind]

    @property
    def type(self):
        return self._plain() + ("?" if self.none else "")

    def read(self):
        """The expression that reads the property."""
        field, raw = self.field, self.raw
        if self.none and field.kind == "numbers":
            return f"{raw}[0] == Library.Unset ? (Size2d?)null : new Size2d({raw}[0], {raw}[1])"
        if self.none:
            value = f"({field.enum}){raw}" if field.kind == "enum" else raw
            return f"{raw} == {self.none} ? ({self.type})null : {value}"
        if field.kind == "array" and field.element in self.names.structs:
            return f"Read{self.name}({raw}, raw->{field.length})"
        length = f"raw->{field.length}"
        return {
            "flag": f"{raw} == 1",
            "enum": f"({field.enum}){raw}",
            "text": f"Utf8.Read({raw})",
            "buffer": f"Utf8.Read({raw}, {field.count})",
            "numbers": f"new Size2d({raw}[0], {raw}[1])",
            "part": f"NativeArray.{'Values' if field.element == 'troika_value' else 'Read'}({raw}, Math.Min({length}, {field.count}))",
            "array": f"NativeArray.Read({raw}, {length})",
            "struct": raw if field.type == "troika_device" else f"new {camel(field.type)}(&{raw})",
            "optional": f"{raw} == null ? null : new {camel(field.element)}({raw})",
            "number": f"new Value({raw})" if field.type == "troika_value" else raw,
        }[field.kind]

    def write(self):
        """The statements that write the property."""
        field, raw, name = self.field, self.raw, self.name
        if field.kind == "numbers":
            value = f"({name} ?? new Size2d(Library.Unset, Library.Unset))" if self.none else name
            return [f"{raw}[0] = {value}.Height;", f"{raw}[1] = {value}.Width;"]
        if self.none:
            value = f"(int?){name}" if field.kind == "enum" else name
            return [f"{raw} = {value} ?? {self.none};"]
        if field.kind == "array":
            lines = [f"raw->{field.length} = {name}?.Count ?? 0;"]
            if field.element in self.names.structs:
                return lines + [f"{raw} = Write{name}(scope);"]
            return lines + [f"{raw} = scope.Copy({name});"]
        if field.kind == "struct" and field.type != "troika_device":
            return [f"({name} ?? new {self.type}()).WriteTo(&{raw}, scope);"]
        if field.kind == "optional":
            return [f"{raw} = null;", f"if ({name} != null)", "{", f"    {raw} = ({field.element}*)scope.Allocate(sizeof({field.element}));",
                    f"    {name}.WriteTo({raw}, scope);", "}"]
        return [f"{raw} = " + {
            "flag": f"{name} ? 1 : 0",
            "enum": f"(int){name}",
            "text": f'scope.Text({name}, "{camel(self.struct.name)}.{name}")',
            "handle": f"scope.Hold({name})",
            "number": name,
        }[field.kind] + ";"]


def enums(interface, names):
    yield from [HEAD, "namespace Troika", "{"]
    for number, enum in enumerate(interface.enums):
        yield from [""] * (number > 0) + xml(names.doc(enum.doc), 4) + [f"    public enum {enum.name}", "    {"]
        for index, value in enumerate(enum.values):
            yield from [""] * (index > 0) + xml(names.doc(value.doc) if value.doc else f"{value.c_name} of C.", 8)
            yield f"        {value_name(value.name)} = {value.number},"
        yield "    }"
    major, minor = interface.version.split(".")[:2]
    yield from ["", "    public static partial class Library", "    {"]
    for constant in interface.constants:
        if not constant["name"].startswith("TROIKA_VERSION"):
            is_public = constant["name"].startswith("TROIKA_MAX_")
            yield from xml(names.doc(constant["doc"]), 8)
            yield f"        {'public' if is_public else 'internal'} const int {names.constants[constant['name']]} = {constant['value']};"
            yield ""
    yield from ["        /// <summary>The major version of the declarations.</summary>",
                f"        internal const int DeclaredMajor = {major};", "",
                "        /// <summary>The minor version of the declarations.</summary>",
                f"        internal const int DeclaredMinor = {minor};", "    }", "}"]


def handles(interface, names):
    yield from [HEAD, "using System;", "", "namespace Troika.Native", "{"]
    for number, handle in enumerate(interface.handles):
        yield from [""] * (number > 0) + xml(escape(handle["doc"]), 4)
        yield from [f"    internal sealed class {names.handles[handle['name']]}Handle : NativeHandle", "    {",
                    f"        protected override void Destroy(IntPtr value) => NativeMethods.{handle['name']}_destroy(value);",
                    "    }"]
    yield "}"


def raw_type(field, names):
    kind = names.aliases.get(field.type, field.type)
    if kind in names.callbacks or kind in names.handles or field.name in USERS:
        return "IntPtr"
    if kind == "troika_device":
        return "Device"
    if kind in names.structs:
        return kind
    if kind.endswith("*"):
        pointed = kind.removeprefix("const ").removesuffix(" *")
        return f"{pointed if pointed in names.structs else names.number(pointed)}*"
    return names.number(kind)


def structs(interface, names):
    if all(struct.name == "troika_device" for struct in interface.structs):
        return
    yield from [HEAD, "using System;", "using System.Runtime.CompilerServices;", "using System.Runtime.InteropServices;", "",
                "namespace Troika.Native", "{"]
    first = True
    for struct in interface.structs:
        if struct.name == "troika_device":
            continue
        yield from ([] if first else [""]) + xml(escape(struct.doc), 4)
        first = False
        partial = "partial " if struct.name == "troika_error" else ""
        yield from ["    [StructLayout(LayoutKind.Sequential)]", f"    internal unsafe {partial}struct {struct.name}", "    {"]
        for field in struct.fields:
            if field.count:
                yield f"        internal fixed {names.number(field.element or field.type)} {field.name}[{field.count}];"
            else:
                yield f"        internal {raw_type(field, names)} {field.name};"
        if struct.init:
            # Mono binds the functions of a method when it compiles it, so this one is on its own.
            yield from ["", "        /// <summary>Returns the library's defaults. The library is loaded.</summary>",
                        "        [MethodImpl(MethodImplOptions.NoInlining)]",
                        f"        internal static {struct.name} Default()", "        {",
                        f"            {struct.name} raw;", f"            NativeMethods.{struct.init}(&raw, (uint)sizeof({struct.name}));",
                        "            return raw;", "        }"]
        yield "    }"
    yield "}"


def parameter(function, described, names):
    """A parameter of a P/Invoke declaration."""
    kind, name = described["type"], described["name"]
    if kind == "troika_status":
        return "Status"
    kind = names.aliases.get(kind, kind)
    pointed = kind.removeprefix("const ").removesuffix(" *")
    pointed = names.aliases.get(pointed, pointed)
    is_list = name.endswith("s") and name not in ("out_samples", "out_entries", "out_elements")
    if kind in names.handles:
        return "IntPtr" if function["name"].endswith("_destroy") else f"{names.handles[kind]}Handle"
    if kind == "troika_error *":
        return "out troika_error"
    if kind == "troika_device":
        return "Device"
    if pointed == "troika_device":
        return "Device[]" if kind.startswith("const") else "[Out] Device[]" if is_list else "out Device"
    if kind in names.callbacks:
        return "IntPtr"
    if kind == "const char *":
        return "byte[]"
    if kind == "char *":
        return "[Out] byte[]"
    if pointed in names.handles and kind != pointed:
        if kind.startswith("const"):
            return "IntPtr[]"
        if is_list:
            return "[Out] IntPtr[]"
        # The batch of a loader is borrowed.
        return "out IntPtr" if function["name"] == "troika_loader_next" else f"out {names.handles[pointed]}Handle"
    if pointed in names.structs:
        return f"{pointed}*"
    if kind.startswith("struct DL"):
        return "out IntPtr" if kind.endswith("**") else "IntPtr"
    if kind in ("const int64_t *", "const troika_value *"):
        return "long[]"
    if pointed in ("void", "float") or kind == "const int32_t *" or name in ARRAYS:
        return "IntPtr" if name in USERS else f"{names.number(pointed)}*"
    return f"out {names.number(pointed)}" if kind.endswith("*") else names.number(kind)


def callbacks(interface, names):
    yield from [HEAD, "using System;", "using System.Runtime.InteropServices;", "", "namespace Troika.Native", "{"]
    for number, callback in enumerate(interface.callbacks):
        parameters = []
        for described in callback["parameters"]:
            pointed = described["type"].removeprefix("const ").removesuffix(" *")
            kind = {"int32_t": "int", "troika_status": "Status", "const char *": "byte*", "void *": "IntPtr"}.get(described["type"])
            parameters.append(f"{kind or pointed + '*'} {described['name']}")
        yield from [""] * (number > 0) + xml(escape(callback["doc"]), 4)
        yield "    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]"
        result = "void" if callback["returns"] == "void" else names.number(callback["returns"])
        yield from call(f"    internal unsafe delegate {result} {callback['name']}(", parameters)
    yield "}"


def call(declaration, parameters):
    """A declaration with its parameters, on as many lines as it needs."""
    line = declaration + ", ".join(parameters) + ");"
    if len(line) <= COLUMNS:
        yield line
        return
    yield declaration
    indent = " " * (len(declaration) - len(declaration.lstrip()) + 4)
    # A type stays on one line with its name.
    glued = ", ".join(parameter.replace(" ", "\0") for parameter in parameters) + ");"
    for line in textwrap.wrap(glued, COLUMNS, initial_indent=indent, subsequent_indent=indent):
        yield line.replace("\0", " ")


def functions(interface, names):
    if not interface.functions:
        return
    is_first = interface.functions[0]["header"] == "export.h"  # a partial class has one comment
    comment = ["    /// <summary>The functions of the library, as the headers declare them.</summary>"] if is_first else []
    yield from [HEAD, "using System;", "using System.Runtime.InteropServices;", "", "namespace Troika.Native", "{", *comment,
                "    internal static unsafe partial class NativeMethods", "    {"]
    if is_first:
        yield from ['        private const string Name = "troika";', ""]
    for number, function in enumerate(interface.functions):
        result = {"void": "void", "troika_status": "Status", "const char *": "IntPtr", "int32_t": "int"}[function["returns"]]
        parameters = [f"{parameter(function, described, names)} {described['name']}" for described in function["parameters"]]
        yield from [*([""] if number else []), *xml(escape(function["doc"]), 8)]
        yield "        [DllImport(Name, CallingConvention = CallingConvention.Cdecl)]"
        yield from call(f"        internal static extern {result} {function['name']}(", parameters)
    yield from ["    }", "}"]


def group_methods(prop):
    """Reads and writes a list of structs. A later library may have longer structs, so its own size is the stride."""
    element = prop.field.element
    rich = camel(element)
    return [
        "",
        f"        private static unsafe IReadOnlyList<{rich}> Read{prop.name}({element}* raw, int count)",
        "        {",
        f"            var read = new {rich}[count];",
        "            for (int i = 0; i < count; ++i)",
        f"                read[i] = new {rich}(({element}*)((byte*)raw + (long)i * raw->struct_size));",
        "            return read;",
        "        }",
        "",
        f"        private unsafe {element}* Write{prop.name}(NativeScope scope)",
        "        {",
        f"            int count = {prop.name}?.Count ?? 0;",
        f"            var raw = ({element}*)scope.Allocate((long)count * sizeof({element}));",
        "            for (int i = 0; i < count; ++i)",
        f"                ({prop.name}[i] ?? new {rich}()).WriteTo(raw + i, scope);",
        "            return raw;",
        "        }",
    ]


def text_of(struct, seen):
    """The method that shows the fields of a class that the library fills."""
    fields = [f'("{prop.name}", {prop.name})' for prop in seen] + ['("Status", Status)'] * struct.has_status
    yield from ["", "        /// <summary>Returns all fields as text.</summary>",
                "        public override string ToString() =>"]
    yield from call("            Fields.Text(", [f'"{camel(struct.name)}"', *fields])


def rich_class(struct, names):
    """An option that a host fills, or an info that the library fills."""
    name = camel(struct.name)
    seen = [Property(struct, field, names) for field in struct.fields
            if is_seen(field) and (struct.name, field.name) not in COMPUTED]
    yield from xml(names.doc(struct.doc), 4)
    yield from [f"    public sealed partial class {name}", "    {"]
    reading = [f"            {prop.name} = {prop.read()};" for prop in seen if prop.field.kind != "handle"]
    if struct.init and struct.is_input:
        yield from ["        /// <summary>Begins with the library's defaults.</summary>", f"        public unsafe {name}()", "        {",
                    "            Library.Load();",
                    f"            {struct.name} raw = {struct.name}.Default();", "            ReadFrom(&raw);", "        }", ""]
    elif struct.is_input:
        yield from ["        /// <summary>Every field is 0.</summary>", f"        public {name}()", "        {", "        }", ""]
    if not struct.is_input:
        yield from [f"        internal unsafe {name}({struct.name}* raw)", "        {", *reading, "        }"]
    elif struct.name in RECEIVED:
        yield from [f"        internal unsafe {name}({struct.name}* raw)", "        {", "            ReadFrom(raw);", "        }", ""]
    for index, prop in enumerate(seen):
        yield from [] if struct.is_input and index == 0 else [""]
        yield from xml(names.doc(prop.field.doc, prop.field), 8)
        yield f"        public {prop.type} {prop.name} {{ get; {'set; ' if struct.is_input else ''}}}"
    if struct.is_input:
        yield from ["", f"        private unsafe void ReadFrom({struct.name}* raw)", "        {", *reading, "        }"]
    if struct.is_input:
        yield from ["", f"        internal unsafe void WriteTo({struct.name}* raw, NativeScope scope)", "        {"]
        yield f"            *raw = {struct.name}.Default();" if struct.init else f"            *raw = new {struct.name}();"
        for prop in seen:
            yield from [f"            {line}" for line in prop.write()]
        if fields_by_hand(struct):
            yield "            WriteMore(raw, scope);"
        yield "        }"
        if fields_by_hand(struct):
            yield from ["", f"        unsafe partial void WriteMore({struct.name}* raw, NativeScope scope);"]
    if not struct.is_input or struct.name in RECEIVED:
        yield from text_of(struct, seen)
    for prop in seen:
        if prop.field.kind == "array" and prop.field.element in names.structs:
            yield from group_methods(prop)
    yield "    }"


def rich(interface, names, is_input):
    """The classes of one header that a host fills, or that the library fills."""
    chosen = [struct for struct in interface.structs if struct.name not in BY_HAND and struct.is_input == is_input]
    if not chosen:
        return
    yield from [HEAD, "using System;", "using System.Collections.Generic;", "using Troika.Native;", "", "namespace Troika", "{"]
    for number, struct in enumerate(chosen):
        yield from [""] * (number > 0)
        yield from rich_class(struct, names)
    yield "}"


def files(interface):
    names = Names(interface)
    texts = {"Enums": enums(interface, names), "Handles": handles(interface, names), "NativeCallbacks": callbacks(interface, names)}
    for header, part in interface.parts().items():
        texts |= {f"NativeStructs/{camel(header)}": structs(part, names), f"NativeMethods/{camel(header)}": functions(part, names),
                  f"Options/{camel(header)}": rich(part, names, True), f"Infos/{camel(header)}": rich(part, names, False)}
    written = {name: list(lines) for name, lines in texts.items()}
    return {f"csharp/Troika/Generated/{name}.cs": "\n".join(lines) + "\n" for name, lines in written.items() if lines}
