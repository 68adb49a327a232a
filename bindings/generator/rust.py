"""Rust: the raw crate troika-sys with its test of layouts, and the enums and structs of the safe crate.

A struct of the safe crate has the fields that a host sees. It is converted by `to_raw` and
`from_raw`, whose helpers are in rust/troika/src/convert.rs.
"""

import re

from generator.interface import WRITTEN, camel, paragraphs

COLUMNS = 100
NUMBERS = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "double": "f64", "float": "f32",
           "char": "c_char", "void": "c_void"}

# Structs that the safe crate declares by hand.
BY_HAND = ("troika_arrays", "troika_read_request", "troika_error", "troika_device")

# Fields that the caller must set. Their default is TROIKA_UNSET too, or NULL, and the library
# refuses it.
REQUIRED = {
    "troika_conv1d_options": {"out_channels", "kernel"},
    "troika_conv2d_options": {"out_channels", "kernel"},
    "troika_loader_options": {"batch"},
    "troika_parameter_group": {"pattern"},
    "troika_pool2d_options": {"kernel"},
}

# Arrays whose length belongs to another object. The layer that is written by hand compares it.
LISTS = {("troika_loader_options", "weights")}

# The comment of the field `status`.
STATUS_DOCS = {
    "troika_step_result": "`Ok`, `StepSkipped` or `Stopped`. After `Stopped` the other fields are 0.",
    "troika_metrics": "`Ok`, `EndOfData` or `Stopped`. After `Stopped` the other fields count the batches so far.",
}

# An `Option` of its own would hide that of the standard library.
ENUM_NAMES = {"Option": "Setting"}
VARIANTS = {"ADAMW": "AdamW", "RMSPROP": "RmsProp", "GPIPE": "GPipe", "F8_E4M3": "F8E4M3", "F8_E5M2": "F8E5M2"}

# Functions of C whose Rust name does not follow from theirs.
METHODS = {
    "troika_version": "version", "troika_build_info": "build_info", "troika_zoo_name": "zoo_names",
    "troika_status_name": "Status::name", "troika_file_inspect": "file_inspect", "troika_file_newest": "file_newest",
    "troika_device_try": "Device::try_gpu", "troika_devices_all": "Device::all", "troika_loader_next": "Loader::next_batch",
    "troika_model_clone": "Model::try_clone", "troika_plan_estimate": "Model::plan_estimate",
    "troika_plan_choose": "Model::plan_choose", "troika_scores_compute": "ScoreReport::compute",
}
DESTROYED = "`drop`"

# Comments that speak of a number that Rust does not have.
FIELD_DOCS = {
    ("troika_trainer_options", "groups"): "Parameters with settings of their own: 0 to 4096 groups.",
    ("troika_plan_options", "device_kind"): "The kind of the devices; `None` (default): either.",
    ("troika_source", "dims"): "Shape of a sample. Must be set.",
}

# In comments: names of C, and names of fields.
C_NAME = r"\b(?:troika|TROIKA)_\w+"
FIELD = r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b"


def fitted(line):
    """A line of code as rustfmt writes it: one that is too long is broken after `=`, or in its unsafe block."""
    space = " " * (len(line) - len(line.lstrip()))
    if len(line) <= COLUMNS:
        return [line]
    if block := re.fullmatch(r"\s*(\w+: unsafe \{) (.*) (\}\??,)", line):
        return [space + block[1], f"{space}    {block[2]}", space + block[3]]
    left, right = line.split(" = ", 1)
    return [f"{left} =", f"{space}    {right}"]


def code(text, pattern, resolve):
    """Escapes what Markdown would read as its own, and replaces names of C by what `resolve` returns."""
    parts = re.split(pattern, text)
    escaped = [re.sub(r"([\[\]<>*])", r"\\\1", part) if i % 2 == 0 else resolve(part) for i, part in enumerate(parts)]
    return "".join(escaped)


def doc_lines(text, indent=0):
    """A comment of documentation. Markdown wants an empty line between paragraphs and before a list."""
    prefix = " " * indent + "/// "
    lines, was_item = [], False
    for paragraph in text.split("\n"):
        is_item = paragraph.startswith("- ")
        if lines and not (is_item and was_item):
            lines.append(prefix.rstrip())
        lines += paragraphs(paragraph, COLUMNS, prefix)
        was_item = is_item
    return lines


# ---- troika-sys ----

class Raw:
    """The names and types of troika-sys."""

    def __init__(self, interface):
        self.interface = interface
        self.handles = {handle["name"] for handle in interface.handles}
        self.callbacks = {callback["name"] for callback in interface.callbacks}
        self.structs = {struct.name for struct in interface.structs}
        self.known = self.handles | self.callbacks | self.structs | set(interface.aliases)
        self.known |= {function["name"] for function in interface.functions}
        self.known |= {constant["name"] for constant in interface.constants}
        self.known |= {value.c_name for enum in interface.enums for value in enum.values}

    def type(self, kind):
        if kind.endswith(" *"):
            pointed, is_const = kind.removesuffix(" *"), kind.startswith("const ")
            return f"*{'const' if is_const else 'mut'} {self.type(pointed.removeprefix('const '))}"
        if kind.endswith(" **"):
            return f"*mut {self.type(kind.removesuffix('*'))}"
        kind = kind.removeprefix("struct ")
        return NUMBERS.get(kind, kind)

    def doc(self, text, indent=0):
        def resolve(name):
            return f"[`{name}`](crate::{name})" if name in self.known else f"`{name}`"
        return doc_lines(code(text, rf"({C_NAME}|{FIELD})", resolve), indent) if text else []

    def signature(self, function, name, space, end):
        """A function's head, on one line if it fits."""
        result = "" if function["returns"] == "void" else f" -> {self.type(function['returns'])}"
        parameters = [f"{parameter['name']}: {self.type(parameter['type'])}" for parameter in function["parameters"]]
        line = f"{space}{name}({', '.join(parameters)}){result}{end}"
        if len(line) <= COLUMNS:
            return [line]
        return [f"{space}{name}(", *(f"{space}    {parameter}," for parameter in parameters), f"{space}){result}{end}"]


SYS_HEAD = """// {written}
//! Raw declarations of the C interface of Troika.
//!
//! Names, types and rules are those of C. The crate `troika` is the safe layer on top of them.
//! Each module has the declarations of one header.

#![allow(non_camel_case_types)]
"""

DLPACK = ("DLManagedTensor", "DLManagedTensorVersioned")


def modules(parts):
    """The lines of a file that passes on what the modules of all headers declare."""
    names = sorted(parts)
    yield from ["", *(f"mod {name};" for name in names), "", *(f"pub use {name}::*;" for name in names)]


def sys_header(raw, part):
    """The declarations of one header."""
    lines = []
    for constant in part.constants:
        lines += ["", *raw.doc(constant["doc"]), f"pub const {constant['name']}: i32 = {constant['value']};"]
    for enum in part.enums:
        lines += ["", *("//" + line[3:] for line in doc_lines(enum.doc))]
        for value in enum.values:
            lines += [*raw.doc(value.doc), f"pub const {value.c_name}: i32 = {value.number};"]
    for alias, kind in part.aliases.items():
        lines += ["", *raw.doc(part.alias_docs[alias]), f"pub type {alias} = {NUMBERS[kind]};"]
    for handle in part.handles:
        name = handle["name"]
        lines += ["", f"/// The object that [`{name}`] points to.", "#[repr(C)]", "#[derive(Debug)]",
                  f"pub struct {name}_s {{", "    _private: [u8; 0],", "}"]
        lines += ["", *raw.doc(handle["doc"]), f"pub type {name} = *mut {name}_s;"]
    for name in DLPACK if any(handle["name"] == "troika_tensor" for handle in part.handles) else ():
        lines += ["", f"/// The struct {name} of DLPack.", "#[repr(C)]", "#[derive(Debug)]", f"pub struct {name} {{",
                  "    _private: [u8; 0],", "}"]
    for callback in part.callbacks:
        lines += ["", *raw.doc(callback["doc"]), *callback_type(raw, callback)]
    for struct in part.structs:
        lines += ["", *raw.doc(struct.doc), "#[repr(C)]", "#[derive(Clone, Copy, Debug)]", f"pub struct {struct.name} {{"]
        for field in struct.fields:
            kind = raw.type(field.element if field.count and field.element else field.type)
            lines += raw.doc(field.doc, 4)
            lines.append(f"    pub {field.name}: {f'[{kind}; {field.count}]' if field.count else kind},")
        lines.append("}")
    if part.functions:
        lines += ["", 'extern "C" {']
        for i, function in enumerate(part.functions):
            lines += ([""] if i else []) + raw.doc(function["doc"], 4)
            lines += raw.signature(function, f"pub fn {function['name']}", "    ", ";")
        lines.append("}")
    code_lines = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    declared = {name for name in raw.known | set(DLPACK) if re.search(rf"\b(?:type|struct|fn|const) {name}\b", code_lines)}
    head = ["// " + WRITTEN]
    c_types = [name for name in ("c_char", "c_void") if re.search(rf"\b{name}\b", code_lines)]
    if any(name not in declared for name in re.findall(r"\btroika_\w+\b", code_lines) if name in raw.known):
        head += ["", "use crate::*;"]
    if c_types:
        names = c_types[0] if len(c_types) == 1 else "{" + ", ".join(c_types) + "}"
        head += ([] if "use crate::*;" in head else [""]) + [f"use std::os::raw::{names};"]
    return [*head, *lines]


def callback_type(raw, callback):
    """A nullable function, on as few lines as it fits on."""
    name = f"pub type {callback['name']} ="
    lines = raw.signature(callback, 'unsafe extern "C" fn', "    ", ",")
    function = lines[0].strip().removesuffix(",")
    if len(lines) == 1 and len(f"{name} Option<{function}>;") <= COLUMNS:
        return [f"{name} Option<{function}>;"]
    if len(lines) == 1 and len(f"    Option<{function}>;") <= COLUMNS:
        return [name, f"    Option<{function}>;"]
    return [f"{name} Option<", *lines, ">;"]


LAYOUT_HEAD = """// {written}
//! Sizes and offsets as the C compiler has them.

#![cfg(target_pointer_width = "64")]

use std::mem::{{size_of, MaybeUninit}};
use std::ptr::addr_of;
use troika_sys::*;

macro_rules! offset {{
    ($kind:ty, $field:ident) => {{{{
        let value = MaybeUninit::<$kind>::uninit();
        let start = value.as_ptr();
        // Safety: no memory is read; only an address is computed.
        unsafe {{ addr_of!((*start).$field) as usize - start as usize }}
    }}}};
}}
"""


def sys_layout(interface):
    yield from LAYOUT_HEAD.format(written=WRITTEN).splitlines()
    for struct in interface.structs:
        yield from ["", "#[test]", f"fn layout_of_{struct.name}() {{",
                    f"    assert_eq!(size_of::<{struct.name}>(), {struct.size});"]
        yield from (f"    assert_eq!(offset!({struct.name}, {field.name}), {field.offset});" for field in struct.fields)
        yield "}"


# ---- troika ----

def enum_name(name):
    return ENUM_NAMES.get(name, name)


def variant(value):
    name = value.name.removeprefix("ERROR_")
    return VARIANTS.get(name) or "".join(word.capitalize() for word in name.split("_"))


class Safe:
    """The names and types of the safe crate."""

    def __init__(self, interface):
        self.interface = interface
        self.structs = {struct.name: struct for struct in interface.structs}
        self.handles = {handle["name"] for handle in interface.handles}
        self.functions = {function["name"] for function in interface.functions}
        self.values = {value.c_name: f"{enum_name(enum.name)}::{variant(value)}"
                       for enum in interface.enums for value in enum.values}

    def path(self, name):
        """The Rust path of a name of C, or ""."""
        if name in METHODS:
            return METHODS[name]
        if name in self.values:
            return self.values[name]
        if name in self.structs or name in self.handles:
            return camel(name)
        if name not in self.functions:
            return ""
        _, noun, verb = name.split("_", 2)
        return f"{camel(noun)}::{'new' if verb == 'create' else verb}"

    def doc(self, text, indent=0, is_flag=False, null="`None`"):
        text = re.sub(r" (?:Copied|Borrowed during the call)\.", "", text)  # Rust's signatures say so
        if is_flag:
            text = re.sub(r"\b1(?=(?: \(default\))?:| leaves\b| while\b)", "`true`", text)
            text = re.sub(r"\b0(?=(?: \(default\b[^)]*\))?:| while\b)", "`false`", text)
            text = re.sub(r"\b([Dd]efault) 0\b", r"\1 `false`", text)

        def resolve(name):
            if name.startswith("`"):
                return name
            if name in ("NULL", "TROIKA_UNSET"):
                return null
            if name.endswith("_destroy"):
                return DESTROYED
            path = self.path(name)
            return f"[`{path}`](crate::{path})" if path else f"`{name}`"
        return doc_lines(code(text, rf"(`[^`]*`|{C_NAME}|{FIELD}|\bNULL\b)", resolve), indent)

    def field_doc(self, struct, field):
        if (struct.name, field.name) in FIELD_DOCS:
            return self.doc(FIELD_DOCS[struct.name, field.name], 4)
        text = re.sub(r"\b\w+_count (?=\w+ of)", "", field.doc) if field.kind == "array" else field.doc
        null = "Empty" if (struct.name, field.name) in LISTS else "`None`"
        return self.doc(text, 4, field.kind == "flag", null)

    def element(self, kind):
        if kind == "troika_value":
            return "Value"
        kind = self.interface.aliases.get(kind, kind)
        return NUMBERS.get(kind) or camel(kind)

    def type(self, struct, field):
        kind = self.plain_type(struct, field)
        return f"Option<{kind}>" if is_optional(struct, field) else kind

    def plain_type(self, struct, field):
        if (struct.name, field.name) in LISTS or field.kind in ("array", "part"):
            return f"Vec<{self.element(field.element)}>"
        if field.kind in ("text", "buffer"):
            return "String"
        if field.kind == "numbers":
            return f"[{self.element(field.element)}; {field.count}]"
        if field.kind == "enum":
            return enum_name(field.enum)
        return "bool" if field.kind == "flag" else self.element(field.element or field.type)


def is_optional(struct, field):
    """Whether a field of the safe crate is an `Option`."""
    is_text = field.kind == "text" and field.name not in REQUIRED.get(struct.name, ())
    return is_text or field.kind in ("optional", "handle") or field.none != ""


def is_seen(struct, field):
    return field.kind not in ("size", "reserved", "length", "function", "pointer") or (struct.name, field.name) in LISTS


def none_of(field):
    return "0" if field.none == "0" else "sys::TROIKA_UNSET"


def reading(safe, struct, field):
    """The expression that reads a field of `raw`."""
    name, at = field.name, f"raw.{field.name}"
    if field.kind == "flag":
        return f"{at} != 0"
    if field.kind == "enum":
        if is_optional(struct, field):
            return f"optional_enum({at}, {none_of(field)}, {enum_name(field.enum)}::from_raw)?"
        return f"{enum_name(field.enum)}::from_raw({at})?"
    if field.kind == "text":
        reader = "optional_text" if is_optional(struct, field) else "required_text"
        return f"unsafe {{ {reader}({at}) }}"
    if field.kind == "buffer":
        return f"text_of(&{at})"
    if field.kind == "part":
        read = f"part(&{at}, raw.{field.length})"
        return f"{read}.iter().copied().map(Value).collect()" if safe.element(field.element) == "Value" else f"{read}.to_vec()"
    if field.kind == "array":
        if field.element in safe.structs:
            return f"unsafe {{ read_structs({at}, raw.{field.length}) }}?"
        return f"unsafe {{ read_list({at}, raw.{field.length}) }}"
    if (struct.name, name) in LISTS:
        return "Vec::new()"
    if field.kind == "handle":
        return "None"
    if field.kind == "struct":
        return f"unsafe {{ {safe.element(field.type)}::from_raw(&{at}) }}?"
    if field.kind == "optional":
        return f"unsafe {{ {at}.as_ref().map(|raw| {safe.element(field.element)}::from_raw(raw)).transpose() }}?"
    if safe.element(field.type) == "Value":
        return f"Value({at})"
    if is_optional(struct, field):
        return f"{'optional_numbers' if field.kind == 'numbers' else 'optional_number'}({at})"
    return at


def writing(safe, struct, field):
    """The statements that write a field of `raw`. `held` keeps memory that `raw` points to."""
    at, own = f"raw.{field.name}", f"self.{field.name}"
    if field.kind == "flag":
        return [f"{at} = i32::from({own});"]
    if field.kind == "enum":
        if is_optional(struct, field):
            return [f"{at} = {own}.map_or({none_of(field)}, {enum_name(field.enum)}::raw);"]
        return [f"{at} = {own}.raw();"]
    if field.kind == "text":
        argument = f"{own}.as_deref()" if is_optional(struct, field) else f"Some({own}.as_str())"
        return [f'{at} = held.text({argument}, "{field.name}")?;']
    if field.kind == "array" and field.element in safe.structs:
        return [f"let list = {own}.iter().map(|one| one.to_raw(held)).collect::<Result<Vec<_>>>()?;",
                f'raw.{field.length} = count({own}.len(), "{field.name}")?;', f"{at} = held.list(list);"]
    if field.kind == "array":
        return [f'raw.{field.length} = count({own}.len(), "{field.name}")?;', f"{at} = pointer_to({own}.as_slice());"]
    if (struct.name, field.name) in LISTS:
        return [f"{at} = pointer_to({own}.as_slice());"]
    if field.kind == "handle":
        return [f"{at} = {own}.as_ref().map_or(std::ptr::null_mut(), {safe.element(field.type)}::raw);"]
    if field.kind == "struct":
        return [f"{at} = {own}.to_raw(held)?;"]
    if field.kind == "optional":
        return [f"if let Some(inner) = &{own} {{", "    let inner = vec![inner.to_raw(held)?];", f"    {at} = held.list(inner);", "}"]
    if is_optional(struct, field):
        unset = "sys::TROIKA_UNSET" if field.type == "int32_t" else "sys::TROIKA_UNSET.into()"
        return [f"{at} = {own}.unwrap_or([{unset}; {field.count}]);" if field.kind == "numbers" else
                f"{at} = {own}.unwrap_or_else(|| {unset});" if "into" in unset else f"{at} = {own}.unwrap_or({unset});"]
    return [f"{at} = {own};"]


def enums(interface, safe):
    for enum in interface.enums:
        name = enum_name(enum.name)
        rest = " else Other" if name == "Status" else ""  # a status of a later version
        yield from ["", "enumeration! {", *safe.doc(enum.doc, 4), f"    {name}{rest} {{"]
        for value in enum.values:
            yield from safe.doc(value.doc or f"The constant `{value.c_name}` of C.", 8, null="NULL")
            yield f"        {variant(value)} = {value.c_name},"
        yield from ["    }", "}"]


def derives(struct, fields):
    is_plain = all(field.kind not in ("text", "buffer", "part", "array", "handle", "optional", "pointer") for field in fields)
    is_value = is_plain and (not struct.is_input or not struct.name.endswith("_options"))
    names = ["Clone"] + (["Copy"] if is_value else []) + ["Debug"] + (["Default"] if not struct.init and struct.is_input else [])
    return f"#[derive({', '.join([*names, 'PartialEq'])})]"


def declaration(safe, struct, fields):
    name = camel(struct.name)
    begin = "End a literal with `..Default::default()`." if struct.is_input else ""
    doc = re.sub(r"Begin with TROIKA_\w+_INIT\.", begin, struct.doc).strip()
    yield from ["", *safe.doc(doc), derives(struct, fields)]
    if not struct.is_input:
        yield "#[non_exhaustive]"
    yield f"pub struct {name} {{"
    if struct.has_status:
        yield from [f"    /// {STATUS_DOCS[struct.name]}", "    pub status: Status,"]
    for field in fields:
        yield from safe.field_doc(struct, field)
        yield f"    pub {field.name}: {safe.type(struct, field)},"
    yield "}"


def conversion_from_c(safe, struct, fields):
    default = f"initialized(sys::{struct.init})" if struct.init else "zeroed()"
    yield from ["", f"impl Struct for {camel(struct.name)} {{", f"    type Raw = sys::{struct.name};", "",
                "    fn init() -> Self::Raw {", f"        {default}", "    }", "",
                "    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {"]
    read = ["status: Status::Ok"] if struct.has_status else []
    read += [f"{field.name}: {reading(safe, struct, field)}" for field in fields]
    one_line = f"        Ok(Self {{ {', '.join(read)} }})"
    if len(one_line) <= COLUMNS:
        yield one_line
    else:
        yield "        Ok(Self {"
        for line in read:
            yield from fitted(f"            {line},")
        yield "        })"
    yield from ["    }", "}"]


def conversion_to_c(safe, struct, fields):
    uses_held = any(field.kind in ("text", "struct", "optional") or field.element in safe.structs for field in fields)
    held = "held" if uses_held else "_held"
    yield from ["", f"impl Input for {camel(struct.name)} {{", f"    fn to_raw(&self, {held}: &mut Held) -> Result<Self::Raw> {{",
                "        let mut raw = Self::init();"]
    for field in fields:
        for line in writing(safe, struct, field):
            yield from fitted(f"        {line}")
    yield from ["        Ok(raw)", "    }", "}"]


def structs(interface, safe):
    for struct in interface.structs:
        if struct.name in BY_HAND:
            continue
        fields = [field for field in struct.fields if is_seen(struct, field)]
        yield from declaration(safe, struct, fields)
        yield from conversion_from_c(safe, struct, fields)
        if struct.is_input:
            yield from conversion_to_c(safe, struct, fields)
        if struct.is_input and struct.init:
            yield from ["", f"impl Default for {camel(struct.name)} {{", "    /// The library's defaults.",
                        "    fn default() -> Self {", "        defaults()", "    }", "}"]


STRUCTS_HEAD = """// {written}
//! Enums, options and results, as the C headers describe them.
//!
//! A field that is an `Option` has a default of the library when it is `None`.
"""


def safe_header(safe, part):
    """The enums and structs of one header; empty if it has none."""
    lines = [*enums(part, safe), *structs(part, safe)]
    if not lines:
        return []
    code_lines = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
    uses = [line for line, pattern in (("use crate::convert::*;", r"\b(?:Struct|Input|Held)\b|enumeration!"),
                                       ("use crate::*;", r"impl Struct|enumeration!"),
                                       ("use troika_sys as sys;", r"\bsys::|enumeration!")) if re.search(pattern, code_lines)]
    return ["// " + WRITTEN, *([""] if uses else []), *uses, *lines]


def files(interface):
    """The text of each generated file by its path under bindings/."""
    raw, safe, parts = Raw(interface), Safe(interface), interface.parts()
    declared = {header: sys_header(raw, part) for header, part in parts.items()}
    rich = {header: lines for header, part in parts.items() if (lines := safe_header(safe, part))}
    texts = {"rust/troika-sys/src/lib.rs": [*SYS_HEAD.format(written=WRITTEN).splitlines(), *modules(declared)],
             "rust/troika-sys/tests/layout.rs": sys_layout(interface),
             "rust/troika/src/structs.rs": [*STRUCTS_HEAD.format(written=WRITTEN).splitlines(), *modules(rich)]}
    texts |= {f"rust/troika-sys/src/{header}.rs": lines for header, lines in declared.items()}
    texts |= {f"rust/troika/src/structs/{header}.rs": lines for header, lines in rich.items()}
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}
