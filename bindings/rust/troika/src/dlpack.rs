//! Tensors that travel between libraries in one process, as DLPack describes them.
//!
//! A [`Tensor`](crate::Tensor) becomes a managed tensor and back without a copy, and without any
//! unsafe code. The struct inside is for other libraries, which reach it by its address.

use std::os::raw::c_void;
use std::ptr::NonNull;

/// A kind of device and its number: 1 is a CPU, 2 is CUDA.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDevice {
    /// The kind.
    pub device_type: i32,
    /// From 0.
    pub device_id: i32,
}

/// A type of elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDataType {
    /// 0: integers, 1: integers without a sign, 2: floating point, 4: bfloat16.
    pub code: u8,
    /// The bits of an element.
    pub bits: u8,
    /// 1 for a scalar.
    pub lanes: u16,
}

/// An array in memory.
#[repr(C)]
#[derive(Debug)]
pub struct DlTensor {
    /// The memory.
    pub data: *mut c_void,
    /// Its device.
    pub device: DlDevice,
    /// The number of dimensions.
    pub ndim: i32,
    /// The type of elements.
    pub dtype: DlDataType,
    /// `ndim` sizes.
    pub shape: *mut i64,
    /// `ndim` strides in elements; NULL: row-major.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// An array with its owner, in the layout of DLPack 0.8.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensor {
    /// The array.
    pub dl_tensor: DlTensor,
    /// The owner's.
    pub manager_ctx: *mut c_void,
    /// Called once when nobody needs the memory any more.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// The version of a struct.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlPackVersion {
    /// Structs of another major version cannot be read.
    pub major: u32,
    /// Structs of another minor version can be read.
    pub minor: u32,
}

/// An array with its owner, in the layout of DLPack 1.0.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensorVersioned {
    /// The version of this struct.
    pub version: DlPackVersion,
    /// The owner's.
    pub manager_ctx: *mut c_void,
    /// Called once when nobody needs the memory any more.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensorVersioned)>,
    /// Bit 0: the memory must not be written.
    pub flags: u64,
    /// The array.
    pub dl_tensor: DlTensor,
}

macro_rules! managed {
    ($(#[$doc:meta])* $name:ident, $raw:ident) => {
        $(#[$doc])*
        ///
        /// It has the memory alone, so it may be sent to another thread. Drop calls the deleter.
        #[derive(Debug)]
        pub struct $name(NonNull<$raw>);

        // Safety: DLPack lets any thread call the deleter.
        unsafe impl Send for $name {}

        impl $name {
            /// Takes a struct of another library.
            ///
            /// # Safety
            /// `raw` is valid, and its deleter has not been called. Nothing else writes the memory
            /// from now on, nor reads it while a tensor of it is written. Memory of a GPU is ready
            /// for any stream.
            pub unsafe fn from_raw(raw: *mut $raw) -> Self {
                Self(NonNull::new(raw).expect("a managed tensor is not NULL"))
            }

            /// Passes the struct on. Whoever takes it calls its deleter once.
            pub fn into_raw(self) -> *mut $raw {
                std::mem::ManuallyDrop::new(self).0.as_ptr()
            }

            /// The address of the struct, which this value still owns.
            pub fn as_ptr(&self) -> *mut $raw {
                self.0.as_ptr()
            }

            /// The shape of the array.
            pub fn dims(&self) -> &[i64] {
                // Safety: the struct is valid, and has `ndim` sizes.
                let array = unsafe { &self.0.as_ref().dl_tensor };
                if array.ndim <= 0 {
                    return &[];
                }
                unsafe { std::slice::from_raw_parts(array.shape, array.ndim as usize) }
            }

            /// The type of elements.
            pub fn dtype(&self) -> DlDataType {
                unsafe { self.0.as_ref() }.dl_tensor.dtype
            }

            /// The device that has the memory.
            pub fn device(&self) -> DlDevice {
                unsafe { self.0.as_ref() }.dl_tensor.device
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(deleter) = unsafe { self.0.as_ref() }.deleter {
                    unsafe { deleter(self.0.as_ptr()) }
                }
            }
        }
    };
}

managed! {
    /// A tensor in the layout of DLPack 0.8.
    ManagedTensor, DlManagedTensor
}

managed! {
    /// A tensor in the layout of DLPack 1.0.
    ManagedTensorVersioned, DlManagedTensorVersioned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Dtype, Result, Tensor};
    use std::ptr;

    /// An array of this test, as another library would have it.
    struct Producer {
        managed: DlManagedTensor,
        data: [f32; 6],
        shape: [i64; 2],
        deleted: std::sync::mpsc::Sender<()>,
    }

    unsafe extern "C" fn delete(managed: *mut DlManagedTensor) {
        let producer = unsafe { Box::from_raw((*managed).manager_ctx.cast::<Producer>()) };
        producer.deleted.send(()).unwrap();
    }

    #[test]
    fn memory_of_another_library_is_borrowed() -> Result<()> {
        let (deleted, is_deleted) = std::sync::mpsc::channel();
        let managed = DlManagedTensor {
            dl_tensor: DlTensor {
                data: ptr::null_mut(),
                device: DlDevice { device_type: 1, device_id: 0 },
                ndim: 2,
                dtype: DlDataType { code: 2, bits: 32, lanes: 1 },
                shape: ptr::null_mut(),
                strides: ptr::null_mut(),
                byte_offset: 0,
            },
            manager_ctx: ptr::null_mut(),
            deleter: Some(delete),
        };
        let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let producer = Box::into_raw(Box::new(Producer { managed, data, shape: [2, 3], deleted }));
        let managed = unsafe {
            (*producer).managed.dl_tensor.data = (*producer).data.as_mut_ptr().cast();
            (*producer).managed.dl_tensor.shape = (*producer).shape.as_mut_ptr();
            (*producer).managed.manager_ctx = producer.cast();
            ManagedTensor::from_raw(&mut (*producer).managed)
        };
        assert_eq!(managed.dims(), [2, 3]);

        let context = Context::new(&Default::default())?;
        let tensor = Tensor::from_dlpack(&context, managed)?;
        assert_eq!(tensor.describe()?.dtype, Dtype::F32);
        assert_eq!(tensor.to_vec::<f32>()?, data);
        assert!(is_deleted.try_recv().is_err());
        drop(tensor);
        assert!(is_deleted.try_recv().is_ok());

        // Whoever takes the struct calls its deleter.
        let raw =
            Tensor::new(&context, crate::Device::cpu(0), &[1], &[1_u8])?.to_dlpack()?.into_raw();
        drop(unsafe { ManagedTensor::from_raw(raw) });
        Ok(())
    }
}
