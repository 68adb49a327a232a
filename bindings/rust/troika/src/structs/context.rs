// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Levels of log lines.
    LogLevel {
        /// The constant `TROIKA_LOG_ERROR` of C.
        Error = TROIKA_LOG_ERROR,
        /// The constant `TROIKA_LOG_WARNING` of C.
        Warning = TROIKA_LOG_WARNING,
        /// The constant `TROIKA_LOG_INFO` of C.
        Info = TROIKA_LOG_INFO,
        /// The constant `TROIKA_LOG_DEBUG` of C.
        Debug = TROIKA_LOG_DEBUG,
    }
}

/// Options of a context. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextOptions {
    /// CPU threads for all CPU devices together: at least 1, at most 8 for each core of the
    /// process, or 64 if that is more; unset: one for each core. If it is unset, trainers with a
    /// group divide the cores of a machine: each process takes an equal share.
    pub cpu_threads: Option<i32>,
    /// Seed of parameter initialisation and of dropout, unless the caller names another.
    pub seed: u64,
    /// The most detailed level that reaches log; unset:
    /// [`LogLevel::Warning`](crate::LogLevel::Warning).
    pub log_level: Option<LogLevel>,
    /// `true`: environment variables of the library hold for fields that are not set: `TROIKA_LOG`,
    /// `TROIKA_BACKEND_DIR`, `TROIKA_CACHE_DIR`, `TROIKA_OWN_KERNELS`, `TROIKA_LEAVE_OUT` and
    /// `TROIKA_DUMP` (docs/threads.md). `false` (default): none of them is read.
    pub use_environment: bool,
    /// The backends that the context may use, separated by commas: "cpu", "cuda". `None` (default):
    /// all. A backend is loaded when one of its devices is first asked for.
    pub backends: Option<String>,
    /// Levels of single topics, separated by commas: "plan=debug,comm=error". `log_level` holds for
    /// the others. `None` (default): for all.
    pub log_topics: Option<String>,
    /// An absolute path of a folder in which plug-ins are looked for first. `None` (default): none.
    pub backend_folder: Option<String>,
    /// An absolute path of the folder in which the library stores measurements, such as the fastest
    /// engines of a GPU. `None` (default): troika in XDG_CACHE_HOME or in the user's .cache. "":
    /// none are stored.
    pub cache_folder: Option<String>,
    /// CPU threads of one prediction of [`Model::predict`](crate::Model::predict): 1 to
    /// `cpu_threads`. The bits of a result may depend on the number, and never on what else runs.
    /// Unset: one thread for each 500 million operations. A server with many callers sets 1
    /// (docs/serving.md).
    pub predict_threads: Option<i32>,
}

impl Struct for ContextOptions {
    type Raw = sys::troika_context_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_context_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            cpu_threads: optional_number(raw.cpu_threads),
            seed: raw.seed,
            log_level: optional_enum(raw.log_level, sys::TROIKA_UNSET, LogLevel::from_raw)?,
            use_environment: raw.use_environment != 0,
            backends: unsafe { optional_text(raw.backends) },
            log_topics: unsafe { optional_text(raw.log_topics) },
            backend_folder: unsafe { optional_text(raw.backend_folder) },
            cache_folder: unsafe { optional_text(raw.cache_folder) },
            predict_threads: optional_number(raw.predict_threads),
        })
    }
}

impl Input for ContextOptions {
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.cpu_threads = self.cpu_threads.unwrap_or(sys::TROIKA_UNSET);
        raw.seed = self.seed;
        raw.log_level = self.log_level.map_or(sys::TROIKA_UNSET, LogLevel::raw);
        raw.use_environment = i32::from(self.use_environment);
        raw.backends = held.text(self.backends.as_deref(), "backends")?;
        raw.log_topics = held.text(self.log_topics.as_deref(), "log_topics")?;
        raw.backend_folder = held.text(self.backend_folder.as_deref(), "backend_folder")?;
        raw.cache_folder = held.text(self.cache_folder.as_deref(), "cache_folder")?;
        raw.predict_threads = self.predict_threads.unwrap_or(sys::TROIKA_UNSET);
        Ok(raw)
    }
}

impl Default for ContextOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}
