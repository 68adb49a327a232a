//! Arrays of the host that become datasets.

use crate::convert::{count, elements_of, initialized, pointer_to, Number};
use crate::{panics, Dtype, Element, Error, Result};
use std::any::Any;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::sync::Arc;
use troika_sys as sys;

/// Elements in host memory: a slice, a `Vec` or an `Arc<[T]>`.
///
/// A dataset copies a slice, and takes a `Vec` or an `Arc` without a copy.
#[derive(Debug)]
pub struct Array<'a> {
    dtype: Dtype,
    data: *const c_void,
    elements: usize,
    owner: Option<Box<dyn Any + Send + Sync>>,
    slice: PhantomData<&'a [u8]>,
}

// Safety: the elements are numbers, which are read alone.
unsafe impl Send for Array<'_> {}
unsafe impl Sync for Array<'_> {}

impl<'a> Array<'a> {
    /// Elements of any type by their bytes, such as `bf16`. They may be at any address.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if the bytes end within an element.
    pub fn from_bytes(dtype: Dtype, bytes: &'a [u8]) -> Result<Self> {
        let (found, size) = (bytes.len(), dtype.size());
        if found % size != 0 {
            return Err(Error::invalid(format!(
                "arrays: {found} bytes, needs a multiple of {size}"
            )));
        }
        Ok(Self { dtype, elements: found / size, ..Self::from(bytes) })
    }

    /// Points to a slice; the caller has it for `'a`, or adds its owner.
    fn at<T: Element>(slice: &[T]) -> Self {
        Self {
            dtype: T::DTYPE,
            data: pointer_to(slice).cast(),
            elements: slice.len(),
            owner: None,
            slice: PhantomData,
        }
    }
}

impl<'a, T: Element> From<&'a [T]> for Array<'a> {
    fn from(slice: &'a [T]) -> Self {
        Self::at(slice)
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for Array<'a> {
    fn from(list: &'a Vec<T>) -> Self {
        Self::at(list)
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for Array<'a> {
    fn from(array: &'a [T; N]) -> Self {
        Self::at(array)
    }
}

impl<T: Element> From<Vec<T>> for Array<'static> {
    fn from(list: Vec<T>) -> Self {
        let array = Self::at(&list);
        Self { owner: Some(Box::new(list)), ..array }
    }
}

impl<T: Element> From<Arc<[T]>> for Array<'static> {
    fn from(list: Arc<[T]>) -> Self {
        let array = Self::at(&list);
        Self { owner: Some(Box::new(list)), ..array }
    }
}

/// Arrays of samples and their targets, for [`Dataset::create_from`](crate::Dataset::create_from).
///
/// ```
/// use troika::{Arrays, Context, Dataset};
///
/// let context = Context::new(&Default::default())?;
/// let pixels = vec![0_u8; 3 * 28 * 28];
/// let labels = [7_i64, 1, 4];
/// let arrays = Arrays::new(pixels, &[1, 28, 28]).targets(&labels).normalize(0.2860, 0.3530);
/// let dataset = Dataset::create_from(&context, arrays)?;
/// assert_eq!(dataset.describe()?.n, 3);
/// # Ok::<(), troika::Error>(())
/// ```
#[derive(Debug)]
pub struct Arrays<'a> {
    inputs: Array<'a>,
    dims: Vec<i64>,
    targets: Option<Array<'a>>,
    tokens: bool,
    normalization: Option<(f64, f64)>,
    ignore_index: Option<i64>,
}

impl<'a> Arrays<'a> {
    /// Samples of shape `dims`: `inputs` is \[n, dims...\], row-major, of type f32, f64, f16, bf16,
    /// u8, i32 or i64. Numbers become f32 when a batch is read.
    pub fn new(inputs: impl Into<Array<'a>>, dims: &[i64]) -> Self {
        Self {
            inputs: inputs.into(),
            dims: dims.to_vec(),
            targets: None,
            tokens: false,
            normalization: None,
            ignore_index: None,
        }
    }

    /// Sets the targets \[n, targets of a sample\]: labels of type u8, i32 or i64, or values of
    /// type f32 or f64. Without targets, samples serve only to predict.
    #[must_use]
    pub fn targets(self, targets: impl Into<Array<'a>>) -> Self {
        Self { targets: Some(targets.into()), ..self }
    }

    /// Says that samples are tokens and not numbers.
    #[must_use]
    pub fn tokens(self) -> Self {
        Self { tokens: true, ..self }
    }

    /// Makes a number x into (x - mean) / std. A number p of type u8 is x = p / 255.
    #[must_use]
    pub fn normalize(self, mean: f64, std: f64) -> Self {
        Self { normalization: Some((mean, std)), ..self }
    }

    /// Sets a label that weighs nothing.
    #[must_use]
    pub fn ignore_index(self, label: i64) -> Self {
        Self { ignore_index: Some(label), ..self }
    }

    /// Passes the arrays to a call. Memory that they own may be kept by the library.
    pub(crate) fn pass<R>(self, call: impl FnOnce(&sys::troika_arrays) -> Result<R>) -> Result<R> {
        let mut raw = initialized(sys::troika_arrays_init);
        raw.dtype = self.inputs.dtype.raw();
        raw.inputs = self.inputs.data;
        raw.dims = self.dims.as_ptr();
        raw.rank = count(self.dims.len(), "dims")?;
        raw.tokens = i32::from(self.tokens);
        raw.n = self.samples()?;
        if let Some((mean, std)) = self.normalization {
            (raw.mean, raw.std) = (mean, std);
        }
        if let Some(label) = self.ignore_index {
            raw.ignore_index = label;
        }
        if let Some(targets) = &self.targets {
            raw.targets = targets.data;
            raw.target_dtype = targets.dtype.raw();
            raw.target_size = per_sample(targets.elements, raw.n)?;
        }
        let all = std::iter::once(self.inputs).chain(self.targets);
        let owners: Option<Vec<_>> = all.map(|array| array.owner).collect();
        let owners = match owners {
            None => return call(&raw),
            Some(owners) => Box::into_raw(Box::new(owners)),
        };
        raw.borrow = 1;
        raw.user = owners.cast();
        raw.destroy = Some(panics::destroy::<Vec<Box<dyn Any + Send + Sync>>>);
        let result = call(&raw);
        if result.is_err() {
            // Safety: the library did not take the arrays.
            drop(unsafe { Box::from_raw(owners) });
        }
        result
    }

    /// The number of samples. A shape that the library refuses has none.
    fn samples(&self) -> Result<i64> {
        let elements = self.inputs.elements;
        match elements_of(&self.dims) {
            None | Some(0) => Ok(0),
            Some(sample) if elements % sample == 0 => count(elements / sample, "inputs"),
            Some(sample) => Err(Error::invalid(format!(
                "arrays: inputs have {elements} elements, samples {:?} need a multiple of {sample}",
                self.dims
            ))),
        }
    }
}

/// The targets of a sample.
pub(crate) fn per_sample(targets: usize, n: i64) -> Result<i64> {
    let targets: i64 = count(targets, "targets")?;
    if n > 0 && targets % n == 0 {
        Ok(targets / n)
    } else if n == 0 && targets == 0 {
        Ok(1)
    } else {
        Err(Error::invalid(format!("targets: {targets} elements, need a multiple of {n} samples")))
    }
}
