// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Element types.
    Dtype {
        /// IEEE 754 single precision.
        F32 = TROIKA_DTYPE_F32,
        /// IEEE 754 double precision.
        F64 = TROIKA_DTYPE_F64,
        /// Signed 32-bit integer.
        I32 = TROIKA_DTYPE_I32,
        /// Signed 64-bit integer.
        I64 = TROIKA_DTYPE_I64,
        /// Unsigned 8-bit integer.
        U8 = TROIKA_DTYPE_U8,
        /// bfloat16: 8 bits of exponent, 7 of fraction.
        Bf16 = TROIKA_DTYPE_BF16,
        /// IEEE 754 half precision.
        F16 = TROIKA_DTYPE_F16,
        /// Signed 8-bit integer.
        I8 = TROIKA_DTYPE_I8,
        /// Signed 16-bit integer.
        I16 = TROIKA_DTYPE_I16,
        /// One byte, 0 or 1.
        Bool = TROIKA_DTYPE_BOOL,
        /// 8 bits: 4 of exponent, 3 of fraction, no infinity.
        F8E4M3 = TROIKA_DTYPE_F8_E4M3,
        /// 8 bits: 5 of exponent, 2 of fraction.
        F8E5M2 = TROIKA_DTYPE_F8_E5M2,
    }
}

/// Description of a tensor. Filled by [`Tensor::describe`](crate::Tensor::describe).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// [`Dtype::F32`](crate::Dtype::F32) and so on.
    pub dtype: Dtype,
    /// The device that stores it.
    pub device: Device,
    /// Sizes; 0 beyond rank.
    pub dims: Vec<i64>,
    /// Bytes of all elements.
    pub size_bytes: i64,
}

impl Struct for TensorInfo {
    type Raw = sys::troika_tensor_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_tensor_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            dtype: Dtype::from_raw(raw.dtype)?,
            device: unsafe { Device::from_raw(&raw.device) }?,
            dims: part(&raw.dims, raw.rank).to_vec(),
            size_bytes: raw.size_bytes,
        })
    }
}
