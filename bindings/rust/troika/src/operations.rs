//! Operations: computing with tensors, one call at a time.

use crate::call::{call, create, text};
use crate::convert::{axes_of, count, Input, Number};
use crate::{
    Context, Conv2dOptions, Device, Dtype, Error, Pool2dOptions, Relation, Result, Tensor,
};
use std::fmt;
use std::ops::Range;
use std::ptr;
use troika_sys as sys;

/// A call that creates a tensor.
fn tensor(
    call: impl FnOnce(*mut sys::troika_tensor, *mut sys::troika_error) -> i32,
) -> Result<Tensor> {
    Ok(Tensor::of(create(call)?))
}

/// # New tensors
impl Tensor {
    /// Creates a tensor whose numbers are all `value`.
    ///
    /// # Errors
    /// Those of [`Tensor::new`]; [`Unsupported`](crate::Status::Unsupported) for a type without
    /// arithmetic.
    pub fn full(
        context: &Context,
        device: Device,
        dtype: Dtype,
        dims: &[i64],
        value: f64,
    ) -> Result<Self> {
        let (context, rank) = (context.raw(), count(dims.len(), "dims")?);
        let (device, dtype, dims) = (device.raw(), dtype.raw(), dims.as_ptr());
        tensor(|out, error| unsafe {
            sys::troika_tensor_full(context, device, dtype, dims, rank, value, out, error)
        })
    }

    /// Creates a tensor with the numbers start, start + step, start + 2 step, `length` of them.
    ///
    /// # Errors
    /// Those of [`Tensor::full`].
    pub fn arange(
        context: &Context,
        device: Device,
        dtype: Dtype,
        start: f64,
        step: f64,
        length: usize,
    ) -> Result<Self> {
        let (context, length) = (context.raw(), count(length, "length")?);
        let (device, dtype) = (device.raw(), dtype.raw());
        tensor(|out, error| unsafe {
            sys::troika_tensor_arange(context, device, dtype, start, step, length, out, error)
        })
    }

    /// Creates a tensor of numbers that are uniform in a range. Number i is a function of `seed`
    /// and i, so every device makes the same numbers.
    ///
    /// # Errors
    /// Those of [`Tensor::full`]; [`InvalidArgument`](crate::Status::InvalidArgument) also for
    /// bounds that are not finite or in the wrong order.
    pub fn uniform(
        context: &Context,
        device: Device,
        dtype: Dtype,
        dims: &[i64],
        range: Range<f64>,
        seed: u64,
    ) -> Result<Self> {
        let (context, rank) = (context.raw(), count(dims.len(), "dims")?);
        let (device, dtype, dims) = (device.raw(), dtype.raw(), dims.as_ptr());
        let (low, high) = (range.start, range.end);
        tensor(|out, error| unsafe {
            sys::troika_tensor_uniform(
                context, device, dtype, dims, rank, low, high, seed, out, error,
            )
        })
    }

    /// Creates a tensor of normally distributed numbers. Number i is a function of `seed` and i, so
    /// every device makes the same numbers.
    ///
    /// # Errors
    /// Those of [`Tensor::full`]; [`InvalidArgument`](crate::Status::InvalidArgument) also for a
    /// number that is not finite, and for a `deviation` below 0.
    pub fn normal(
        context: &Context,
        device: Device,
        dtype: Dtype,
        dims: &[i64],
        mean: f64,
        deviation: f64,
        seed: u64,
    ) -> Result<Self> {
        let (context, rank) = (context.raw(), count(dims.len(), "dims")?);
        let (device, dtype, dims) = (device.raw(), dtype.raw(), dims.as_ptr());
        tensor(|out, error| unsafe {
            sys::troika_tensor_normal(
                context, device, dtype, dims, rank, mean, deviation, seed, out, error,
            )
        })
    }
}

/// # Two tensors, number by number
///
/// Shapes may differ as in NumPy: axes are aligned at their ends, and an axis of size 1, or a
/// missing one, is repeated.
impl Tensor {
    /// self + other.
    ///
    /// An operation runs on the device of its tensors. On a GPU it returns when its work is
    /// launched. If [`Gradients`](crate::Gradients) watch an input, the operation is recorded.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if shapes do not fit, or if tensors have
    /// different types or are on two devices. [`Unsupported`](crate::Status::Unsupported) if the
    /// type is not f32, bf16 or f16. [`OutOfMemory`](crate::Status::OutOfMemory).
    pub fn add(&self, other: &Tensor) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_add(self.raw(), other.raw(), out, error) })
    }

    /// self - other.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn subtract(&self, other: &Tensor) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_subtract(self.raw(), other.raw(), out, error)
        })
    }

    /// self times other, number by number.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn multiply(&self, other: &Tensor) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_multiply(self.raw(), other.raw(), out, error)
        })
    }

    /// self / other.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn divide(&self, other: &Tensor) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_divide(self.raw(), other.raw(), out, error)
        })
    }

    /// Returns a tensor of u8: 1 if the relation holds between self and other, else 0. It is not
    /// recorded.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn compare(&self, other: &Tensor, relation: Relation) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_compare(self.raw(), other.raw(), relation.raw(), out, error)
        })
    }
}

/// # One tensor, number by number
impl Tensor {
    /// factor x + offset.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn scale(&self, factor: f64, offset: f64) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_scale(self.raw(), factor, offset, out, error)
        })
    }

    /// max(x, 0); NaN stays NaN.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn relu(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_relu(self.raw(), out, error) })
    }

    /// 1 / (1 + e^-x).
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn sigmoid(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_sigmoid(self.raw(), out, error) })
    }

    /// The hyperbolic tangent.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn tanh(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_tanh(self.raw(), out, error) })
    }

    /// GELU, as [`Model::add_gelu`](crate::Model::add_gelu).
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn gelu(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_gelu(self.raw(), out, error) })
    }

    /// x times the sigmoid of x.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn silu(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_silu(self.raw(), out, error) })
    }

    /// x if x > 0, else slope x.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn leaky_relu(&self, slope: f64) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_leaky_relu(self.raw(), slope, out, error) })
    }

    /// |x|.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn abs(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_abs(self.raw(), out, error) })
    }

    /// e^x.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn exp(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_exp(self.raw(), out, error) })
    }

    /// The natural logarithm.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn log(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_log(self.raw(), out, error) })
    }

    /// The square root.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn sqrt(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_sqrt(self.raw(), out, error) })
    }

    /// The same numbers as f32, bf16, f16, i32, i64 or u8. Numbers are rounded to nearest even, and
    /// for integers towards 0. A number that an integer type does not hold becomes the nearest
    /// that it holds; NaN becomes 0. Only casts between f32, bf16 and f16 have a gradient.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Status::Unsupported) for another type.
    pub fn cast(&self, dtype: Dtype) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_cast(self.raw(), dtype.raw(), out, error) })
    }
}

/// # In place
impl Tensor {
    /// Adds factor times other: an update by a gradient has the factor `-learning_rate`. `other`
    /// may be smaller, as in [`Tensor::add`].
    ///
    /// # Errors
    /// Those of [`Tensor::add`]; [`InvalidArgument`](crate::Status::InvalidArgument) also if a
    /// living [`Gradients`](crate::Gradients) watches or has recorded the tensor, or if another
    /// tensor shares its memory.
    pub fn add_in_place(&mut self, other: &Tensor, factor: f64) -> Result<()> {
        let tensor = self.raw_mut()?;
        call(|error| unsafe { sys::troika_tensor_add_in_place(tensor, other.raw(), factor, error) })
            .map(drop)
    }

    /// Replaces each number x by factor x + offset.
    ///
    /// # Errors
    /// Those of [`Tensor::add_in_place`].
    pub fn scale_in_place(&mut self, factor: f64, offset: f64) -> Result<()> {
        let tensor = self.raw_mut()?;
        call(|error| unsafe { sys::troika_tensor_scale_in_place(tensor, factor, offset, error) })
            .map(drop)
    }
}

/// # Matrices and images
impl Tensor {
    /// Multiplies matrices: self \[..., m, k\] by other \[..., k, n\] to \[..., m, n\]. `other` may
    /// be one matrix for all of self. With `transpose_self`, self is stored as \[..., k, m\]; with
    /// `transpose_other`, other is stored as \[..., n, k\].
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn matmul(
        &self,
        other: &Tensor,
        transpose_self: bool,
        transpose_other: bool,
    ) -> Result<Tensor> {
        let (a, b) = (i32::from(transpose_self), i32::from(transpose_other));
        tensor(|out, error| unsafe {
            sys::troika_tensor_matmul(self.raw(), other.raw(), a, b, out, error)
        })
    }

    /// Convolves images \[batch, C, H, W\] with a weight \[K, C / groups, kernel height, kernel
    /// width\], as [`Model::add_conv2d`](crate::Model::add_conv2d), and adds a bias \[K\] of f32.
    /// The options that are read are `stride`, `padding`, `dilation` and `groups`.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn conv2d(
        &self,
        weight: &Tensor,
        bias: Option<&Tensor>,
        options: &Conv2dOptions,
    ) -> Result<Tensor> {
        let (x, weight) = (self.raw(), weight.raw());
        let bias = bias.map_or(ptr::null_mut(), Tensor::raw);
        options.pass(|options| {
            tensor(|out, error| unsafe {
                sys::troika_tensor_conv2d(x, weight, bias, options, out, error)
            })
        })
    }

    /// The largest number of each window, as
    /// [`Model::add_max_pool2d`](crate::Model::add_max_pool2d).
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn max_pool2d(&self, options: &Pool2dOptions) -> Result<Tensor> {
        options.pass(|options| {
            tensor(|out, error| unsafe {
                sys::troika_tensor_max_pool2d(self.raw(), options, out, error)
            })
        })
    }

    /// The mean of each window, as [`Model::add_avg_pool2d`](crate::Model::add_avg_pool2d).
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn avg_pool2d(&self, options: &Pool2dOptions) -> Result<Tensor> {
        options.pass(|options| {
            tensor(|out, error| unsafe {
                sys::troika_tensor_avg_pool2d(self.raw(), options, out, error)
            })
        })
    }
}

/// # Shapes
impl Tensor {
    /// Shows the elements of any type, row-major, under another shape. One size may be -1: it
    /// follows from the others. The result shares the memory, so neither tensor can be changed
    /// while both live.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if the number of elements differs.
    pub fn reshape(&self, dims: &[i64]) -> Result<Tensor> {
        let rank = count(dims.len(), "dims")?;
        let handle = create(|out, error| unsafe {
            sys::troika_tensor_reshape(self.raw(), dims.as_ptr(), rank, out, error)
        })?;
        Ok(self.view_of(handle))
    }

    /// Axis i of the result is axis `order[i]`. Without an order, the axes are reversed.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn transpose(&self, order: Option<&[i32]>) -> Result<Tensor> {
        let rank = self.describe()?.dims.len();
        if let Some(found) = order.map(<[i32]>::len).filter(|&length| length != rank) {
            let message = format!("order: {found} axes, the tensor has {rank}");
            return Err(Error::invalid(message));
        }
        let order = order.map_or(ptr::null(), <[i32]>::as_ptr);
        tensor(|out, error| unsafe { sys::troika_tensor_transpose(self.raw(), order, out, error) })
    }

    /// The part of the tensor in a range along `axis`, as a copy. An axis below 0 counts from the
    /// end.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn slice(&self, axis: i32, range: Range<i64>) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_slice(self.raw(), axis, range.start, range.end, out, error)
        })
    }

    /// Joins tensors along `axis`, in the order of the list. They may differ in the size of that
    /// axis alone.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn concat(tensors: &[&Tensor], axis: i32) -> Result<Tensor> {
        let raw: Vec<_> = tensors.iter().map(|tensor| tensor.raw()).collect();
        let number = count(raw.len(), "tensors")?;
        tensor(|out, error| unsafe {
            sys::troika_tensor_concat(raw.as_ptr(), number, axis, out, error)
        })
    }

    /// Repeats the tensor until it has the shape `dims`: an axis of size 1, or a missing one at the
    /// front, is repeated.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn expand(&self, dims: &[i64]) -> Result<Tensor> {
        let rank = count(dims.len(), "dims")?;
        tensor(|out, error| unsafe {
            sys::troika_tensor_expand(self.raw(), dims.as_ptr(), rank, out, error)
        })
    }
}

/// # Along axes
///
/// An axis below 0 counts from the end.
impl Tensor {
    /// The sums over some axes, or over all. `keep_axes` keeps them with the size 1.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn sum(&self, axes: Option<&[i32]>, keep_axes: bool) -> Result<Tensor> {
        let ((axes, number), keep) = (axes_of(axes)?, i32::from(keep_axes));
        tensor(|out, error| unsafe {
            sys::troika_tensor_sum(self.raw(), axes, number, keep, out, error)
        })
    }

    /// The means over some axes, or over all, as [`Tensor::sum`].
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn mean(&self, axes: Option<&[i32]>, keep_axes: bool) -> Result<Tensor> {
        let ((axes, number), keep) = (axes_of(axes)?, i32::from(keep_axes));
        tensor(|out, error| unsafe {
            sys::troika_tensor_mean(self.raw(), axes, number, keep, out, error)
        })
    }

    /// The root of the sum of all squares: the Frobenius norm of a matrix.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn norm(&self) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_norm(self.raw(), out, error) })
    }

    /// e^x over the sum of e^x along `axis`.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn softmax(&self, axis: i32) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_softmax(self.raw(), axis, out, error) })
    }

    /// The places of the largest numbers along `axis`, as i64 without that axis. The first of
    /// equal numbers counts; NaN counts as the largest. It is not recorded.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn argmax(&self, axis: i32) -> Result<Tensor> {
        tensor(|out, error| unsafe { sys::troika_tensor_argmax(self.raw(), axis, out, error) })
    }

    /// The cross-entropy of each label, f32. Self is logits \[batch, classes\], \[batch, steps,
    /// classes\] or \[batch, classes, H, W\]. The labels have that shape without its classes, and
    /// are i32, i64 or u8. GPUs do not compare a label with the number of classes.
    ///
    /// # Errors
    /// Those of [`Tensor::add`].
    pub fn cross_entropy(&self, labels: &Tensor) -> Result<Tensor> {
        tensor(|out, error| unsafe {
            sys::troika_tensor_cross_entropy(self.raw(), labels.raw(), out, error)
        })
    }
}

/// # Text
impl Tensor {
    /// Returns the tensor as text: type, shape and device, then its numbers, in brackets per axis.
    /// Long axes of large tensors show their first and last 3. [`Display`](fmt::Display) writes
    /// this text, too.
    pub fn to_text(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::troika_tensor_to_text(self.raw(), buffer, capacity, size, error)
        })
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_text().map_err(|_| fmt::Error)?)
    }
}
