"""The C interface as generators see it: interface.json, and the meaning of each field of a struct.

C has one type for numbers, yes or no, and names of a list: int32_t. The tables here say which a
field is. A field that no table can place ends the generator with its name, so a new field of the
interface is placed before it reaches a binding.
"""

import copy
import dataclasses
import json
import pathlib
import re
import textwrap

BINDINGS = pathlib.Path(__file__).resolve().parents[1]
WRITTEN = "Written by bindings/generate.py from the C headers; do not edit."

# The headers, each after those that it includes. Generated code is divided as they are.
HEADERS = ("export", "status", "context", "device", "tensor", "gradients", "group", "trainer_options", "data", "layers",
           "model", "scores", "operations", "trainer", "plan", "pending", "pieces", "describe", "file")

# The enums by the prefix of their constants. C does not name them.
ENUMS = {
    "TROIKA_LOG_": "LogLevel",
    "TROIKA_DEVICE_": "DeviceKind",
    "TROIKA_INIT_": "Initializer",
    "TROIKA_DTYPE_": "Dtype",
    "TROIKA_LOSS_": "Loss",
    "TROIKA_REDUCTION_": "Reduction",
    "TROIKA_OPTIMIZER_": "Optimizer",
    "TROIKA_OPTION_": "Option",
    "TROIKA_SCHEDULE_": "Schedule",
    "TROIKA_PRECISION_": "Precision",
    "TROIKA_LAYER_SCHEDULE_": "LayerSchedule",
    "TROIKA_COMPRESSION_": "Compression",
    "TROIKA_RELATION_": "Relation",
    "TROIKA_": "Status",
}

# The enum of a field, by the field's name.
ENUM_FIELDS = {
    "dtype": "Dtype", "target_dtype": "Dtype", "input_dtype": "Dtype", "output_dtype": "Dtype", "loss": "Loss",
    "reduction": "Reduction", "precision": "Precision", "optimizer": "Optimizer", "schedule": "Schedule",
    "layer_schedule": "LayerSchedule", "gradient_compression": "Compression", "kind": "DeviceKind",
    "device_kind": "DeviceKind", "log_level": "LogLevel", "status": "Status",
}

# Fields that are 1 or 0.
FLAGS = {
    "borrow", "tokens", "use_environment", "no_bias", "input_gradient", "own_loss", "allow_partial", "shuffle", "drop_last", "flip",
    "is_complete", "frozen", "is_buffer", "is_initialized", "shard_optimizer", "fits", "exclude_padding", "training",
    "skipped", "in_background", "is_usable", "nesterov", "collect_trace", "no_fusion", "sync_batch_norm", "samples_on_host",
    "launches_in_turn", "late_updates", "skip_mismatching", "skip_decay_one_axis", "evaluate_parameters", "schedule_maximize", "skip_not_finite",
    "sample_weights",
}

# Arrays that a struct points to, and the field with their length.
ARRAYS = {
    ("troika_trainer_options", "groups"): "group_count",
    ("troika_trainer_options", "schedule_milestones"): "schedule_milestone_count",
    ("troika_trainer_options", "schedule_table"): "schedule_table_count",
    ("troika_trainer_options", "class_weights"): "class_weight_count",
    ("troika_trainer_options", "shares"): "share_count",
    ("troika_arrays", "dims"): "rank",
    ("troika_source", "dims"): "rank",
}

# Arrays within a struct of which only the first elements count, and the field with their number.
PARTS = {"dims": "rank", "input_dims": "input_rank", "output_dims": "output_rank", "inputs": "input_count"}

# Structs that the caller fills, apart from those whose name ends in _options.
FILLED_BY_CALLER = {"troika_arrays", "troika_source", "troika_parameter_group", "troika_mesh", "troika_device",
                    "troika_loader_position"}

# Fields with the default TROIKA_UNSET, for which the library then takes its own value. A test of
# the bindings compares with the `_init` functions.
UNSET = {
    "troika_arrays": {"ignore_index"},
    "troika_context_options": {"cpu_threads", "log_level", "predict_threads"},
    "troika_dataset_options": {"resize_height", "resize_width"},
    "troika_group_options": {"rank", "processes", "node"},
    "troika_model_options": {"classes", "input_channels", "input_height", "input_width", "hidden", "steps"},
    "troika_parameter_group": {"momentum", "beta1", "beta2", "eps", "alpha", "trust"},
    "troika_plan_options": {"operations_per_second"},
    "troika_pool2d_options": {"stride"},
    "troika_source": {"ignore_index"},
    "troika_trainer_options": {"loss_scale", "beta1", "beta2", "eps", "alpha", "trust", "ignore_index"},
}

# Enums whose names are those of things too, which comments mean: a CPU device, the momentum of SGD.
THINGS = {"DeviceKind", "Optimizer"}

NAME_OF_VALUE = r"(?<![\w.])[A-Z][A-Z0-9_]+\b"

# Enums of which 0 is "none".
ZERO_IS_NONE = {("troika_model_info", "input_dtype"), ("troika_model_info", "output_dtype"),
                ("troika_plan_options", "device_kind")}

# Results of calls that return information above 0 too: STEP_SKIPPED, STOPPED, END_OF_DATA.
WITH_STATUS = {"troika_step_result", "troika_metrics"}

NUMBERS = ("int32_t", "uint32_t", "int64_t", "uint64_t", "double")


# The kinds of field.
KINDS = {
    "size": "struct_size",
    "reserved": "always 0",
    "flag": "1 or 0",
    "enum": "a number of `enum`",
    "number": "a number of C type `type`",
    "numbers": "`count` numbers of C type `element`",
    "part": "`count` numbers of C type `element`; field `length` says how many count",
    "length": "the number of elements of another field",
    "text": "UTF-8 with a NUL, which the caller passes",
    "buffer": "UTF-8 with a NUL, in `count` bytes of the struct",
    "array": "a pointer to elements of C type `element`; field `length` has their number",
    "struct": "a struct of C type `type`",
    "optional": "a pointer to a struct of C type `element`, or NULL",
    "handle": "a handle of C type `type`",
    "function": "a pointer to a function",
    "pointer": "memory whose size other fields say, for a layer that is written by hand",
}


@dataclasses.dataclass
class Field:
    """A field of a struct. `kind` is one of KINDS. `none` is the number that stands for "not set", if there is one."""

    name: str
    type: str
    kind: str
    doc: str
    offset: int
    size: int
    count: int = 0
    element: str = ""
    enum: str = ""
    length: str = ""
    none: str = ""


@dataclasses.dataclass
class Struct:
    """A struct of the interface.

    `is_input`: the caller fills it. `init`: the function that sets its defaults, or "". `has_status`:
    it is the result of calls whose status says more than success.
    """

    name: str
    header: str
    doc: str
    size: int
    is_input: bool
    init: str
    has_status: bool
    fields: list


@dataclasses.dataclass
class Enum:
    """Constants that belong together. Values have a name without the prefix, a C name, a number and a comment."""

    name: str
    header: str
    doc: str
    values: list


@dataclasses.dataclass
class Value:
    name: str
    c_name: str
    number: int
    doc: str


class Interface:
    """All of interface.json. `structs` are in an order in which each comes after those that it contains.

    `aliases` has the type of each name of a number, and `alias_docs` its comment.
    """

    def __init__(self, path=BINDINGS / "interface" / "interface.json"):
        described = json.loads(path.read_text(encoding="utf-8"))
        self.version = described["version"]
        self.constants = described["constants"]
        self.handles = described["handles"]
        self.callbacks = described["callbacks"]
        self.functions = described["functions"]
        self.aliases = {alias["name"]: alias["type"] for alias in described["aliases"]}
        self.alias_docs = {alias["name"]: alias["doc"] for alias in described["aliases"]}
        self._alias_headers = {alias["name"]: header_of(alias) for alias in described["aliases"]}
        self.enums = [self._enum(enum) for enum in described["enums"]]
        names = {struct["name"] for struct in described["structs"]}
        self._handle_names = {handle["name"] for handle in self.handles}
        self._callback_names = {callback["name"] for callback in self.callbacks}
        functions = {function["name"] for function in self.functions}
        structs = {struct["name"]: self._struct(struct, names, functions) for struct in described["structs"]}
        self.structs = []
        for name in structs:
            self._append(structs, name)
        self._name_values_in_full()

    def part(self, header):
        """The interface of one of HEADERS, for the file that has its declarations."""
        part = copy.copy(self)
        for name in ("constants", "handles", "callbacks", "functions"):
            setattr(part, name, [entry for entry in getattr(self, name) if header_of(entry) == header])
        for name in ("enums", "structs"):
            setattr(part, name, [entry for entry in getattr(self, name) if entry.header == header])
        part.aliases = {name: kind for name, kind in self.aliases.items() if self._alias_headers[name] == header}
        return part

    def parts(self):
        """The interface of each header that declares something, by header."""
        return {header: self.part(header) for header in HEADERS}

    def _append(self, structs, name):
        if structs[name] in self.structs:
            return
        for field in structs[name].fields:
            inner = field.element or field.type
            if inner in structs and inner != name:
                self._append(structs, inner)
        self.structs.append(structs[name])

    def _name_values_in_full(self):
        """Comments name values without a prefix, as COSINE. With their whole names, generators can translate them."""
        for enum in self.enums:
            enum.doc = self._in_full(enum.doc, {enum.name})
            for value in enum.values:
                value.doc = self._in_full(value.doc, {enum.name}, value)
        for struct in self.structs:
            enums = {field.enum for field in struct.fields}
            struct.doc = self._in_full(struct.doc, enums)
            for field in struct.fields:
                field.doc = self._in_full(field.doc, {field.enum} if field.enum else enums)

    def _in_full(self, doc, subjects, but=None):
        """Replaces names of values, except that of `but`. A name of several enums is that of one of `subjects`."""
        named = {}
        for enum in self.enums:
            for value in enum.values if enum.name not in THINGS else ():
                named.setdefault(value.name.removeprefix("ERROR_"), []).append((enum.name in subjects, value))
        wholes = {}
        for word in re.findall(NAME_OF_VALUE, doc):
            values = [value for is_subject, value in named.get(word, ()) if is_subject or len(named[word]) == 1]
            if word in named and len(values) != 1:
                return doc
            if values and values[0] is not but:
                wholes[word] = values[0].c_name
        return re.sub(NAME_OF_VALUE, lambda match: wholes.get(match[0], match[0]), doc)

    @staticmethod
    def _enum(enum):
        names = [value["name"] for value in enum["values"]]
        prefix = next(prefix for prefix in sorted(ENUMS, key=len, reverse=True) if all(n.startswith(prefix) for n in names))
        values = [Value(identifier(value["name"].removeprefix(prefix)), value["name"], value["value"], value["doc"])
                  for value in enum["values"]]
        return Enum(ENUMS[prefix], header_of(enum), enum["doc"], values)

    def _struct(self, struct, names, functions):
        init = struct["name"] + "_init"
        lengths = {length for (owner, _), length in ARRAYS.items() if owner == struct["name"]}
        here = {field["name"] for field in struct["fields"]}
        lengths |= {length for name, length in PARTS.items() if name in here and length in here}
        fields = [self._field(struct["name"], field, lengths, names) for field in struct["fields"]]
        is_input = struct["name"].endswith("_options") or struct["name"] in FILLED_BY_CALLER
        return Struct(struct["name"], header_of(struct), struct["doc"], struct["size"], is_input, init if init in functions else "",
                      struct["name"] in WITH_STATUS, fields)

    def _field(self, struct, described, lengths, structs):
        name, kind, doc = described["name"], described["type"], described["doc"]
        field = Field(name, kind, "", doc, described["offset"], described["size"], described.get("count", 0))
        pointed = re.fullmatch(r"(?:const )?(\w+) \*", kind)
        if name == "struct_size":
            field.kind = "size"
        elif name in ("reserved", "reserved2"):
            field.kind = "reserved"
        elif name in lengths:
            field.kind = "length"
        elif kind == "char":
            field.kind = "buffer"
        elif kind == "const char *":
            field.kind = "text"
        elif field.count:
            field.kind, field.element = ("part" if PARTS.get(name) in lengths else "numbers"), kind
            field.length = PARTS[name] if field.kind == "part" else ""
        elif (struct, name) in ARRAYS:
            field.kind, field.element, field.length = "array", pointed[1], ARRAYS[struct, name]
        elif kind in self._callback_names:
            field.kind = "function"
        elif kind in self._handle_names:
            field.kind = "handle"
        elif kind in structs:
            field.kind = "struct"
        elif pointed and pointed[1] in structs:
            field.kind, field.element = "optional", pointed[1]
        elif pointed:
            field.kind, field.element = "pointer", pointed[1]
        elif kind == "int32_t" and name in ENUM_FIELDS:
            field.kind, field.enum = "enum", ENUM_FIELDS[name]
        elif kind == "int32_t" and name in FLAGS:
            field.kind = "flag"
        elif self.aliases.get(kind, kind) in NUMBERS:
            field.kind = "number"
        else:
            raise SystemExit(f"{struct}.{name} has type '{kind}', which bindings/generator/interface.py cannot place")
        if name in UNSET.get(struct, ()):
            field.none = "TROIKA_UNSET"
        elif (struct, name) in ZERO_IS_NONE:
            field.none = "0"
        self._compare_with_doc(struct, field)
        return field

    @staticmethod
    def _compare_with_doc(struct, field):
        """A comment such as "1: the order ..." is that of a flag, and one with TROIKA_LOSS_... that of an enum."""
        says_flag = re.search(r"(?:^|[:.] )1(?: \(default\))?: |^1 while |: 1 leaves ", field.doc) is not None
        named = re.search(r"\b(TROIKA_[A-Z0-9_]+?_)[A-Z0-9]+\b", field.doc)
        if field.type != "int32_t" or field.kind in ("reserved", "length"):
            return
        if field.kind == "number" and (says_flag or (named and named[1] in ENUMS and named[1] != "TROIKA_")):
            raise SystemExit(f"{struct}.{field.name} is described as a flag or as one of a list ({field.doc!r}); "
                             "name it in FLAGS or ENUM_FIELDS of bindings/generator/interface.py")


def header_of(described):
    """The header of an entry of interface.json, without its ending."""
    header = described["header"].removesuffix(".h")
    if header not in HEADERS:
        raise SystemExit(f"the header {header}.h is not in HEADERS of bindings/generator/interface.py")
    return header


def identifier(name):
    """No language has names that begin with a digit."""
    return name.replace("1F1B", "ONE_F_ONE_B")


def camel(name):
    """troika_conv2d_options becomes Conv2dOptions."""
    return "".join(word[:1].upper() + word[1:] for word in name.removeprefix("troika_").split("_"))


def lower_camel(name):
    """learning_rate becomes learningRate."""
    name = camel(name)
    return name[:1].lower() + name[1:]


def paragraphs(doc, width, prefix="", first=None):
    """Wraps a comment. Each line begins with `prefix`, the first one with `first`."""
    lines = []
    for paragraph in doc.split("\n"):
        initial = prefix if lines or first is None else first
        hanging = prefix + ("  " if paragraph.startswith("- ") else "")
        lines += textwrap.wrap(paragraph, width, initial_indent=initial, subsequent_indent=hanging,
                               break_long_words=False, break_on_hyphens=False) or [prefix.rstrip()]
    return lines
