"""Troika trains neural networks on several devices. The C interface is `troika.lib`; its headers are the reference.

    import troika

    context = troika.Context()
    data = troika.Dataset.synthetic(context, (1, 28, 28), n=1000, classes=10)
    trainer = troika.Model(context, "mlp").attach(["cpu:0", "cpu:1"], learning_rate=0.1)
    print(trainer.train_epoch(data.loader(batch=50, shuffle=True)).loss)
"""

from troika._interface import (MAX_RANK, UNSET, BatchInfo, Compression, ContextOptions, Conv1dOptions, Conv2dOptions,
                               DatasetInfo, DatasetOptions, DeviceInfo, DeviceKind, Dtype, ForwardOptions, GroupInfo, GroupOptions,
                               Initializer, LayerInfo, LayerSchedule, LoaderOptions, LoaderPosition, LoadOptions, LoadReport,
                               LogLevel, Loss, MemoryInfo, Mesh, Metrics, ModelInfo, ModelOptions, Optimizer, Option,
                               ParameterGroup, ParameterInfo, PlanOptions, PlanResult, Pool2dOptions, Precision, Progress,
                               Reduction, Relation, SaveOptions, Schedule, Scores, Status, StepResult, TensorInfo, TrainerInfo,
                               TrainerOptions, ValueInfo)
from troika._library import lib
from troika.classifier import Classifier
from troika.context import Context
from troika.data import Batch, Dataset, Loader, concat
from troika.device import Device
from troika.errors import (Busy, CallbackError, CommunicationError, Corrupt, Detached, DeviceUnavailable, Error, InternalError,
                           InvalidArgument, IoError, Mismatch, NotFound, NotInitialized, NotOnDevice, OutOfMemory, Unsupported)
from troika.file import inspect_file, newest_file
from troika.gradients import Gradients
from troika.group import Group
from troika.model import Model, zoo_names
from troika.scores import ClassScores, ScoreReport, compute_scores
from troika.tensor import Tensor, all_reduce
from troika.trainer import Pending, Trainer


def version():
    """The version of the library, as (major, minor, patch).

    In C: troika_version.
    """
    number = lib.troika_version()
    return number // 10000, number // 100 % 100, number % 100


def build_info():
    """Version, commit and compiler of the library, as text.

    In C: troika_build_info.
    """
    return lib.troika_build_info().decode()


def status_name(status):
    """The name of a status, such as "TROIKA_ERROR_BUSY".

    In C: troika_status_name.
    """
    return lib.troika_status_name(status).decode()


__version__ = ".".join(map(str, version()))
