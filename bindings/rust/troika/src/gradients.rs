//! Gradients of what tensors compute.

use crate::call::{call, create, create_several, Handle};
use crate::convert::count;
use crate::{Context, Result, Tensor};
use troika_sys as sys;

/// A record of operations on tensors, for gradients of a number that they have made.
///
/// It records the operations that read a watched tensor, or a result of such an operation. Recorded
/// tensors are not changed in place until it is dropped. Several threads may use it at once.
///
/// ```
/// use troika::{Context, Device, Gradients, Tensor};
///
/// let context = Context::new(&Default::default())?;
/// let tensor = |numbers: &[f32]| Tensor::new(&context, Device::cpu(0), &[4, 1], numbers);
/// let (x, y) = (tensor(&[1.0, 2.0, 3.0, 4.0])?, tensor(&[3.0, 5.0, 7.0, 9.0])?); // y = 2 x + 1
/// let mut w = Tensor::new(&context, Device::cpu(0), &[1, 1], &[0.0_f32])?;
/// let mut b = Tensor::new(&context, Device::cpu(0), &[1], &[0.0_f32])?;
/// for _ in 0..500 {
///     let gradients = Gradients::new(&context)?;
///     gradients.watch([&mut w, &mut b])?;
///     let difference = x.matmul(&w, false, false)?.add(&b)?.subtract(&y)?;
///     let loss = difference.multiply(&difference)?.mean(None, false)?;
///     let changes = gradients.of(&loss, &[&w, &b])?;
///     drop(gradients); // now w and b may change
///     w.add_in_place(&changes[0], -0.1)?;
///     b.add_in_place(&changes[1], -0.1)?;
/// }
/// assert!((w.to_vec::<f32>()?[0] - 2.0).abs() < 1e-3);
/// assert!((b.to_vec::<f32>()?[0] - 1.0).abs() < 1e-3);
/// # Ok::<(), troika::Error>(())
/// ```
#[derive(Debug)]
pub struct Gradients {
    handle: Handle<sys::troika_gradients_s>,
}

impl Gradients {
    /// Creates an empty record.
    pub fn new(context: &Context) -> Result<Self> {
        let context = context.raw();
        let handle =
            create(|out, error| unsafe { sys::troika_gradients_create(context, out, error) })?;
        Ok(Self { handle })
    }

    fn raw(&self) -> sys::troika_gradients {
        self.handle.raw()
    }

    /// Records the operations that read one of `tensors` from now on: `watch([&mut w, &mut b])`,
    /// or `watch(&mut tensors)` with a list.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if another record watches a tensor, or
    /// if its type is not f32, bf16 or f16. The tensors before that one are watched.
    pub fn watch<'a>(&self, tensors: impl IntoIterator<Item = &'a mut Tensor>) -> Result<()> {
        tensors.into_iter().try_for_each(|tensor| {
            let tensor = tensor.raw();
            call(|error| unsafe { sys::troika_gradients_watch(self.raw(), tensor, error) })
                .map(drop)
        })
    }

    /// Computes the gradients of `number`, a tensor of one element that recorded operations have
    /// made, for each of `tensors`. A gradient has the type, the shape and the device of its
    /// tensor. May be called several times.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if a tensor is not of this record, or if
    /// `number` has several elements or does not depend on a tensor.
    /// [`Unsupported`](crate::Status::Unsupported) for an operation without a gradient.
    /// [`OutOfMemory`](crate::Status::OutOfMemory).
    pub fn of(&self, number: &Tensor, tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
        let raw: Vec<_> = tensors.iter().map(|tensor| tensor.raw()).collect();
        let length = count(raw.len(), "tensors")?;
        let gradients = create_several(raw.len(), |out, error| unsafe {
            let (number, tensors) = (number.raw(), raw.as_ptr());
            sys::troika_gradients_compute(self.raw(), number, tensors, length, out, error)
        })?;
        Ok(gradients.into_iter().map(Tensor::of).collect())
    }
}
