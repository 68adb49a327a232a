//! Datasets.

use crate::arrays::per_sample;
use crate::call::{create, create_several, describe, Handle};
use crate::convert::{c_path, c_text, count, elements_of, Input, Number};
use crate::source::{Failures, Reader};
use crate::{
    panics, Arrays, Context, DatasetInfo, DatasetOptions, Element, Error, ReadRequest, Result,
    Source, SourceError,
};
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use troika_sys as sys;

/// Samples and their targets: in host memory, or read by a closure.
///
/// A dataset never changes, and any thread may use it at any time.
#[derive(Debug)]
pub struct Dataset {
    handle: Handle<sys::troika_dataset_s>,
    /// The closures that samples come from.
    sources: Vec<Arc<Failures>>,
}

/// The targets of [`Dataset::create_arrays`].
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// One class per sample, for cross-entropy.
    Labels(&'a [i32]),
    /// \[n, values of a sample\], for mean squared error.
    Values(&'a [f32]),
}

impl Dataset {
    fn of_library(handle: Handle<sys::troika_dataset_s>) -> Self {
        Self { handle, sources: Vec::new() }
    }

    /// Reads images and labels from two IDX files, plain or gzipped. Samples are f32 \[c, h, w\].
    ///
    /// # Errors
    /// [`NotFound`](crate::Status::NotFound), [`Io`](crate::Status::Io),
    /// [`Corrupt`](crate::Status::Corrupt); [`InvalidArgument`](crate::Status::InvalidArgument)
    /// names the option.
    pub fn open_idx(
        context: &Context,
        images: impl AsRef<Path>,
        labels: impl AsRef<Path>,
        options: &DatasetOptions,
    ) -> Result<Self> {
        let (images, labels) = (c_path(images.as_ref())?, c_path(labels.as_ref())?);
        let context = context.raw();
        let handle = options.pass(|options| {
            create(|out, error| unsafe {
                let (images, labels) = (images.as_ptr(), labels.as_ptr());
                sys::troika_dataset_open_idx(context, images, labels, options, out, error)
            })
        })?;
        Ok(Self::of_library(handle))
    }

    /// Reads the split "train" or "test" from a folder of a known set: the IDX files of MNIST or
    /// one of its relatives, or the binary files of CIFAR. Files are plain or gzipped.
    ///
    /// # Errors
    /// Those of [`Dataset::open_idx`].
    pub fn open_directory(
        context: &Context,
        directory: impl AsRef<Path>,
        split: &str,
        options: &DatasetOptions,
    ) -> Result<Self> {
        let (directory, split) = (c_path(directory.as_ref())?, c_text(split, "split")?);
        let context = context.raw();
        let handle = options.pass(|options| {
            create(|out, error| unsafe {
                let (directory, split) = (directory.as_ptr(), split.as_ptr());
                sys::troika_dataset_open_directory(context, directory, split, options, out, error)
            })
        })?;
        Ok(Self::of_library(handle))
    }

    /// Copies arrays: `inputs` is \[n, dims...\].
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): a shape that cannot be, a label below
    /// 0, or targets that do not fit the inputs.
    pub fn create_arrays(
        context: &Context,
        inputs: &[f32],
        dims: &[i64],
        targets: Targets<'_>,
    ) -> Result<Self> {
        let n = samples_in(inputs.len(), dims)?;
        let (labels, values, size) = match targets {
            Targets::Labels(labels) => (labels.as_ptr(), ptr::null(), per_sample(labels.len(), n)?),
            Targets::Values(values) => (ptr::null(), values.as_ptr(), per_sample(values.len(), n)?),
        };
        if !labels.is_null() && size != 1 {
            let message = format!("dataset: {size} labels for each sample, need 1");
            return Err(Error::invalid(message));
        }
        let (context, rank) = (context.raw(), count(dims.len(), "dims")?);
        create(|out, error| unsafe {
            let (inputs, dims) = (inputs.as_ptr(), dims.as_ptr());
            sys::troika_dataset_create_arrays(
                context, inputs, dims, rank, n, labels, values, size, out, error,
            )
        })
        .map(Self::of_library)
    }

    /// Creates a dataset from arrays of any type. The dataset copies slices, and keeps lists that
    /// `arrays` owns as they are.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): lengths that do not fit, a type that
    /// samples or targets cannot have, a label or token below 0.
    pub fn create_from(context: &Context, arrays: Arrays<'_>) -> Result<Self> {
        let context = context.raw();
        arrays
            .pass(|arrays| {
                create(|out, error| unsafe {
                    sys::troika_dataset_create_from(context, arrays, out, error)
                })
            })
            .map(Self::of_library)
    }

    /// Creates `n` synthetic samples of `classes` classes, which depend only on `seed`, for tests
    /// and benchmarks. Sample i has the label i modulo `classes`, and a network can learn them.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): a shape, or `classes` below 1.
    pub fn create_synthetic(
        context: &Context,
        dims: &[i64],
        n: i64,
        classes: i64,
        seed: u64,
    ) -> Result<Self> {
        let (context, rank) = (context.raw(), count(dims.len(), "dims")?);
        create(|out, error| unsafe {
            let dims = dims.as_ptr();
            sys::troika_dataset_create_synthetic(context, dims, rank, n, classes, seed, out, error)
        })
        .map(Self::of_library)
    }

    /// Creates a dataset for a language model from one stream of tokens, u8 or i32, which is
    /// copied. Samples are windows of `steps` tokens, and the label of a token is the next one.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): another type, `steps` below 1, a token
    /// below 0.
    pub fn create_token_stream<T: Element>(
        context: &Context,
        tokens: &[T],
        steps: i64,
    ) -> Result<Self> {
        let (context, number) = (context.raw(), count(tokens.len(), "tokens")?);
        create(|out, error| unsafe {
            let (tokens, dtype) = (tokens.as_ptr().cast(), T::DTYPE.raw());
            sys::troika_dataset_create_token_stream(
                context, tokens, dtype, number, steps, out, error,
            )
        })
        .map(Self::of_library)
    }

    /// Creates a dataset from sequences of tokens, u8 or i32, which are copied: `tokens` is
    /// \[n, steps\]. There is one label per sequence, or one per token. A label may be
    /// `ignore_index`, which weighs nothing.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): another type, `steps` below 1, lengths
    /// that do not fit, a token or a label below 0.
    pub fn create_tokens<T: Element>(
        context: &Context,
        tokens: &[T],
        steps: i64,
        labels: &[i32],
        ignore_index: Option<i64>,
    ) -> Result<Self> {
        let n = samples_in(tokens.len(), &[steps])?;
        let label_size = per_sample(labels.len(), n)?;
        let ignored = ignore_index.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        let context = context.raw();
        create(|out, error| unsafe {
            let (tokens, dtype, labels) = (tokens.as_ptr().cast(), T::DTYPE.raw(), labels.as_ptr());
            sys::troika_dataset_create_tokens(
                context, tokens, dtype, n, steps, labels, label_size, ignored, out, error,
            )
        })
        .map(Self::of_library)
    }

    /// Creates a dataset that the closure `read` writes, of `source.n` samples in any order, or a
    /// stream. `read` returns the number of samples that it wrote: those of the request, or fewer
    /// at the end of a stream's epoch.
    ///
    /// Each loader calls `read` on a thread of its own, ahead of training; without prefetch, on the
    /// thread that waits for the batch. An error of `read` comes back as the source of the
    /// [`Error`] of the call that wants the batch, and a panic is resumed there.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) names the field.
    ///
    /// ```
    /// use troika::{Context, Dataset, Source};
    ///
    /// let context = Context::new(&Default::default())?;
    /// let source = Source { dims: vec![1], n: 100, classes: 2, ..Default::default() };
    /// let dataset = Dataset::create_callback(&context, &source, |request| {
    ///     for (place, &index) in request.indices.iter().enumerate() {
    ///         request.inputs[place] = index as f32 / 100.0;
    ///         request.labels[place] = (index >= 50).into();
    ///     }
    ///     Ok(request.n)
    /// })?;
    /// assert_eq!(dataset.describe()?.classes, 2);
    /// # Ok::<(), troika::Error>(())
    /// ```
    pub fn create_callback<F>(context: &Context, source: &Source, read: F) -> Result<Self>
    where
        F: Fn(&mut ReadRequest<'_>) -> std::result::Result<usize, SourceError>
            + Send
            + Sync
            + 'static,
    {
        let context = context.raw();
        let failures = Arc::<Failures>::default();
        let reader = Box::into_raw(Box::new(Reader::new(source, read, failures.clone())));
        let created = source.pass(|source| {
            let mut source = *source;
            source.read = Some(Reader::<F>::call);
            source.user = reader.cast();
            source.user_destroy = Some(panics::destroy::<Reader<F>>);
            create(|out, error| unsafe {
                sys::troika_dataset_create_callback(context, &source, out, error)
            })
        });
        if created.is_err() {
            // Safety: the library did not take the closure.
            drop(unsafe { Box::from_raw(reader) });
        }
        Ok(Self { handle: created?, sources: vec![failures] })
    }

    pub(crate) fn raw(&self) -> sys::troika_dataset {
        self.handle.raw()
    }

    pub(crate) fn sources(&self) -> &[Arc<Failures>] {
        &self.sources
    }

    /// Describes the dataset: samples, their shape and type, targets.
    pub fn describe(&self) -> Result<DatasetInfo> {
        describe(|out, error| unsafe { sys::troika_dataset_describe(self.raw(), out, error) })
    }

    /// Returns a dataset of the samples at `indices`, which may repeat. No sample is copied.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): an index outside the dataset, a stream.
    pub fn subset(&self, indices: &[i64]) -> Result<Self> {
        let number = count(indices.len(), "indices")?;
        let handle = create(|out, error| unsafe {
            sys::troika_dataset_subset(self.raw(), indices.as_ptr(), number, out, error)
        })?;
        Ok(Self { handle, sources: self.sources.clone() })
    }

    /// Returns the samples with weights in losses, one for each, for trainers with
    /// `sample_weights`. No sample is copied.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): another number of weights, a weight
    /// below 0 or not finite, a stream.
    pub fn weigh(&self, weights: &[f32]) -> Result<Self> {
        let number = count(weights.len(), "weights")?;
        let handle = create(|out, error| unsafe {
            sys::troika_dataset_weigh(self.raw(), weights.as_ptr(), number, out, error)
        })?;
        Ok(Self { handle, sources: self.sources.clone() })
    }

    /// Cuts the dataset into parts of `sizes` samples; no sample is in two of them. With `shuffle`
    /// the samples are drawn in an order that depends only on `seed`. No sample is copied.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): no part, more samples than there are, a
    /// stream.
    pub fn split(&self, sizes: &[i64], shuffle: bool, seed: u64) -> Result<Vec<Self>> {
        let parts = count(sizes.len(), "sizes")?;
        let handles = create_several(sizes.len(), |out, error| unsafe {
            let (sizes, shuffle) = (sizes.as_ptr(), i32::from(shuffle));
            sys::troika_dataset_split(self.raw(), sizes, parts, shuffle, seed, out, error)
        })?;
        let part = |handle| Self { handle, sources: self.sources.clone() };
        Ok(handles.into_iter().map(part).collect())
    }

    /// Returns a dataset of the samples of several datasets, one after another. No sample is
    /// copied.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): no dataset, samples of different forms,
    /// a stream.
    pub fn concat(datasets: &[&Dataset]) -> Result<Self> {
        let raw: Vec<_> = datasets.iter().map(|dataset| dataset.raw()).collect();
        let number = count(raw.len(), "datasets")?;
        let handle = create(|out, error| unsafe {
            sys::troika_dataset_concat(raw.as_ptr(), number, out, error)
        })?;
        let sources = datasets.iter().flat_map(|dataset| dataset.sources.iter().cloned());
        Ok(Self { handle, sources: sources.collect() })
    }
}

/// The samples of shape `dims` in a list of `elements`. The library refuses a shape without any.
fn samples_in(elements: usize, dims: &[i64]) -> Result<i64> {
    match elements_of(dims) {
        None | Some(0) => Ok(0),
        Some(sample) if elements % sample == 0 => count(elements / sample, "samples"),
        Some(sample) => {
            let message = format!(
                "dataset: {elements} elements, samples {dims:?} need a multiple of {sample}"
            );
            Err(Error::invalid(message))
        }
    }
}
