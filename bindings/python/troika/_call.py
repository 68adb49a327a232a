"""Calls of the library: errors, structs from keyword arguments, results as named tuples, texts, and handles."""

import collections.abc
import ctypes
import difflib
import operator
import os
import re
import reprlib
import weakref

from troika import _interface
from troika._library import lib
from troika.errors import Error, error_of

STATUSES = {int(status): status for status in _interface.Status}

# Error structs that no call uses now, with references: to make them takes longer than most calls.
_ERRORS: list = []

# By kind of struct: the bytes of the library's defaults, and the named tuple, with a function that
# returns the fields and a list of those that have another form in Python.
_DEFAULTS: dict = {}
_READERS: dict = {}

# The types of texts and paths.
TEXTS = (str, bytes, os.PathLike)
# The names of C's types in errors.
_NEEDS = {ctypes.c_double: "a number", ctypes.c_float: "a number", ctypes.c_int32: "a whole number",
          ctypes.c_int64: "a whole number", ctypes.c_uint64: "a whole number", ctypes.c_char_p: "a text"}


def found(value):
    """How an error names a value: an object of the library by its class, others as Python does."""
    if isinstance(value, Handle):
        return f"a {type(value).__name__}"
    if isinstance(value, ctypes.c_void_p):
        return f"a {_class_name(type(value))}"
    return " ".join(reprlib.repr(value).split())


def _class_name(kind):
    """The class of Python for a kind of C handle."""
    return kind.__name__.removeprefix("troika_").capitalize()


def misuse(what, value, need):
    """The error of an argument of another type than a call needs."""
    return TypeError(f"{what} is {found(value)}, need {need}")


def _misuse_of(function, arguments, error):
    """The error of an argument that ctypes refused. Its text has the number of the argument, from 1 on."""
    number = int(re.search(r"argument (\d+)", str(error))[1])
    kind, value = function.argtypes[number - 1], arguments[number - 1]
    if issubclass(kind, ctypes.c_void_p) and kind is not ctypes.c_void_p:
        name = _class_name(kind)
        return misuse(f"{function.__name__}: {name.lower()}", value, f"a {name}")
    return misuse(f"{function.__name__}: argument {number}", value, _NEEDS.get(kind, kind.__name__))


def call(function, *arguments):
    """Calls a function whose last parameter is the error struct. Returns a status of at least 0, or raises Error."""
    try:
        error, reference = _ERRORS.pop()
    except IndexError:
        error = _interface.troika_error()
        reference = ctypes.byref(error)
    try:
        status = function(*arguments, reference)
    except ctypes.ArgumentError as refused:
        raise _misuse_of(function, arguments, refused) from None
    if status < 0:
        raise error_of(status, error.message.decode("utf-8", "replace"))
    _ERRORS.append((error, reference))
    return status


def handle_of(value, kind, what):
    """The C handle of an object, which is of type `kind`. The error calls the argument `what`."""
    handle = getattr(value, "handle", None)
    if not isinstance(handle, kind):
        raise misuse(what, value, f"a {_class_name(kind)}")
    return handle


def context_of(context):
    """The C handle of a context."""
    return handle_of(context, _interface.troika_context, "context")


def tensor_of(tensor, what):
    """The C handle of a tensor. The error calls the argument `what`."""
    return handle_of(tensor, _interface.troika_tensor, what)


def callable_of(function, what, need="a function"):
    """A function that the host passes. The error calls the argument `what`."""
    if not callable(function):
        raise misuse(what, function, need)
    return function


def encode(value, what="a text"):
    """A text, or a path, as C has it."""
    if not isinstance(value, TEXTS):
        raise misuse(what, value, "a str, bytes or os.PathLike")
    encoded = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"{what} is {value!r}, which has a NUL; need a text without")
    return encoded


def text_of(function, *arguments):
    """The text of a function that takes buffer, capacity and out_size. A text that grows in between is asked for again."""
    size, capacity = ctypes.c_int64(0), 4096
    while True:
        buffer = ctypes.create_string_buffer(capacity)
        call(function, *arguments, buffer, capacity, ctypes.byref(size))
        if size.value <= capacity:
            return buffer.value.decode("utf-8", "replace")
        capacity = size.value


def enum_of(kind, value, what):
    """A member of an enum from a member, its name in any case, or its number."""
    if isinstance(value, str):
        try:
            return kind[value.upper()]
        except KeyError:
            names = ", ".join(member.name.lower() for member in kind)
            raise ValueError(f"{what} is '{value}'; need one of {names}") from None
    return value


def member(kind, value):
    """A member of an enum, or the number itself if a newer library knows more members."""
    try:
        return kind(value)
    except ValueError:
        return value


def default_of(kind):
    """A struct with the library's defaults."""
    if kind not in _DEFAULTS:
        struct = kind()
        init = getattr(lib, kind.__name__ + "_init", None)
        if init:
            init(ctypes.byref(struct), ctypes.sizeof(kind))
        _DEFAULTS[kind] = bytes(struct)
    return kind.from_buffer_copy(_DEFAULTS[kind])


def fill(struct, options, caller, keep=None):
    """Sets the fields that `options` has: field name to value; None leaves the default. Returns the struct.

    `keep` collects objects that must live as long as the struct: C sees only their addresses.
    """
    meanings = _interface.MEANINGS[type(struct)]
    keep = [] if keep is None else keep
    for name, value in options.items():
        if name not in meanings:
            near = difflib.get_close_matches(name, meanings, 1)
            raise TypeError(f"{caller} has no option '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        if value is not None:
            try:
                _set(struct, name, *meanings[name], value, keep)
            except (TypeError, ctypes.ArgumentError) as error:
                raise TypeError(f"{caller}: option '{name}' is {value!r}: {error}") from None
    struct._keep = keep
    return struct


def _set(struct, name, kind, detail, value, keep):
    if kind == "text":
        if not isinstance(value, TEXTS):
            raise TypeError("need a text")
        keep.append(encode(value, name))
        setattr(struct, name, keep[-1])
    elif kind == "enum":
        setattr(struct, name, enum_of(detail, value, name))
    elif kind == "flag":
        setattr(struct, name, 1 if value else 0)
    elif kind == "numbers":
        values = (value,) * detail if isinstance(value, int) else tuple(value)
        if len(values) != detail:
            raise TypeError(f"need {detail} numbers, or one for all")
        setattr(struct, name, type(getattr(struct, name))(*values))
    elif kind == "array":
        if isinstance(value, collections.abc.Mapping) or not isinstance(value, collections.abc.Iterable):
            raise TypeError("need a list")
        element, length = detail
        elements = [fill(default_of(element), item, name, keep) if isinstance(item, dict) else item for item in value]
        array = (element * len(elements))(*elements)
        keep += [array, elements]
        setattr(struct, name, array)
        setattr(struct, length, len(elements))
    elif kind == "struct":
        inner = getattr(struct, name)
        values = value if isinstance(value, dict) else dict(zip(_interface.MEANINGS[detail], value))
        fill(inner, values, name, keep)
        setattr(struct, name, inner)
    elif kind == "optional":
        inner = fill(default_of(detail), value, name, keep)
        keep.append(inner)
        setattr(struct, name, ctypes.pointer(inner))
    elif kind == "handle":
        if not isinstance(value, Handle):
            raise TypeError("need a Group")
        keep.append(value)
        setattr(struct, name, value.handle)
    else:
        setattr(struct, name, value)


def _reader_of(kind):
    meanings = _interface.MEANINGS[kind]
    converted = [(index, *meaning) for index, meaning in enumerate(meanings.values()) if meaning[0] != "number"]
    return _interface.RESULTS[kind], operator.attrgetter(*meanings), converted


def result_of(struct, **more):
    """The named tuple of a struct that the library filled."""
    kind = type(struct)
    if kind not in _READERS:
        _READERS[kind] = _reader_of(kind)
    result, get, converted = _READERS[kind]
    values = get(struct)
    if converted:
        values = list(values)
        for index, kind, detail in converted:
            values[index] = _convert(values[index], struct, kind, detail)
    return result(*values, **more)


def _convert(value, struct, kind, detail):
    if kind == "buffer":
        return value.decode("utf-8", "replace")
    if kind == "enum":
        return member(detail, value)
    if kind == "flag":
        return bool(value)
    if kind == "part":
        return tuple(value[:getattr(struct, detail)])
    if kind == "numbers":
        return tuple(value)
    if kind == "struct":
        from troika.device import Device  # pylint: disable=import-outside-toplevel,cyclic-import
        return Device.of_struct(value) if detail is _interface.troika_device else result_of(value)
    raise AssertionError(kind)


def options_of(struct):
    """The fields of a struct of options that the library filled, by name, as `fill` takes them."""
    meanings = _interface.MEANINGS[type(struct)]
    return {name: _option(getattr(struct, name), struct, *meaning) for name, meaning in meanings.items()}


def _option(value, struct, kind, detail):
    if kind == "text":
        return None if value is None else value.decode("utf-8", "replace")
    if kind == "array":
        element, length = detail
        count = getattr(struct, length)
        if count == 0 or not issubclass(element, ctypes.Structure):
            return value[:count] if count else []
        # A later version of the library may have longer elements, which begin with their size.
        first, size = ctypes.addressof(value.contents), value.contents.struct_size
        return [options_of(element.from_address(first + i * size)) for i in range(count)]
    return value if kind == "number" else None if kind == "handle" else _convert(value, struct, kind, detail)


def describe(function, kind, *arguments):
    """Calls a function that fills a struct of type `kind`, and returns the named tuple."""
    struct = default_of(kind)
    call(function, *arguments, ctypes.byref(struct))
    return result_of(struct)


class Handle:
    """An object of the library. close(), the end of `with`, or Python's collector closes it."""

    _destroy = None
    _finalizer = None  # of a handle that belongs to another object

    def __init__(self, handle):
        self._handle = handle
        # The finalizer holds the C handle and not this object. At exit the library frees all.
        self._finalizer = weakref.finalize(self, self._destroy, handle)
        self._finalizer.atexit = False

    @property
    def handle(self):
        """The C handle, for calls of the C interface (troika.lib). Valid until close()."""
        if self._handle is None:
            raise ValueError(f"the {type(self).__name__.lower()} is closed")
        return self._handle

    @property
    def closed(self):
        """Whether close() was called."""
        return self._handle is None

    def close(self):
        """Ends the object now. Others that use it keep it alive inside the library."""
        self._handle = None
        if self._finalizer is not None:
            self._finalizer()

    def _summary(self):
        """A few words for repr()."""
        return "open"

    def __repr__(self):
        try:
            text = "closed" if self.closed else self._summary()
        except Error as error:  # the object is busy, or a batch that has ended
            text = type(error).__name__
        return f"{type(self).__name__}({text})"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
