//! Types of elements.

use crate::Dtype;

/// A type of Rust that a tensor or a dataset can hold: `f32`, `f64`, `i32`, `i64` and `u8`.
pub trait Element: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The library's name of the type.
    const DTYPE: Dtype;
}

mod sealed {
    /// Any bytes are a value of the type, so the library may write it.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty: $dtype:ident,)*) => {
        $(
            impl sealed::Sealed for $element {}
            impl Element for $element {
                const DTYPE: Dtype = Dtype::$dtype;
            }
        )*
    };
}

elements! {
    f32: F32,
    f64: F64,
    i32: I32,
    i64: I64,
    u8: U8,
}

impl Dtype {
    /// The bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::Bf16 | Self::F16 | Self::I16 => 2,
            Self::U8 | Self::I8 | Self::Bool | Self::F8E4M3 | Self::F8E5M2 => 1,
        }
    }
}
