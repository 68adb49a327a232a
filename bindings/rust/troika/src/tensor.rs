//! Tensors.

use crate::call::{call, create, create_several, describe, Handle};
use crate::convert::{bytes_of, count, elements_of, Number};
use crate::dlpack::{ManagedTensor, ManagedTensorVersioned};
use crate::{Context, Device, Dtype, Element, Error, Result, TensorInfo};
use std::os::raw::c_void;
use std::ptr;
use std::sync::Arc;
use troika_sys as sys;

/// An n-dimensional array on one device, dense and row-major.
///
/// Several threads may read a tensor at once. A call that writes it has it alone. While another
/// tensor shares the memory (see [`Tensor::reshape`]), such a call returns
/// [`InvalidArgument`](crate::Status::InvalidArgument).
#[derive(Debug)]
pub struct Tensor {
    handle: Handle<sys::troika_tensor_s>,
    /// One for all tensors that share the memory.
    memory: Arc<()>,
}

impl Tensor {
    /// Creates a tensor of shape `dims` with a copy of `data`, row-major.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): a shape that cannot be, or that has
    /// another number of elements than `data`.
    /// [`DeviceUnavailable`](crate::Status::DeviceUnavailable),
    /// [`OutOfMemory`](crate::Status::OutOfMemory).
    pub fn new<T: Element>(
        context: &Context,
        device: Device,
        dims: &[i64],
        data: &[T],
    ) -> Result<Self> {
        Self::create(context, device, T::DTYPE, dims, data.as_ptr().cast(), data.len())
    }

    /// Creates a tensor of zeros.
    ///
    /// # Errors
    /// Those of [`Tensor::new`].
    pub fn zeros(context: &Context, device: Device, dtype: Dtype, dims: &[i64]) -> Result<Self> {
        Self::create(context, device, dtype, dims, ptr::null(), elements_of(dims).unwrap_or(0))
    }

    /// Creates a tensor of any type from its bytes, such as one of `bf16`.
    ///
    /// # Errors
    /// Those of [`Tensor::new`].
    pub fn from_bytes(
        context: &Context,
        device: Device,
        dtype: Dtype,
        dims: &[i64],
        bytes: &[u8],
    ) -> Result<Self> {
        if bytes.len() % dtype.size() != 0 {
            let (found, size) = (bytes.len(), dtype.size());
            return Err(Error::invalid(format!(
                "tensor: {found} bytes, needs a multiple of {size}"
            )));
        }
        Self::create(
            context,
            device,
            dtype,
            dims,
            bytes.as_ptr().cast(),
            bytes.len() / dtype.size(),
        )
    }

    /// `data` is NULL, or points to `elements` elements.
    fn create(
        context: &Context,
        device: Device,
        dtype: Dtype,
        dims: &[i64],
        data: *const c_void,
        elements: usize,
    ) -> Result<Self> {
        let data = match elements_of(dims) {
            Some(needed) if needed != elements => {
                let message =
                    format!("tensor: {elements} elements, the shape {dims:?} has {needed}");
                return Err(Error::invalid(message));
            }
            Some(_) => data,
            None => ptr::null(),
        };
        let (context, rank) = (context.raw(), count(dims.len(), "dims")?);
        let handle = create(|out, error| unsafe {
            let (device, dtype) = (device.raw(), dtype.raw());
            sys::troika_tensor_create(context, device, dtype, dims.as_ptr(), rank, data, out, error)
        })?;
        Ok(Self::of(handle))
    }

    /// A tensor whose memory no other tensor of this crate has.
    pub(crate) fn of(handle: Handle<sys::troika_tensor_s>) -> Self {
        Self { handle, memory: Arc::default() }
    }

    /// A tensor with the memory of this one.
    pub(crate) fn view_of(&self, handle: Handle<sys::troika_tensor_s>) -> Self {
        Self { handle, memory: self.memory.clone() }
    }

    pub(crate) fn raw(&self) -> sys::troika_tensor {
        self.handle.raw()
    }

    /// The handle, for a call that changes the elements.
    pub(crate) fn raw_mut(&mut self) -> Result<sys::troika_tensor> {
        match Arc::get_mut(&mut self.memory) {
            Some(_) => Ok(self.raw()),
            None => Err(Error::invalid(
                "tensor: another tensor shares its memory, needs to be dropped first".to_string(),
            )),
        }
    }

    /// Describes the tensor without reading its values.
    pub fn describe(&self) -> Result<TensorInfo> {
        describe(|out, error| unsafe { sys::troika_tensor_describe(self.raw(), out, error) })
    }

    /// Copies the elements, row-major, into `data`.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if `data` has another type or length.
    pub fn to_host<T: Element>(&self, data: &mut [T]) -> Result<()> {
        self.require::<T>(self.describe()?.dtype)?;
        self.read(data)
    }

    /// Returns the elements, row-major.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if the tensor has another type.
    pub fn to_vec<T: Element + Default>(&self) -> Result<Vec<T>> {
        let info = self.describe()?;
        self.require::<T>(info.dtype)?;
        let mut data = vec![T::default(); elements_of(&info.dims).unwrap_or(0)];
        self.read(&mut data)?;
        Ok(data)
    }

    /// Returns the bytes of the elements of any type, row-major.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.describe()?.size_bytes).unwrap_or(0)];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    /// The elements of `data` have any type.
    fn read<T: Element>(&self, data: &mut [T]) -> Result<()> {
        let (to, size) = (data.as_mut_ptr().cast(), bytes_of(data));
        call(|error| unsafe { sys::troika_tensor_to_host(self.raw(), to, size, error) }).map(drop)
    }

    fn require<T: Element>(&self, dtype: Dtype) -> Result<()> {
        if dtype == T::DTYPE {
            return Ok(());
        }
        Err(Error::invalid(format!("tensor: elements are {dtype:?}, data is {:?}", T::DTYPE)))
    }

    /// Copies `data`, row-major, into the tensor.
    ///
    /// # Errors
    /// Those of [`Tensor::to_host`].
    pub fn from_host<T: Element>(&mut self, data: &[T]) -> Result<()> {
        self.require::<T>(self.describe()?.dtype)?;
        let (tensor, from, size) = (self.raw_mut()?, data.as_ptr().cast(), bytes_of(data));
        call(|error| unsafe { sys::troika_tensor_from_host(tensor, from, size, error) }).map(drop)
    }

    /// Copies the elements into `destination`, also between devices.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if shapes or types differ.
    pub fn copy(&self, destination: &mut Tensor) -> Result<()> {
        let to = destination.raw_mut()?;
        call(|error| unsafe { sys::troika_tensor_copy(self.raw(), to, error) }).map(drop)
    }

    /// Returns a new tensor with the same elements on `device`, always a copy.
    ///
    /// # Errors
    /// [`DeviceUnavailable`](crate::Status::DeviceUnavailable),
    /// [`OutOfMemory`](crate::Status::OutOfMemory).
    pub fn to(&self, device: Device) -> Result<Tensor> {
        let handle = create(|out, error| unsafe {
            sys::troika_tensor_to(self.raw(), device.raw(), out, error)
        })?;
        Ok(Self::of(handle))
    }

    /// Cuts the tensor along dimension 0, one piece for each device, the larger pieces first.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument): a scalar, or no device.
    pub fn scatter(&self, devices: &[Device]) -> Result<Vec<Tensor>> {
        let (raw, number) = Device::raw_list(devices)?;
        let pieces = create_several(devices.len(), |out, error| unsafe {
            sys::troika_tensor_scatter(self.raw(), raw.as_ptr(), number, out, error)
        })?;
        Ok(pieces.into_iter().map(Self::of).collect())
    }

    /// Replaces each tensor by the sum of all, element by element. The sum has the same bits on
    /// every device. Types are f32, f64, bf16, f16, i32, i64 and u8.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::Status::InvalidArgument) if shapes or types differ,
    /// [`Unsupported`](crate::Status::Unsupported) for other types.
    pub fn all_reduce(tensors: &mut [Tensor]) -> Result<()> {
        let raw = tensors.iter_mut().map(Tensor::raw_mut).collect::<Result<Vec<_>>>()?;
        let number = count(raw.len(), "tensors")?;
        call(|error| unsafe { sys::troika_tensor_all_reduce(raw.as_ptr(), number, error) })
            .map(drop)
    }

    /// Passes the tensor to another library, without a copy, in the layout of DLPack 0.8.
    pub fn to_dlpack(mut self) -> Result<ManagedTensor> {
        let (tensor, mut out) = (self.raw_mut()?, ptr::null_mut());
        call(|error| unsafe { sys::troika_tensor_to_dlpack(tensor, &mut out, error) })?;
        Ok(unsafe { ManagedTensor::from_raw(out.cast()) })
    }

    /// Passes the tensor to another library, without a copy, in the layout of DLPack 1.0.
    pub fn to_dlpack_versioned(mut self) -> Result<ManagedTensorVersioned> {
        let (tensor, mut out) = (self.raw_mut()?, ptr::null_mut());
        call(|error| unsafe { sys::troika_tensor_to_dlpack_versioned(tensor, &mut out, error) })?;
        Ok(unsafe { ManagedTensorVersioned::from_raw(out.cast()) })
    }

    /// Takes a tensor of another library, without a copy if the memory is aligned.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Status::Unsupported): strides that are not row-major, an unknown
    /// type or device. [`DeviceUnavailable`](crate::Status::DeviceUnavailable).
    pub fn from_dlpack(context: &Context, managed: ManagedTensor) -> Result<Tensor> {
        let context = context.raw();
        let managed = managed.into_raw();
        let created = create(|out, error| unsafe {
            sys::troika_tensor_from_dlpack(context, managed.cast(), out, error)
        });
        if created.is_err() {
            // Safety: after an error the caller still owns the struct.
            drop(unsafe { ManagedTensor::from_raw(managed) });
        }
        Ok(Self::of(created?))
    }

    /// Takes a tensor of another library, in the layout of DLPack 1.x. Memory that is marked as
    /// read-only is copied.
    ///
    /// # Errors
    /// Those of [`Tensor::from_dlpack`].
    pub fn from_dlpack_versioned(
        context: &Context,
        managed: ManagedTensorVersioned,
    ) -> Result<Tensor> {
        let context = context.raw();
        let managed = managed.into_raw();
        let created = create(|out, error| unsafe {
            sys::troika_tensor_from_dlpack_versioned(context, managed.cast(), out, error)
        });
        if created.is_err() {
            // Safety: after an error the caller still owns the struct.
            drop(unsafe { ManagedTensorVersioned::from_raw(managed) });
        }
        Ok(Self::of(created?))
    }
}
