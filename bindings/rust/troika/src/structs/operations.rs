// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Relations of [`Tensor::compare`](crate::Tensor::compare).
    Relation {
        /// a == b
        Equal = TROIKA_RELATION_EQUAL,
        /// a != b; the only relation that holds with NaN
        NotEqual = TROIKA_RELATION_NOT_EQUAL,
        /// a \< b
        Less = TROIKA_RELATION_LESS,
        /// a \<= b
        LessOrEqual = TROIKA_RELATION_LESS_OR_EQUAL,
        /// a \> b
        Greater = TROIKA_RELATION_GREATER,
        /// a \>= b
        GreaterOrEqual = TROIKA_RELATION_GREATER_OR_EQUAL,
    }
}
