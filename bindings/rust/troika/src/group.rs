//! Groups of processes.

use crate::call::{call, create, describe, Handle};
use crate::convert::{count, Input};
use crate::{Context, GroupInfo, GroupOptions, Result, Tensor};
use std::sync::Arc;
use troika_sys as sys;

/// The processes of a job, on one machine or several, that train together.
///
/// A call is collective if all processes must make it, in the same order; otherwise it returns
/// [`Comm`](crate::Status::Comm) in all of them. A clone is the same group, and the last one leaves
/// it. One thread uses a group at a time; a second one gets [`Busy`](crate::Status::Busy).
#[derive(Clone, Debug)]
pub struct Group {
    handle: Arc<Handle<sys::troika_group_s>>,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle, &other.handle)
    }
}

impl Group {
    /// Joins a group, and returns when all processes have joined. Without a rank, the launcher of
    /// this process says which group. Collective.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) names the option or the variable.
    /// [`Comm`](crate::Status::Comm) names the ranks that have not joined.
    pub fn new(context: &Context, options: &GroupOptions) -> Result<Self> {
        let context = context.raw();
        let handle = options.pass(|options| {
            create(|out, error| unsafe { sys::troika_group_create(context, options, out, error) })
        })?;
        Ok(Self { handle: Arc::new(handle) })
    }

    pub(crate) fn raw(&self) -> sys::troika_group {
        self.handle.raw()
    }

    /// Describes the group and this process. Any thread may call it at any time.
    pub fn describe(&self) -> Result<GroupInfo> {
        describe(|out, error| unsafe { sys::troika_group_describe(self.raw(), out, error) })
    }

    /// Returns when all processes have called it. Collective.
    ///
    /// # Errors
    /// [`Comm`](crate::Status::Comm).
    pub fn barrier(&self) -> Result<()> {
        call(|error| unsafe { sys::troika_group_barrier(self.raw(), error) }).map(drop)
    }

    /// Replaces the elements of `tensor` by their sums over all processes. Collective.
    ///
    /// # Errors
    /// [`Mismatch`](crate::Status::Mismatch) names a rank with another type or shape.
    /// [`Unsupported`](crate::Status::Unsupported): the type. [`Comm`](crate::Status::Comm).
    pub fn all_reduce(&self, tensor: &mut Tensor) -> Result<()> {
        let tensor = tensor.raw_mut()?;
        call(|error| unsafe { sys::troika_group_all_reduce(self.raw(), tensor, error) }).map(drop)
    }

    /// Replaces the elements of `tensor` by those of process `root`. Collective.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce`].
    pub fn broadcast(&self, tensor: &mut Tensor, root: usize) -> Result<()> {
        let (tensor, root) = (tensor.raw_mut()?, count(root, "root")?);
        call(|error| unsafe { sys::troika_group_broadcast(self.raw(), tensor, root, error) })
            .map(drop)
    }

    /// Returns the tensors of all processes, one after another along axis 0. Collective.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce`].
    pub fn all_gather(&self, tensor: &Tensor) -> Result<Tensor> {
        let handle = create(|out, error| unsafe {
            sys::troika_group_all_gather(self.raw(), tensor.raw(), out, error)
        })?;
        Ok(Tensor::of(handle))
    }

    /// Returns this process's rows of the sum over all processes. Collective.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce`].
    pub fn reduce_scatter(&self, tensor: &Tensor) -> Result<Tensor> {
        let handle = create(|out, error| unsafe {
            sys::troika_group_reduce_scatter(self.raw(), tensor.raw(), out, error)
        })?;
        Ok(Tensor::of(handle))
    }

    /// Sends a tensor to process `to`, which receives it. Returns when the tensor may change.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce`].
    pub fn send(&self, tensor: &Tensor, to: usize) -> Result<()> {
        let to = count(to, "to")?;
        call(|error| unsafe { sys::troika_group_send(self.raw(), tensor.raw(), to, error) })
            .map(drop)
    }

    /// Replaces the elements of `tensor` by those that process `from` sends.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce`].
    pub fn receive(&self, tensor: &mut Tensor, from: usize) -> Result<()> {
        let (tensor, from) = (tensor.raw_mut()?, count(from, "from")?);
        call(|error| unsafe { sys::troika_group_receive(self.raw(), tensor, from, error) })
            .map(drop)
    }
}
