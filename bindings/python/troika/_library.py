"""Finds and loads the shared library, and declares its functions."""

import ctypes
import ctypes.util
import os
import pathlib
import sys

from troika import _interface

_HERE = pathlib.Path(__file__).resolve().parent


def _candidates():
    """Yields the places of the library, the most special first."""
    named = os.environ.get("TROIKA_LIBRARY")
    if named:
        yield named
        return
    if sys.platform == "win32":
        yield str(_HERE / "lib" / "troika.dll")
        yield "troika.dll"
    else:
        yield str(_HERE / "lib" / "libtroika.so.1")
        yield "libtroika.so.1"


def _load():
    """Loads the library, or raises ImportError with all places that were tried."""
    tried = []
    for place in _candidates():
        if os.path.isabs(place) and not os.path.exists(place):
            tried.append(f"{place} (no such file)")
            continue
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            tried.append(f"{place} ({' '.join(str(error).split())})")
    raise ImportError("the library of troika is missing: tried " + ", ".join(tried) + "; TROIKA_LIBRARY may name it")


def _declare(loaded):
    """Sets the types of all functions, which raises ImportError if the library is older than the package."""
    major, minor = (int(part) for part in _interface.VERSION.split(".")[:2])
    version = loaded.troika_version()
    if version // 10000 != major or version // 100 % 100 < minor:
        found = f"{version // 10000}.{version // 100 % 100}.{version % 100}"
        raise ImportError(f"the library is troika {found}; this package needs {major}.{minor} or a later {major}.x")
    for name, (result, parameters) in _interface.FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = parameters
    return loaded


lib = _declare(_load())
