//! Trains neural networks on several devices: CPUs and GPUs.
//!
//! This crate is the safe form of the library's C interface. A function `troika_<noun>_<verb>` of C
//! is the method `<verb>` of the noun, and `create` is `new`:
//!
//! - [`Context`] has threads, seed and log. All else is made from one.
//! - [`Device`] names a CPU slice or a GPU; [`Tensor`] is memory on one, and computes.
//!   [`Gradients`] records what tensors compute, and computes gradients.
//! - [`Dataset`] has samples, from files, arrays or a closure; [`Loader`] makes batches of it;
//!   [`Batch`] is one.
//! - [`Model`] is a network on the host, [`Trainer`] is a model on devices, and [`Pending`] is a
//!   step that runs meanwhile.
//! - [`Group`] is the processes of a job.
//!
//! Options begin with the library's defaults: `LoaderOptions { batch: 64, ..Default::default() }`.
//! An object ends when it is dropped, in any order. A call on a dropped object does not compile:
//!
//! ```compile_fail,E0382
//! let context = troika::Context::new(&Default::default())?;
//! drop(context);
//! context.describe_backends()?;
//! # Ok::<(), troika::Error>(())
//! ```
//!
//! # Errors
//!
//! Every call that can fail returns a [`Result`], whose [`Error`] has a [`Status`] and one line of
//! text. A stop and a skipped step are no errors: results have a field `status`. Apart from the
//! errors that its comment names, any call may return:
//!
//! - [`InvalidArgument`](Status::InvalidArgument): a text with a NUL inside, a path that is not
//!   UTF-8, a list that is too long.
//! - [`OutOfMemory`](Status::OutOfMemory).
//! - [`Internal`](Status::Internal), which is a defect of the library.
//!
//! # Panics
//!
//! A panic in a closure of the host never crosses C. The call that ran the closure, or that waits
//! for its samples, resumes the panic. No call panics by itself.

#![deny(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_debug_implementations)]

mod arrays;
mod batch;
mod call;
mod context;
mod convert;
mod dataset;
mod device;
pub mod dlpack;
mod element;
mod error;
mod gradients;
mod group;
mod layers;
mod loader;
mod model;
mod operations;
mod panics;
mod pending;
mod scores;
mod source;
mod structs;
mod tensor;
mod trainer;

pub use arrays::{Array, Arrays};
pub use batch::Batch;
pub use context::Context;
pub use dataset::{Dataset, Targets};
pub use device::Device;
pub use element::Element;
pub use error::{Error, Result};
pub use gradients::Gradients;
pub use group::Group;
pub use loader::{Copies, Loader};
pub use model::{Model, Value};
pub use pending::Pending;
pub use scores::{ClassScores, ScoreReport};
pub use source::{ReadRequest, SourceError};
pub use structs::*;
pub use tensor::Tensor;
pub use trainer::{Predicted, StopHandle, Trainer};

use call::{static_text, text};
use convert::c_path;
use std::path::{Path, PathBuf};
use troika_sys as sys;

/// Returns the version of the library that is loaded: 10203 is 1.2.3.
pub fn version() -> i32 {
    // Safety: the function takes no arguments, and any thread may call it.
    unsafe { sys::troika_version() }
}

/// Returns one line that says how the library was built.
pub fn build_info() -> &'static str {
    // Safety: the text is static.
    unsafe { static_text(sys::troika_build_info()) }.unwrap_or_default()
}

/// Returns the names of the models for [`Model::new`].
pub fn zoo_names() -> impl Iterator<Item = &'static str> {
    // Safety: the text is static. After the last name it is NULL.
    (0..).map_while(|index| unsafe { static_text(sys::troika_zoo_name(index)) })
}

/// Returns the contents of a safetensors file as text: a line for each entry of its metadata, then
/// one for each tensor.
///
/// # Errors
/// [`NotFound`](Status::NotFound), [`Io`](Status::Io), [`Corrupt`](Status::Corrupt).
pub fn file_inspect(path: impl AsRef<Path>) -> Result<String> {
    let path = c_path(path.as_ref())?;
    text(|buffer, capacity, size, error| unsafe {
        sys::troika_file_inspect(path.as_ptr(), buffer, capacity, size, error)
    })
}

/// Returns the newest file that [`Trainer::save_with`] kept for `path`: the one with the largest
/// step.
///
/// # Errors
/// [`NotFound`](Status::NotFound), [`Io`](Status::Io).
pub fn file_newest(path: impl AsRef<Path>) -> Result<PathBuf> {
    let path = c_path(path.as_ref())?;
    let newest = text(|buffer, capacity, size, error| unsafe {
        sys::troika_file_newest(path.as_ptr(), buffer, capacity, size, error)
    })?;
    Ok(newest.into())
}
