//! Batches.

use crate::call::{call, create, describe, Handle};
use crate::convert::{elements_of, initialized, part};
use crate::{BatchInfo, Result, Tensor};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use troika_sys as sys;

/// A batch: inputs \[n, ...\], numbers or tokens, and targets.
///
/// The lifetime is that of the loader whose memory the batch is; a batch of the caller's own is
/// `Batch<'static>`. Several threads may read a batch at once.
#[derive(Debug)]
pub struct Batch<'a> {
    hold: Hold,
    loader: PhantomData<&'a ()>,
}

#[derive(Debug)]
enum Hold {
    Own(Handle<sys::troika_batch_s>),
    /// The loader has the hold. Nothing happens on drop, so a batch may outlive its last use.
    Loaders(ManuallyDrop<Handle<sys::troika_batch_s>>),
}

impl Batch<'static> {
    /// Copies tensors, which may be on any devices. Inputs are f32, or i32 for tokens. Targets are
    /// classes of i32, i64 or u8, one per sample or one per position, or f32 \[n, k\] values. A
    /// batch without targets serves to predict.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): types or shapes.
    pub fn new(inputs: &Tensor, targets: Option<&Tensor>) -> Result<Self> {
        let targets = targets.map_or(ptr::null_mut(), Tensor::raw);
        create(|out, error| unsafe { sys::troika_batch_create(inputs.raw(), targets, out, error) })
            .map(Self::own)
    }

    /// Copies tensors as [`new`](Self::new) does, and weights f32 \[n\] of the samples in losses,
    /// for trainers with `sample_weights`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): types, shapes or weights.
    pub fn create_weighted(
        inputs: &Tensor,
        targets: Option<&Tensor>,
        weights: &Tensor,
    ) -> Result<Self> {
        let targets = targets.map_or(ptr::null_mut(), Tensor::raw);
        create(|out, error| unsafe {
            sys::troika_batch_create_weighted(inputs.raw(), targets, weights.raw(), out, error)
        })
        .map(Self::own)
    }

    fn own(handle: Handle<sys::troika_batch_s>) -> Self {
        Self { hold: Hold::Own(handle), loader: PhantomData }
    }
}

impl<'a> Batch<'a> {
    pub(crate) fn of_loader(handle: Handle<sys::troika_batch_s>) -> Self {
        Self { hold: Hold::Loaders(ManuallyDrop::new(handle)), loader: PhantomData }
    }

    pub(crate) fn raw(&self) -> sys::troika_batch {
        match &self.hold {
            Hold::Own(handle) => handle.raw(),
            Hold::Loaders(handle) => handle.raw(),
        }
    }

    /// Copies the batch. The copy does not borrow the loader.
    pub fn copy(&self) -> Result<Batch<'static>> {
        create(|out, error| unsafe { sys::troika_batch_copy(self.raw(), out, error) })
            .map(Batch::own)
    }

    /// Describes the batch.
    pub fn describe(&self) -> Result<BatchInfo> {
        describe(|out, error| unsafe { sys::troika_batch_describe(self.raw(), out, error) })
    }

    /// Returns the inputs, row-major; an empty slice if they are tokens.
    pub fn inputs(&self) -> Result<&[f32]> {
        self.slice(|info| (info.inputs, shape(info)))
    }

    /// Returns the tokens, row-major; an empty slice if inputs are numbers.
    pub fn tokens(&self) -> Result<&[i32]> {
        self.slice(|info| (info.tokens, shape(info)))
    }

    /// Returns the labels \[n, label_size\]; an empty slice if there are none.
    pub fn labels(&self) -> Result<&[i32]> {
        self.slice(|info| (info.labels, elements_of(&[info.n, info.label_size])))
    }

    /// Returns the weights of the samples \[n\]; an empty slice if there are none: 1 each.
    pub fn weights(&self) -> Result<&[f32]> {
        self.slice(|info| (info.weights, elements_of(&[info.n])))
    }

    /// Returns the values \[n, value_size\]; an empty slice if there are none.
    pub fn values(&self) -> Result<&[f32]> {
        self.slice(|info| (info.values, elements_of(&[info.n, info.value_size])))
    }

    fn slice<T>(
        &self,
        of: impl FnOnce(&sys::troika_batch_info) -> (*const T, Option<usize>),
    ) -> Result<&[T]> {
        let mut info = initialized(sys::troika_batch_info_init);
        call(|error| unsafe { sys::troika_batch_describe(self.raw(), &mut info, error) })?;
        match of(&info) {
            (first, Some(elements)) if !first.is_null() => {
                // Safety: the memory is the batch's, which this call borrows.
                Ok(unsafe { std::slice::from_raw_parts(first, elements) })
            }
            _ => Ok(&[]),
        }
    }
}

fn shape(info: &sys::troika_batch_info) -> Option<usize> {
    elements_of(part(&info.dims, info.rank))
}
