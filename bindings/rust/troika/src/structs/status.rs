// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Statuses.
    Status else Other {
        /// Success.
        Ok = TROIKA_OK,
        /// The loader has returned every batch of this epoch.
        EndOfData = TROIKA_END_OF_DATA,
        /// The step changed no parameter on any device; it is counted nevertheless.
        StepSkipped = TROIKA_STEP_SKIPPED,
        /// A stop was requested, or a callback returned non-zero.
        Stopped = TROIKA_STOPPED,
        /// NULL, an unknown value, a wrong shape, dtype, name or size.
        InvalidArgument = TROIKA_ERROR_INVALID_ARGUMENT,
        /// Host or device memory ran out; nothing was changed.
        OutOfMemory = TROIKA_ERROR_OUT_OF_MEMORY,
        /// No such name, file or device.
        NotFound = TROIKA_ERROR_NOT_FOUND,
        /// The library cannot do this; the message says what it can.
        Unsupported = TROIKA_ERROR_UNSUPPORTED,
        /// Another call on the same object is in progress.
        Busy = TROIKA_ERROR_BUSY,
        /// The operating system refused a read or a write.
        Io = TROIKA_ERROR_IO,
        /// A file does not hold what its format demands.
        Corrupt = TROIKA_ERROR_CORRUPT,
        /// A parameter has no value yet.
        NotInitialized = TROIKA_ERROR_NOT_INITIALIZED,
        /// The object is not stored on that device.
        NotOnDevice = TROIKA_ERROR_NOT_ON_DEVICE,
        /// Names or shapes in a file differ from the model's.
        Mismatch = TROIKA_ERROR_MISMATCH,
        /// The device exists in no usable form; the message says why.
        DeviceUnavailable = TROIKA_ERROR_DEVICE_UNAVAILABLE,
        /// Communication between devices failed or missed its deadline.
        Comm = TROIKA_ERROR_COMM,
        /// The trainer no longer owns its model's parameters.
        Detached = TROIKA_ERROR_DETACHED,
        /// A defect of the library. Please report it with the message.
        Internal = TROIKA_ERROR_INTERNAL,
        /// A callback of the host failed; the message is the host's own, if it left one.
        Callback = TROIKA_ERROR_CALLBACK,
    }
}
