// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Kinds of device.
    DeviceKind {
        /// A logical CPU device. CPU devices that are attached together share the context's cores.
        Cpu = TROIKA_DEVICE_CPU,
        /// An NVIDIA GPU.
        Cuda = TROIKA_DEVICE_CUDA,
    }
}

/// Description of a device. Filled by [`Device::describe`](crate::Device::describe).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// CPU: cores that the process may use; GPU: multiprocessors.
    pub cores: i32,
    /// Total memory.
    pub memory_bytes: i64,
    /// Memory that is free now.
    pub free_bytes: i64,
    /// Name of the processor, UTF-8.
    pub name: String,
}

impl Struct for DeviceInfo {
    type Raw = sys::troika_device_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_device_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            cores: raw.cores,
            memory_bytes: raw.memory_bytes,
            free_bytes: raw.free_bytes,
            name: text_of(&raw.name),
        })
    }
}
