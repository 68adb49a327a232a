// Written by bindings/generate.py from the C headers; do not edit.
//! Enums, options and results, as the C headers describe them.
//!
//! A field that is an `Option` has a default of the library when it is `None`.

mod context;
mod data;
mod describe;
mod device;
mod group;
mod layers;
mod model;
mod operations;
mod pieces;
mod plan;
mod scores;
mod status;
mod tensor;
mod trainer;
mod trainer_options;

pub use context::*;
pub use data::*;
pub use describe::*;
pub use device::*;
pub use group::*;
pub use layers::*;
pub use model::*;
pub use operations::*;
pub use pieces::*;
pub use plan::*;
pub use scores::*;
pub use status::*;
pub use tensor::*;
pub use trainer::*;
pub use trainer_options::*;
