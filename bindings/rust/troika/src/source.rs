//! Datasets that a closure of the host reads.

use crate::convert::elements_of;
use crate::panics::{self, Payload};
use crate::{Dtype, Error, Source, Status};
use std::collections::VecDeque;
use std::error::Error as StdError;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use troika_sys as sys;

/// Samples that a source is asked to write. Lists that it need not write are empty.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadRequest<'a> {
    /// Samples to write, at least 1.
    pub n: usize,
    /// The indices of these samples; empty for a stream.
    pub indices: &'a [i64],
    /// A stream: the loader's epoch. Otherwise 0.
    pub epoch: i64,
    /// A stream: samples of the epoch that come before these. 0 begins the epoch, also again. After
    /// [`Loader::seek`](crate::Loader::seek) it may be beyond the end. Otherwise 0.
    pub first: i64,
    /// To be written: \[n, dims...\], if samples are numbers.
    pub inputs: &'a mut [f32],
    /// To be written: \[n, dims...\], if samples are tokens.
    pub tokens: &'a mut [i32],
    /// To be written: \[n, label_size\].
    pub labels: &'a mut [i32],
    /// To be written: \[n, value_size\].
    pub values: &'a mut [f32],
}

/// Why a source does not write the samples that it is asked for. Any error becomes one by `?`.
#[derive(Debug)]
pub enum SourceError {
    /// Ends the call that waits for the samples with [`Status::Stopped`], which is no error.
    Stop,
    /// Makes the call that waits for the samples fail. Its [`Error`] has this one as its source.
    Failed(Box<dyn StdError + Send + Sync>),
}

impl SourceError {
    /// An error, or only the text of one.
    pub fn new(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(error.into())
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for SourceError {
    fn from(error: E) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// Why a closure failed.
enum Failure {
    Panic(Payload),
    Error(Box<dyn StdError + Send + Sync>),
}

/// The failures of a source that no call has returned yet. A loader reads ahead, so that the call
/// that returns a failure is another one than that in which the closure ran.
#[derive(Default)]
pub(crate) struct Failures(Mutex<VecDeque<(String, Failure)>>);

impl Failures {
    /// Loaders that are dropped never return the failure of their last batch.
    const KEPT: usize = 16;

    fn add(&self, message: String, failure: Failure) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((message, failure));
        if kept.len() > Self::KEPT {
            // To drop the payload of a panic may panic.
            std::mem::forget(kept.pop_front());
        }
    }

    fn take(&self, message: &str) -> Option<Failure> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(of_failure, _)| message.contains(of_failure))?;
        kept.remove(place).map(|(_, failure)| failure)
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failures")
    }
}

/// Adds the source's own error to that of a call, or resumes the panic of the source.
pub(crate) fn attribute(sources: &[Arc<Failures>], error: Error) -> Error {
    if error.status() != Status::Callback {
        return error;
    }
    match sources.iter().find_map(|source| source.take(error.message())) {
        Some(Failure::Panic(payload)) => resume_unwind(payload),
        Some(Failure::Error(source)) => error.with_source(source),
        None => error,
    }
}

/// A closure, and the lengths of the lists that it writes.
pub(crate) struct Reader<F> {
    read: F,
    sample: usize,
    label_size: usize,
    value_size: usize,
    are_tokens: bool,
    failures: Arc<Failures>,
}

impl<F> Reader<F>
where
    F: Fn(&mut ReadRequest<'_>) -> std::result::Result<usize, SourceError> + Send + Sync + 'static,
{
    pub(crate) fn new(source: &Source, read: F, failures: Arc<Failures>) -> Self {
        // The library refuses a source with a size that this crate cannot count.
        let size = |size| usize::try_from(size).unwrap_or(0);
        Self {
            read,
            sample: elements_of(&source.dims).unwrap_or(0),
            label_size: size(source.label_size),
            value_size: size(source.value_size),
            are_tokens: source.dtype == Dtype::I32,
            failures,
        }
    }

    /// The function for the library, whose `user` is a boxed reader.
    pub(crate) unsafe extern "C" fn call(
        request: *const sys::troika_read_request,
        error: *mut sys::troika_error,
        user: *mut c_void,
    ) -> i64 {
        // Safety: the library passes a request that is valid during the call, and the reader.
        let (request, error, reader) = unsafe { (&*request, &mut *error, &*user.cast::<Self>()) };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let read = (reader.read)(&mut unsafe { reader.request(request) });
            read.map_err(|error| match error {
                SourceError::Stop => None,
                SourceError::Failed(error) => Some((one_line(&error.to_string()), error)),
            })
        }));
        let (message, failure) = match outcome {
            Ok(Ok(n)) => return i64::try_from(n).unwrap_or(i64::MAX),
            Ok(Err(None)) => {
                error.status = sys::TROIKA_STOPPED;
                return -1;
            }
            Ok(Err(Some((message, error)))) => (message, Failure::Error(error)),
            Err(payload) => (one_line(panics::text_of(&payload)), Failure::Panic(payload)),
        };
        for (to, &byte) in error.message.iter_mut().zip(message.as_bytes()) {
            *to = byte as c_char;
        }
        error.message[message.len()] = 0;
        reader.failures.add(message, failure);
        -1
    }

    /// # Safety
    /// `request` is the library's, and its lists have the lengths of the source.
    unsafe fn request<'a>(&self, request: &'a sys::troika_read_request) -> ReadRequest<'a> {
        let n = usize::try_from(request.n).unwrap_or(0);
        let (inputs, tokens): (*mut f32, *mut i32) = if self.are_tokens {
            (std::ptr::null_mut(), request.inputs.cast())
        } else {
            (request.inputs.cast(), std::ptr::null_mut())
        };
        unsafe {
            ReadRequest {
                n,
                indices: slice_mut(request.indices as *mut i64, n),
                epoch: request.epoch,
                first: request.first,
                inputs: slice_mut(inputs, n * self.sample),
                tokens: slice_mut(tokens, n * self.sample),
                labels: slice_mut(request.labels, n * self.label_size),
                values: slice_mut(request.values, n * self.value_size),
            }
        }
    }
}

/// # Safety
/// `first` is NULL, or points to `length` elements that nothing else uses.
unsafe fn slice_mut<'a, T>(first: *mut T, length: usize) -> &'a mut [T] {
    if first.is_null() {
        return &mut [];
    }
    unsafe { std::slice::from_raw_parts_mut(first, length) }
}

/// A message as the library passes it on: one line that is not empty, and fits.
fn one_line(message: &str) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut line = String::new();
    for c in message.chars().map(|c| if is_break(c) { ' ' } else { c }) {
        if line.len() + c.len_utf8() >= sys::TROIKA_ERROR_MESSAGE_BYTES as usize {
            break;
        }
        line.push(c);
    }
    if line.is_empty() {
        line.push_str("the source failed without a message");
    }
    line
}
