// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// Description of a batch. Filled by [`Batch::describe`](crate::Batch::describe).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchInfo {
    /// Samples.
    pub n: i64,
    /// Shape of the inputs, \[n, ...\].
    pub dims: Vec<i64>,
    /// Values per sample; 0 without values.
    pub value_size: i64,
    /// Labels per sample; 0 without labels.
    pub label_size: i64,
}

impl Struct for BatchInfo {
    type Raw = sys::troika_batch_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_batch_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            n: raw.n,
            dims: part(&raw.dims, raw.rank).to_vec(),
            value_size: raw.value_size,
            label_size: raw.label_size,
        })
    }
}

/// Description of a dataset. Filled by [`Dataset::describe`](crate::Dataset::describe).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DatasetInfo {
    /// Samples; -1 for a stream.
    pub n: i64,
    /// Shape of a sample, such as {1, 28, 28}.
    pub dims: Vec<i64>,
    /// The largest label + 1, without ignored labels. In a stream of tokens: words. A dataset of a
    /// callback has the host's number. If targets are no labels: 0.
    pub classes: i64,
    /// Labels per sample; 0 if targets are no labels.
    pub label_size: i64,
    /// Tokens: the largest token + 1. 0 for other samples.
    pub words: i64,
    /// Type of samples: [`Dtype::F32`](crate::Dtype::F32), or [`Dtype::I32`](crate::Dtype::I32) for
    /// tokens.
    pub dtype: Dtype,
}

impl Struct for DatasetInfo {
    type Raw = sys::troika_dataset_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_dataset_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            n: raw.n,
            dims: part(&raw.dims, raw.rank).to_vec(),
            classes: raw.classes,
            label_size: raw.label_size,
            words: raw.words,
            dtype: Dtype::from_raw(raw.dtype)?,
        })
    }
}

/// Transforms of image datasets. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetOptions {
    /// Bilinear resize to this height (pixel centres, no antialiasing), 1 to 65535, such as the
    /// tutorial's 96x96; unset: none.
    pub resize_height: Option<i64>,
    /// As `resize_height`; set both or none.
    pub resize_width: Option<i64>,
    /// A u8 pixel p becomes (p / 255 - mean) / std; default 0.
    pub mean: f64,
    /// Default 1; above 0.
    pub std: f64,
}

impl Struct for DatasetOptions {
    type Raw = sys::troika_dataset_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_dataset_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            resize_height: optional_number(raw.resize_height),
            resize_width: optional_number(raw.resize_width),
            mean: raw.mean,
            std: raw.std,
        })
    }
}

impl Input for DatasetOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.resize_height = self.resize_height.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.resize_width = self.resize_width.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.mean = self.mean;
        raw.std = self.std;
        Ok(raw)
    }
}

impl Default for DatasetOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Options of a loader. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderOptions {
    /// `true`: the order is a function of (seed, epoch); `false` (default): the dataset's order.
    pub shuffle: bool,
    /// Samples per batch, for all devices together. Must be set.
    pub batch: i64,
    /// `true`: leaves out a last batch that is smaller than batch; `false` (default): returns it.
    pub drop_last: bool,
    /// Batches that the loader's own thread prepares ahead, 0 to 1024; default 2; 0: no thread.
    pub prefetch: i32,
    /// Seed of the shuffle, of weighted sampling, and of flip and crop; default 0.
    pub seed: u64,
    /// Weighted sampling: n weights, one per sample of the dataset, at least 0 and not all 0. Each
    /// place of an epoch draws a sample with a probability in proportion to its weight, with
    /// replacement, as a function of (seed, epoch). Excludes shuffle. Empty (default): none.
    pub weights: Vec<f64>,
    /// Weighted sampling: samples of an epoch; 0 (default): those of the dataset.
    pub epoch_samples: i64,
    /// Reads only this process's share of each batch, for a loop of the caller's own. The samples
    /// of a batch are divided in their order, and the first ranks have one more if they do not
    /// divide evenly. A process may get none: a batch of 0 samples. All processes see the same
    /// number of batches. A trainer that has the group divides any loader by its own devices.
    /// `None` (default): whole batches.
    pub group: Option<Group>,
    /// `true`: each sample is mirrored left to right with probability 1/2. Only for samples f32
    /// \[c, h, w\]. Random numbers are a function of (seed, epoch, place in the epoch), so each
    /// epoch has other samples, and a resumed epoch the same. GPUs do not keep the samples. `false`
    /// (default): none.
    pub flip: bool,
    /// N: each sample is shifted by -N to N pixels along its height, and along its width. Pixels
    /// beyond an edge are those before the edge, mirrored (as numpy.pad does in its mode
    /// "reflect"). N is below the height and the width. Otherwise as flip; 0 (default): none.
    pub crop: i32,
}

impl Struct for LoaderOptions {
    type Raw = sys::troika_loader_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_loader_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            shuffle: raw.shuffle != 0,
            batch: raw.batch,
            drop_last: raw.drop_last != 0,
            prefetch: raw.prefetch,
            seed: raw.seed,
            weights: Vec::new(),
            epoch_samples: raw.epoch_samples,
            group: None,
            flip: raw.flip != 0,
            crop: raw.crop,
        })
    }
}

impl Input for LoaderOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.shuffle = i32::from(self.shuffle);
        raw.batch = self.batch;
        raw.drop_last = i32::from(self.drop_last);
        raw.prefetch = self.prefetch;
        raw.seed = self.seed;
        raw.weights = pointer_to(self.weights.as_slice());
        raw.epoch_samples = self.epoch_samples;
        raw.group = self.group.as_ref().map_or(std::ptr::null_mut(), Group::raw);
        raw.flip = i32::from(self.flip);
        raw.crop = self.crop;
        Ok(raw)
    }
}

impl Default for LoaderOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// The position of a loader: the batch that [`Loader::next_batch`](crate::Loader::next_batch)
/// returns next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoaderPosition {
    /// From 0.
    pub epoch: i64,
    /// Batch within the epoch, from 0.
    pub batch: i64,
    /// Batches in an epoch. 0 in [`Loader::seek`](crate::Loader::seek): not known. For a stream:
    /// those of the last epoch that has ended, and 0 before.
    pub batches: i64,
}

impl Struct for LoaderPosition {
    type Raw = sys::troika_loader_position;

    fn init() -> Self::Raw {
        initialized(sys::troika_loader_position_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self { epoch: raw.epoch, batch: raw.batch, batches: raw.batches })
    }
}

impl Input for LoaderPosition {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.epoch = self.epoch;
        raw.batch = self.batch;
        raw.batches = self.batches;
        Ok(raw)
    }
}

impl Default for LoaderPosition {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// A dataset of the host's own. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// [`Dtype::F32`](crate::Dtype::F32) (default), or [`Dtype::I32`](crate::Dtype::I32) for
    /// tokens.
    pub dtype: Dtype,
    /// Shape of a sample. Must be set.
    pub dims: Vec<i64>,
    /// Samples, which are read in any order. -1: a stream of unknown length, which is read from its
    /// first sample to its last.
    pub n: i64,
    /// Above the largest label; default 0: targets are no labels.
    pub classes: i64,
    /// Above the largest token; must be set for tokens.
    pub words: i64,
    /// Labels of a sample, if classes is set; default 1.
    pub label_size: i64,
    /// Values of a sample; default 0: targets are no values. Only if classes is 0; if both are 0,
    /// samples have no targets.
    pub value_size: i64,
    /// A label that weighs nothing; `None` (default): none.
    pub ignore_index: Option<i64>,
}

impl Struct for Source {
    type Raw = sys::troika_source;

    fn init() -> Self::Raw {
        initialized(sys::troika_source_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            dtype: Dtype::from_raw(raw.dtype)?,
            dims: unsafe { read_list(raw.dims, raw.rank) },
            n: raw.n,
            classes: raw.classes,
            words: raw.words,
            label_size: raw.label_size,
            value_size: raw.value_size,
            ignore_index: optional_number(raw.ignore_index),
        })
    }
}

impl Input for Source {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.dtype = self.dtype.raw();
        raw.rank = count(self.dims.len(), "dims")?;
        raw.dims = pointer_to(self.dims.as_slice());
        raw.n = self.n;
        raw.classes = self.classes;
        raw.words = self.words;
        raw.label_size = self.label_size;
        raw.value_size = self.value_size;
        raw.ignore_index = self.ignore_index.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        Ok(raw)
    }
}

impl Default for Source {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}
