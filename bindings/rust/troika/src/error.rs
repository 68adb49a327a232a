//! The error of all calls.

use crate::call::static_text;
use crate::convert::Number;
use crate::{LoadReport, Status};
use std::error::Error as StdError;
use std::ffi::CStr;
use std::fmt;
use troika_sys as sys;

/// The result of a call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed: a status, and one line with the object, what was found and what is needed.
///
/// If a dataset's source failed, [`source`](StdError::source) is the source's own error.
pub struct Error {
    status: Status,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    report: Option<Box<LoadReport>>,
}

impl Error {
    pub(crate) fn new(status: Status, message: String) -> Self {
        Self { status, message, source: None, report: None }
    }

    /// A misuse that the crate itself finds.
    pub(crate) fn invalid(message: String) -> Self {
        Self::new(Status::InvalidArgument, message)
    }

    /// # Safety
    /// `error` was filled by a call that failed.
    pub(crate) unsafe fn from_raw(status: i32, error: *const sys::troika_error) -> Self {
        let message = unsafe { CStr::from_ptr((*error).message.as_ptr()) };
        Self::new(Status::of(status), message.to_string_lossy().into_owned())
    }

    pub(crate) fn with_source(self, source: Box<dyn StdError + Send + Sync>) -> Self {
        Self { source: Some(source), ..self }
    }

    pub(crate) fn with_report(self, report: LoadReport) -> Self {
        Self { report: Some(Box::new(report)), ..self }
    }

    /// The kind of the failure. It is never `Ok`, nor a status that is only information.
    pub fn status(&self) -> Status {
        self.status
    }

    /// One line: the object, what was found, what is needed.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// After [`Status::Mismatch`] of [`Model::load`](crate::Model::load): the names that differ.
    pub fn load_report(&self) -> Option<&LoadReport> {
        self.report.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// One line, because a `main` that returns an error prints it in this form.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.status, self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl Status {
    pub(crate) fn of(raw: i32) -> Self {
        Self::from_raw(raw).unwrap_or(Self::Other(raw))
    }

    /// The name of the status in C, such as "TROIKA_ERROR_BUSY".
    pub fn name(self) -> &'static str {
        // Safety: the library returns static text for any number.
        unsafe { static_text(sys::troika_status_name(self.raw())) }.unwrap_or_default()
    }

    /// Whether the status is a failure. The others are success, or information.
    pub fn is_error(self) -> bool {
        self.raw() < 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
