//! Devices.

use crate::call::{call, describe, text, value};
use crate::convert::{c_text, count, index, zeroed, Number, Struct};
use crate::{Context, DeviceInfo, DeviceKind, Error, Result};
use std::fmt;
use std::ptr;
use std::str::FromStr;
use troika_sys as sys;

/// A device: a value that names a CPU slice or a GPU. Its text form is "cpu:1" or "cuda:0".
///
/// A device need not exist: the call that uses it finds out. Any thread may use it at any time.
///
/// ```
/// use troika::Device;
///
/// let device: Device = "cpu:1".parse()?;
/// assert_eq!(device, Device::cpu(1));
/// # Ok::<(), troika::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// CPU or GPU.
    pub kind: DeviceKind,
    /// From 0.
    pub index: i32,
}

impl Device {
    /// A logical CPU device. CPU devices that are attached together share the context's cores.
    pub const fn cpu(index: i32) -> Self {
        Self { kind: DeviceKind::Cpu, index }
    }

    /// An NVIDIA GPU.
    pub const fn cuda(index: i32) -> Self {
        Self { kind: DeviceKind::Cuda, index }
    }

    pub(crate) fn raw(self) -> sys::troika_device {
        sys::troika_device { kind: self.kind.raw(), index: self.index }
    }

    pub(crate) fn raw_list(devices: &[Self]) -> Result<(Vec<sys::troika_device>, i32)> {
        let number = count(devices.len(), "devices")?;
        Ok((devices.iter().map(|device| device.raw()).collect(), number))
    }

    /// Reads a list that a call writes. `call` gets the room for it, and returns the devices found.
    pub(crate) fn read_list(
        mut call: impl FnMut(*mut sys::troika_device, i32) -> Result<i32>,
    ) -> Result<Vec<Self>> {
        let found = index(call(ptr::null_mut(), 0)?);
        let mut raw = vec![zeroed::<sys::troika_device>(); found];
        let found = index(call(raw.as_mut_ptr(), count(found, "devices")?)?);
        raw.truncate(found);
        raw.iter().map(|raw| unsafe { Self::from_raw(raw) }).collect()
    }

    /// Returns the number of usable devices of a kind: "cpu:0" to "cpu:N-1". It is 0 for a kind
    /// that this machine cannot use; [`Device::describe`] says why.
    pub fn count(context: &Context, kind: DeviceKind) -> Result<usize> {
        let raw = context.raw();
        let number = value(0, |out, error| unsafe {
            sys::troika_device_count(raw, kind.raw(), out, error)
        })?;
        Ok(index(number))
    }

    /// Describes the device: processor, memory and free memory.
    ///
    /// # Errors
    /// [`DeviceUnavailable`](crate::Status::DeviceUnavailable) with the reason.
    pub fn describe(self, context: &Context) -> Result<DeviceInfo> {
        let raw = context.raw();
        describe(|out, error| unsafe { sys::troika_device_describe(raw, self.raw(), out, error) })
    }

    /// Waits until all operations on tensors of the device that were called before have ended.
    ///
    /// # Errors
    /// [`DeviceUnavailable`](crate::Status::DeviceUnavailable), and the error of an operation that
    /// failed on a GPU.
    pub fn synchronize(self, context: &Context) -> Result<()> {
        let raw = context.raw();
        call(|error| unsafe { sys::troika_device_synchronize(raw, self.raw(), error) }).map(drop)
    }

    /// Returns "cuda:index" if that GPU is usable, else "cpu:0".
    pub fn try_gpu(context: &Context, index: i32) -> Result<Self> {
        let raw = context.raw();
        let device = value(zeroed(), |out, error| unsafe {
            sys::troika_device_try(raw, index, out, error)
        })?;
        unsafe { Self::from_raw(&device) }
    }

    /// Returns every usable GPU, or "cpu:0" alone if there is none.
    pub fn all(context: &Context) -> Result<Vec<Self>> {
        let raw = context.raw();
        Self::read_list(|devices, capacity| {
            value(0, |out, error| unsafe {
                sys::troika_devices_all(raw, devices, capacity, out, error)
            })
        })
    }
}

impl Struct for Device {
    type Raw = sys::troika_device;

    fn init() -> Self::Raw {
        zeroed()
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self { kind: DeviceKind::from_raw(raw.kind)?, index: raw.index })
    }
}

impl FromStr for Device {
    type Err = Error;

    /// Reads "cpu", "cpu:1" or "cuda:0".
    fn from_str(name: &str) -> Result<Self> {
        let name = c_text(name, "device")?;
        let mut raw = zeroed();
        call(|error| unsafe { sys::troika_device_parse(name.as_ptr(), &mut raw, error) })?;
        unsafe { Self::from_raw(&raw) }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = text(|buffer, capacity, size, error| unsafe {
            sys::troika_device_format(self.raw(), buffer, capacity, size, error)
        });
        f.pad(&name.map_err(|_| fmt::Error)?)
    }
}
