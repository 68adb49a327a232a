//! Loaders.

use crate::call::{call, call_for_handle, create, describe, Handle};
use crate::convert::Input;
use crate::source::{attribute, Failures};
use crate::{Batch, Dataset, Error, LoaderOptions, LoaderPosition, Result, Status};
use std::iter::FusedIterator;
use std::sync::Arc;
use troika_sys as sys;

/// Batches of a dataset, epoch after epoch.
///
/// A loader may be sent to another thread. It takes one call at a time, which Rust checks.
///
/// A batch is the loader's own memory, so it must go before the loader goes on:
///
/// ```
/// use troika::{Context, Dataset, Loader, LoaderOptions};
///
/// let context = Context::new(&Default::default())?;
/// let dataset = Dataset::create_synthetic(&context, &[4], 10, 2, 0)?;
/// let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 4, ..Default::default() })?;
/// let mut sizes = Vec::new();
/// while let Some(batch) = loader.next_batch()? {
///     sizes.push(batch.describe()?.n);
/// }
/// assert_eq!(sizes, [4, 4, 2]);
/// # Ok::<(), troika::Error>(())
/// ```
///
/// An iterator has copies, which outlive the loader's batches:
///
/// ```
/// # use troika::{Context, Dataset, Loader, LoaderOptions, Result};
/// # let context = Context::new(&Default::default())?;
/// # let dataset = Dataset::create_synthetic(&context, &[4], 10, 2, 0)?;
/// # let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 4, ..Default::default() })?;
/// let batches = loader.copies().collect::<Result<Vec<_>>>()?;
/// assert_eq!(batches.len(), 3);
/// # Ok::<(), troika::Error>(())
/// ```
///
/// A batch that its loader moved past does not compile:
///
/// ```compile_fail,E0499
/// # use troika::{Context, Dataset, Loader, LoaderOptions};
/// # let context = Context::new(&Default::default())?;
/// # let dataset = Dataset::create_synthetic(&context, &[4], 10, 2, 0)?;
/// # let mut loader = Loader::new(&dataset, &LoaderOptions { batch: 4, ..Default::default() })?;
/// let stale = loader.next_batch()?;
/// loader.next_batch()?;
/// drop(stale);
/// # Ok::<(), troika::Error>(())
/// ```
#[derive(Debug)]
pub struct Loader {
    handle: Handle<sys::troika_loader_s>,
    sources: Vec<Arc<Failures>>,
    was_stopped: bool,
}

impl Loader {
    /// Creates a loader at the first batch of epoch 0. `options.batch` must be set.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument) names the field.
    pub fn new(dataset: &Dataset, options: &LoaderOptions) -> Result<Self> {
        // The library reads one weight for each sample.
        let weights = options.weights.len();
        if weights > 0 {
            let samples = dataset.describe()?.n;
            if usize::try_from(samples) != Ok(weights) {
                let message =
                    format!("loader: {weights} weights, the dataset has {samples} samples");
                return Err(Error::invalid(message));
            }
        }
        let handle = options.pass(|options| {
            create(|out, error| unsafe {
                sys::troika_loader_create(dataset.raw(), options, out, error)
            })
        })?;
        Ok(Self { handle, sources: dataset.sources().to_vec(), was_stopped: false })
    }

    pub(crate) fn raw(&self) -> sys::troika_loader {
        self.handle.raw()
    }

    /// The result of a call that reads the loader, with the source's own error or panic.
    pub(crate) fn attributed<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| attribute(&self.sources, error))
    }

    /// Returns the next batch of the epoch. After the last batch it returns None once, then the
    /// next epoch begins. It also returns None if the dataset's source asked to stop; see
    /// [`Loader::was_stopped`].
    ///
    /// # Errors
    /// [`Callback`](Status::Callback) if the source failed; the loader keeps its position.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let result = call_for_handle(|out, error| unsafe {
            sys::troika_loader_next(self.raw(), out, error)
        });
        let (batch, status) = self.attributed(result)?;
        self.was_stopped = status == Status::Stopped;
        Ok(batch.map(Batch::of_loader))
    }

    /// Iterates over copies of the rest of the epoch. A loop with [`Loader::next_batch`] is faster,
    /// because it copies nothing. The iterator ends after an error, and if the dataset's source
    /// asked to stop.
    pub fn copies(&mut self) -> Copies<'_> {
        Copies { loader: self, has_ended: false }
    }

    /// Whether the last None of [`Loader::next_batch`] was the source's wish and not the end of the
    /// epoch. The loader then keeps its position.
    pub fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    /// Returns the position: the batch that comes next.
    pub fn tell(&self) -> Result<LoaderPosition> {
        describe(|out, error| unsafe { sys::troika_loader_tell(self.raw(), out, error) })
    }

    /// Moves to a position, such as one of [`Trainer::load`](crate::Trainer::load).
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a position that the epoch does not have.
    pub fn seek(&mut self, position: &LoaderPosition) -> Result<()> {
        position.pass(|position| {
            call(|error| unsafe { sys::troika_loader_seek(self.raw(), position, error) }).map(drop)
        })
    }
}

/// Copies of a loader's batches, made by [`Loader::copies`].
#[derive(Debug)]
pub struct Copies<'a> {
    loader: &'a mut Loader,
    /// The loader itself would go on with the next epoch.
    has_ended: bool,
}

impl Iterator for Copies<'_> {
    type Item = Result<Batch<'static>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let batch = self.loader.next_batch();
        let copy = batch.and_then(|batch| batch.map(|batch| batch.copy()).transpose());
        self.has_ended = !matches!(copy, Ok(Some(_)));
        copy.transpose()
    }
}

impl FusedIterator for Copies<'_> {}
