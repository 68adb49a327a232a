"""Files: what a weights file or a training state holds."""

from troika._call import encode, text_of
from troika._library import lib


def inspect_file(path):
    """The metadata and tensors of a safetensors file as text, one line each.

    Raises Corrupt, InvalidArgument, IoError or NotFound. In C: troika_file_inspect.
    """
    return text_of(lib.troika_file_inspect, encode(path, "path"))


def newest_file(path):
    """The newest file that Trainer.save(path, keep=K) left.

    Raises InvalidArgument, IoError or NotFound. In C: troika_file_newest.
    """
    return text_of(lib.troika_file_newest, encode(path, "path"))
