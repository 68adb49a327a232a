// Written by bindings/generate.py from the C headers; do not edit.
//! Raw declarations of the C interface of Troika.
//!
//! Names, types and rules are those of C. The crate `troika` is the safe layer on top of them.
//! Each module has the declarations of one header.

#![allow(non_camel_case_types)]

mod context;
mod data;
mod describe;
mod device;
mod export;
mod file;
mod gradients;
mod group;
mod layers;
mod model;
mod operations;
mod pending;
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
pub use export::*;
pub use file::*;
pub use gradients::*;
pub use group::*;
pub use layers::*;
pub use model::*;
pub use operations::*;
pub use pending::*;
pub use pieces::*;
pub use plan::*;
pub use scores::*;
pub use status::*;
pub use tensor::*;
pub use trainer::*;
pub use trainer_options::*;
