//! Models.

use crate::call::{call, create, describe, text, value, Handle};
use crate::convert::{
    bytes_of, c_path, c_text, count, elements_of, index, initialized, part, Input, Number, Struct,
};
use crate::{
    Context, Device, Dtype, Element, Error, Initializer, LayerInfo, LoadOptions, LoadReport, Mesh,
    ModelInfo, ModelOptions, ParameterInfo, PlanOptions, PlanResult, Result, Status, Tensor,
    Trainer, TrainerOptions, ValueInfo,
};
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};
use troika_sys as sys;

/// The output of a layer, which other models refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(pub(crate) i64);

/// A network of named layers with parameters, and the trained result.
///
/// Several threads may read a model at once: predict, describe, save, clone. A call that changes it
/// has it alone, which Rust checks. Calls that read or write parameters return
/// [`Busy`](Status::Busy) while a trainer of the model computes.
#[derive(Debug)]
pub struct Model {
    handle: Handle<sys::troika_model_s>,
    /// The form of a sample, when it is known; see `sample`.
    sample: AtomicI64,
}

impl Model {
    pub(crate) fn of_library(handle: Handle<sys::troika_model_s>) -> Self {
        Self { handle, sample: AtomicI64::new(0) }
    }

    pub(crate) fn raw(&self) -> sys::troika_model {
        self.handle.raw()
    }

    /// Builds a model of the zoo, whose names are [`zoo_names`](crate::zoo_names).
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound) lists the names.
    /// [`InvalidArgument`](Status::InvalidArgument): an option that the model does not have, or an
    /// image too small for its layers.
    pub fn new(context: &Context, name: &str, options: &ModelOptions) -> Result<Self> {
        let (context, name) = (context.raw(), c_text(name, "name")?);
        let handle = options.pass(|options| {
            create(|out, error| unsafe {
                sys::troika_model_create(context, name.as_ptr(), options, out, error)
            })
        })?;
        Ok(Self::of_library(handle))
    }

    /// Creates a model without layers, to be built layer by layer.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a name that is not 1 to 200 bytes long, or
    /// that has control characters.
    ///
    /// ```
    /// use troika::{Context, Model};
    ///
    /// let context = Context::new(&Default::default())?;
    /// let mut model = Model::create_empty(&context, "net")?;
    /// let x = model.add_input("x", &[1, 28, 28])?; // [batch, 1, 28, 28]
    /// let x = model.add_flatten("flatten", x)?; // [batch, 784]
    /// let x = model.add_linear("fc", x, 10, true)?; // [batch, 10]
    /// model.set_output(x)?;
    /// assert_eq!(model.describe()?.parameters, 7850);
    /// # Ok::<(), troika::Error>(())
    /// ```
    pub fn create_empty(context: &Context, name: &str) -> Result<Self> {
        let (context, name) = (context.raw(), c_text(name, "name")?);
        create(|out, error| unsafe {
            sys::troika_model_create_empty(context, name.as_ptr(), out, error)
        })
        .map(Self::of_library)
    }

    /// Reads layers and weights from a file of [`Model::save`] or [`Trainer::save`].
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound), [`Io`](Status::Io), [`Corrupt`](Status::Corrupt);
    /// [`Mismatch`](Status::Mismatch): a file with weights alone.
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let (context, path) = (context.raw(), c_path(path.as_ref())?);
        create(|out, error| unsafe { sys::troika_model_open(context, path.as_ptr(), out, error) })
            .map(Self::of_library)
    }

    /// Reads a model as [`Model::open`] does, from the bytes of a file.
    ///
    /// # Errors
    /// Those of [`Model::open`] except [`NotFound`](Status::NotFound) and [`Io`](Status::Io).
    pub fn open_memory(context: &Context, file: &[u8]) -> Result<Self> {
        let (context, size) = (context.raw(), bytes_of(file));
        create(|out, error| unsafe {
            sys::troika_model_open_memory(context, file.as_ptr().cast(), size, out, error)
        })
        .map(Self::of_library)
    }

    /// Returns another model with the same layers that shares the values of parameters. Each takes
    /// calls of its own, so a host can load newer values into one while threads predict with the
    /// other.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a model that is not complete.
    pub fn try_clone(&self) -> Result<Self> {
        create(|out, error| unsafe { sys::troika_model_clone(self.raw(), out, error) })
            .map(Self::of_library)
    }
}

/// # Parameters
impl Model {
    /// Initialises the parameters whose name matches `pattern` (`*` any run of characters, `?` any
    /// one; None: all). The values depend only on `seed` and the parameter's name. `a` is the
    /// number of [`Initializer`].
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound) if nothing matches,
    /// [`InvalidArgument`](Status::InvalidArgument): `a`, or fans of parameters with one axis.
    pub fn initialize(
        &mut self,
        pattern: Option<&str>,
        initializer: Initializer,
        a: f64,
        seed: u64,
    ) -> Result<()> {
        let pattern = optional_c_text(pattern, "pattern")?;
        let kind = initializer.raw();
        call(|error| unsafe {
            sys::troika_model_initialize(self.raw(), address(&pattern), kind, a, seed, error)
        })
        .map(drop)
    }

    /// Initialises the parameters `parameter` of all layers of some kinds: "weight" of
    /// "linear,conv2d".
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound): no such layer or parameter.
    pub fn initialize_layers(
        &mut self,
        kinds: &str,
        parameter: &str,
        initializer: Initializer,
        a: f64,
        seed: u64,
    ) -> Result<()> {
        let (kinds, parameter) = (c_text(kinds, "kinds")?, c_text(parameter, "parameter")?);
        let (kind, own) = (initializer.raw(), kinds.as_ptr());
        call(|error| unsafe {
            sys::troika_model_initialize_layers(
                self.raw(),
                own,
                parameter.as_ptr(),
                kind,
                a,
                seed,
                error,
            )
        })
        .map(drop)
    }

    /// Initialises every parameter and buffer by the model's default, which is PyTorch's for most
    /// layers.
    pub fn initialize_default(&mut self, seed: u64) -> Result<()> {
        call(|error| unsafe { sys::troika_model_initialize_default(self.raw(), seed, error) })
            .map(drop)
    }

    /// Returns the number of parameters and buffers, and the number of elements of all parameters.
    pub fn count_parameters(&self) -> Result<(usize, i64)> {
        let mut entries = 0;
        let elements = value(0, |elements, error| unsafe {
            sys::troika_model_count_parameters(self.raw(), &mut entries, elements, error)
        })?;
        Ok((index(entries), elements))
    }

    /// Describes a parameter or buffer, in the order of creation.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound): no such index.
    pub fn describe_parameter(&self, index: usize) -> Result<ParameterInfo> {
        let index = count(index, "index")?;
        describe(|out, error| unsafe {
            sys::troika_model_describe_parameter(self.raw(), index, out, error)
        })
    }

    /// Describes all parameters and buffers, in the order of creation.
    ///
    /// ```
    /// use troika::{Context, Model};
    ///
    /// let context = Context::new(&Default::default())?;
    /// let model = Model::new(&context, "mlp", &Default::default())?;
    /// for parameter in model.parameters()? {
    ///     println!("{} {:?}", parameter.name, parameter.dims);
    /// }
    /// # Ok::<(), troika::Error>(())
    /// ```
    pub fn parameters(&self) -> Result<impl ExactSizeIterator<Item = ParameterInfo>> {
        let (entries, _) = self.count_parameters()?;
        let infos = (0..entries).map(|index| self.describe_parameter(index));
        Ok(infos.collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// Returns the index of the parameter or buffer with that name.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound) has the nearest name.
    pub fn find_parameter(&self, name: &str) -> Result<usize> {
        let name = c_text(name, "name")?;
        let found = value(0, |out, error| unsafe {
            sys::troika_model_find_parameter(self.raw(), name.as_ptr(), out, error)
        })?;
        Ok(index(found))
    }

    /// Copies a parameter or buffer, row-major, into `data`: f32, or i64 for num_batches_tracked.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound), [`NotInitialized`](Status::NotInitialized),
    /// [`InvalidArgument`](Status::InvalidArgument) if `data` has another type or size,
    /// [`Busy`](Status::Busy).
    pub fn get_parameter<T: Element>(&self, name: &str, data: &mut [T]) -> Result<()> {
        self.require::<T>(name)?;
        let name = c_text(name, "name")?;
        let (to, size) = (data.as_mut_ptr().cast(), bytes_of(data));
        call(|error| unsafe {
            sys::troika_model_get_parameter(self.raw(), name.as_ptr(), to, size, error)
        })
        .map(drop)
    }

    /// Copies `data`, row-major, into a parameter or buffer. A trainer of the model takes the value
    /// before its next step.
    ///
    /// # Errors
    /// Those of [`Model::get_parameter`].
    pub fn set_parameter<T: Element>(&mut self, name: &str, data: &[T]) -> Result<()> {
        self.require::<T>(name)?;
        let name = c_text(name, "name")?;
        let (from, size) = (data.as_ptr().cast(), bytes_of(data));
        call(|error| unsafe {
            sys::troika_model_set_parameter(self.raw(), name.as_ptr(), from, size, error)
        })
        .map(drop)
    }

    /// Refuses elements of another type than a parameter or buffer has. C compares only sizes.
    pub(crate) fn require<T: Element>(&self, name: &str) -> Result<()> {
        let dtype = self.describe_parameter(self.find_parameter(name)?)?.dtype;
        if dtype == T::DTYPE {
            return Ok(());
        }
        let message = format!("parameter '{name}': elements are {:?}, need {dtype:?}", T::DTYPE);
        Err(Error::invalid(message))
    }
}

/// # Descriptions
impl Model {
    /// Describes the model, which need not be complete.
    pub fn describe(&self) -> Result<ModelInfo> {
        describe(|out, error| unsafe { sys::troika_model_describe(self.raw(), out, error) })
    }

    /// Describes a layer, in the order in which layers were added.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound): no such index.
    pub fn describe_layer(&self, index: usize) -> Result<LayerInfo> {
        let index = count(index, "index")?;
        describe(|out, error| unsafe {
            sys::troika_model_describe_layer(self.raw(), index, out, error)
        })
    }

    /// Describes all layers, in the order in which layers were added. The input is a layer.
    pub fn layers(&self) -> Result<impl ExactSizeIterator<Item = LayerInfo>> {
        let infos = (0..index(self.describe()?.layers)).map(|index| self.describe_layer(index));
        Ok(infos.collect::<Result<Vec<_>>>()?.into_iter())
    }

    /// Returns the index of the layer with that name.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound) has the nearest name.
    pub fn find_layer(&self, name: &str) -> Result<usize> {
        let name = c_text(name, "name")?;
        let found = value(0, |out, error| unsafe {
            sys::troika_model_find_layer(self.raw(), name.as_ptr(), out, error)
        })?;
        Ok(index(found))
    }

    /// Describes a value of the model.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a value of another model.
    pub fn describe_value(&self, value: Value) -> Result<ValueInfo> {
        describe(|out, error| unsafe {
            sys::troika_model_describe_value(self.raw(), value.0, out, error)
        })
    }

    /// Returns the description as one JSON object: input, output, layers with their wiring,
    /// parameters and buffers.
    pub fn to_json(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::troika_model_to_json(self.raw(), buffer, capacity, size, error)
        })
    }

    /// Returns the model as a tree, as PyTorch's repr does, with shapes and operations.
    pub fn print(&self) -> Result<String> {
        text(|buffer, capacity, size, error| unsafe {
            sys::troika_model_print(self.raw(), buffer, capacity, size, error)
        })
    }

    /// Estimates memory and time of a training step on one mesh; without one, all devices share the
    /// batch. The devices need not exist.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): a field, or a mesh that does not fit.
    /// [`Unsupported`](Status::Unsupported), [`NotFound`](Status::NotFound),
    /// [`OutOfMemory`](Status::OutOfMemory).
    pub fn plan_estimate(&self, options: &PlanOptions, mesh: Option<&Mesh>) -> Result<PlanResult> {
        let estimate = |mesh: *const sys::troika_mesh| {
            options.pass(|options| {
                describe(|out, error| unsafe {
                    sys::troika_plan_estimate(self.raw(), options, mesh, out, error)
                })
            })
        };
        match mesh {
            Some(mesh) => mesh.pass(|mesh| estimate(mesh)),
            None => estimate(ptr::null()),
        }
    }

    /// Estimates every mesh of the devices, and returns the fastest whose memory fits.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound): no mesh fits, with the reason.
    pub fn plan_choose(&self, options: &PlanOptions) -> Result<PlanResult> {
        options.pass(|options| {
            describe(|out, error| unsafe {
                sys::troika_plan_choose(self.raw(), options, out, error)
            })
        })
    }
}

/// # Files
impl Model {
    /// Writes layers and weights to one safetensors file, with PyTorch's names. Whatever happens,
    /// the file is either the complete old one or the complete new one.
    ///
    /// # Errors
    /// [`NotInitialized`](Status::NotInitialized), [`Io`](Status::Io), [`Busy`](Status::Busy).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        call(|error| unsafe { sys::troika_model_save(self.raw(), path.as_ptr(), error) }).map(drop)
    }

    /// Returns the bytes of the file that [`Model::save`] writes.
    ///
    /// # Errors
    /// [`NotInitialized`](Status::NotInitialized), [`Busy`](Status::Busy).
    pub fn save_memory(&self) -> Result<Vec<u8>> {
        let save = |buffer: *mut c_void, capacity| {
            value(0, |size, error| unsafe {
                sys::troika_model_save_memory(self.raw(), buffer, capacity, size, error)
            })
        };
        let size = save(ptr::null_mut(), 0)?;
        let mut file = vec![0; count_bytes(size)?];
        let size = save(file.as_mut_ptr().cast(), size)?;
        file.truncate(count_bytes(size)?);
        Ok(file)
    }

    /// Reads parameters and buffers from a safetensors file. A refused file changes nothing.
    ///
    /// # Errors
    /// [`NotFound`](Status::NotFound), [`Io`](Status::Io), [`Corrupt`](Status::Corrupt),
    /// [`Busy`](Status::Busy). [`Mismatch`](Status::Mismatch): names, shapes or types differ;
    /// [`Error::load_report`] has the names.
    pub fn load(&mut self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<LoadReport> {
        let path = c_path(path.as_ref())?;
        self.load_by(options, |options, out, error| unsafe {
            sys::troika_model_load(self.raw(), path.as_ptr(), options, out, error)
        })
    }

    /// Reads parameters and buffers as [`Model::load`] does, from the bytes of a file.
    ///
    /// # Errors
    /// Those of [`Model::load`] except [`NotFound`](Status::NotFound) and [`Io`](Status::Io).
    pub fn load_memory(&mut self, file: &[u8], options: &LoadOptions) -> Result<LoadReport> {
        self.load_by(options, |options, out, error| unsafe {
            let (data, size) = (file.as_ptr().cast(), bytes_of(file));
            sys::troika_model_load_memory(self.raw(), data, size, options, out, error)
        })
    }

    fn load_by(
        &self,
        options: &LoadOptions,
        load: impl FnOnce(
            *const sys::troika_load_options,
            *mut sys::troika_load_report,
            *mut sys::troika_error,
        ) -> i32,
    ) -> Result<LoadReport> {
        options.pass(|options| {
            let mut raw = LoadReport::init();
            let result = call(|error| load(options, &mut raw, error));
            let report = unsafe { LoadReport::from_raw(&raw) }?;
            match result {
                Err(error) if error.status() == Status::Mismatch => Err(error.with_report(report)),
                result => result.map(|_| report),
            }
        })
    }
}

/// # Computing
impl Model {
    /// Runs the model in evaluation mode on `device`: \[batch, ...\] to f32 \[batch, the output's
    /// shape\]. Any number of threads may predict with one model at once.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument): shape, type or a token.
    /// [`NotInitialized`](Status::NotInitialized),
    /// [`DeviceUnavailable`](Status::DeviceUnavailable), [`Busy`](Status::Busy).
    pub fn predict(&self, device: Device, input: &Tensor) -> Result<Tensor> {
        let handle = create(|out, error| unsafe {
            sys::troika_model_predict(self.raw(), device.raw(), input.raw(), out, error)
        })?;
        Ok(Tensor::of(handle))
    }

    /// Predicts from and into host memory. `inputs` is \[n, the input's shape\]. `output` is \[n,
    /// the output's shape\], or that of the layer with the name `layer`. After an error it may
    /// hold anything.
    ///
    /// # Errors
    /// Those of [`Model::predict`]; [`NotFound`](Status::NotFound): no such layer.
    pub fn predict_into<T: Element>(
        &self,
        device: Device,
        inputs: &[T],
        layer: Option<&str>,
        output: &mut [f32],
    ) -> Result<()> {
        let n = self.samples_in(inputs)?;
        let layer = optional_c_text(layer, "layer")?;
        call(|error| unsafe {
            let (inputs, output, size) =
                (inputs.as_ptr().cast(), output.as_mut_ptr(), bytes_of(output));
            let (device, layer) = (device.raw(), address(&layer));
            sys::troika_model_predict_into(
                self.raw(),
                device,
                inputs,
                n,
                layer,
                output,
                size,
                error,
            )
        })
        .map(drop)
    }

    /// The number of samples in a list. C reads as many elements as the model's input has.
    fn samples_in<T: Element>(&self, inputs: &[T]) -> Result<i64> {
        let (elements, dtype) = self.sample()?;
        if elements == 0 {
            return Ok(0); // a model without an input, which the library refuses
        }
        if dtype != T::DTYPE {
            let message = format!("model: inputs are {:?}, need {dtype:?}", T::DTYPE);
            return Err(Error::invalid(message));
        }
        if inputs.len() % elements != 0 {
            let found = inputs.len();
            let message = format!("model: {found} inputs, need a multiple of {elements}");
            return Err(Error::invalid(message));
        }
        count(inputs.len() / elements, "inputs")
    }

    /// The elements of a sample and their type, or 0 while the model has no input. They never
    /// change, so a server asks the library only once.
    fn sample(&self) -> Result<(usize, Dtype)> {
        const DTYPES: i64 = 1 << 8;
        let mut sample = self.sample.load(Ordering::Relaxed);
        if sample == 0 {
            let mut info = initialized(sys::troika_model_info_init);
            call(|error| unsafe { sys::troika_model_describe(self.raw(), &mut info, error) })?;
            if info.input_dtype == 0 {
                return Ok((0, Dtype::F32));
            }
            let elements = elements_of(part(&info.input_dims, info.input_rank)).unwrap_or(0);
            sample = count::<i64>(elements, "inputs")? * DTYPES + i64::from(info.input_dtype);
            self.sample.store(sample, Ordering::Relaxed);
        }
        let dtype = Dtype::from_raw((sample % DTYPES) as i32)?;
        Ok((usize::try_from(sample / DTYPES).unwrap_or(0), dtype))
    }

    /// Attaches the model to devices, which share its batches, layers and channels. An earlier
    /// trainer of the model is detached.
    ///
    /// # Errors
    /// [`InvalidArgument`](Status::InvalidArgument) names the field.
    /// [`NotFound`](Status::NotFound): a pattern that matches nothing.
    /// [`Unsupported`](Status::Unsupported), [`DeviceUnavailable`](Status::DeviceUnavailable),
    /// [`OutOfMemory`](Status::OutOfMemory), [`Busy`](Status::Busy), [`Comm`](Status::Comm).
    pub fn attach(&mut self, devices: &[Device], options: &TrainerOptions) -> Result<Trainer> {
        let (devices, number) = Device::raw_list(devices)?;
        let handle = options.pass(|options| {
            create(|out, error| unsafe {
                sys::troika_model_attach(self.raw(), devices.as_ptr(), number, options, out, error)
            })
        })?;
        Ok(Trainer::of_library(handle, options.group.clone()))
    }
}

fn optional_c_text(text: Option<&str>, name: &str) -> Result<Option<CString>> {
    text.map(|text| c_text(text, name)).transpose()
}

fn address(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

fn count_bytes(size: i64) -> Result<usize> {
    usize::try_from(size).map_err(|_| Error::invalid(format!("model: a file of {size} bytes")))
}
