// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// Description of a layer. Filled by [`Model::describe_layer`](crate::Model::describe_layer).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerInfo {
    /// The first of them; 0 beyond the last.
    pub inputs: Vec<Value>,
    /// The layer's output.
    pub output: Value,
    /// Elements of the layer's parameters.
    pub parameters: i64,
    /// Operations of the forward pass for one sample.
    pub operations: f64,
    /// Type of the output: [`Dtype::F32`](crate::Dtype::F32) and so on.
    pub dtype: Dtype,
    /// Shape of one sample's output; 0 beyond rank.
    pub dims: Vec<i64>,
    /// "conv2d" for a layer of [`Model::add_conv2d`](crate::Model::add_conv2d), and so on; "input"
    /// for the input.
    pub kind: String,
    /// "layer1.0.conv1".
    pub name: String,
}

impl Struct for LayerInfo {
    type Raw = sys::troika_layer_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_layer_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            inputs: part(&raw.inputs, raw.input_count).iter().copied().map(Value).collect(),
            output: Value(raw.output),
            parameters: raw.parameters,
            operations: raw.operations,
            dtype: Dtype::from_raw(raw.dtype)?,
            dims: part(&raw.dims, raw.rank).to_vec(),
            kind: text_of(&raw.kind),
            name: text_of(&raw.name),
        })
    }
}

/// Description of a model. Filled by [`Model::describe`](crate::Model::describe).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// `true`: the output is set.
    pub is_complete: bool,
    /// Layers, with the input as layer 0.
    pub layers: i32,
    /// Parameters and buffers together.
    pub entries: i32,
    /// Elements of all parameters.
    pub parameters: i64,
    /// Operations of the forward pass for one sample; a product and its sum are 2.
    pub operations: f64,
    /// [`Dtype::F32`](crate::Dtype::F32), or [`Dtype::I32`](crate::Dtype::I32) for tokens; 0
    /// without an input.
    pub input_dtype: Option<Dtype>,
    /// Shape of a sample; 0 beyond `input_rank`.
    pub input_dims: Vec<i64>,
    /// [`Dtype::F32`](crate::Dtype::F32); 0 if the model is not complete.
    pub output_dtype: Option<Dtype>,
    /// Shape of one sample's output.
    pub output_dims: Vec<i64>,
    /// The model's name.
    pub name: String,
}

impl Struct for ModelInfo {
    type Raw = sys::troika_model_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_model_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            is_complete: raw.is_complete != 0,
            layers: raw.layers,
            entries: raw.entries,
            parameters: raw.parameters,
            operations: raw.operations,
            input_dtype: optional_enum(raw.input_dtype, 0, Dtype::from_raw)?,
            input_dims: part(&raw.input_dims, raw.input_rank).to_vec(),
            output_dtype: optional_enum(raw.output_dtype, 0, Dtype::from_raw)?,
            output_dims: part(&raw.output_dims, raw.output_rank).to_vec(),
            name: text_of(&raw.name),
        })
    }
}

/// Description of a trainer. Filled by [`Trainer::describe`](crate::Trainer::describe).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TrainerInfo {
    /// Devices, and replicas, of this process.
    pub device_count: i32,
    /// How the devices of all processes share the work; no part is 0.
    pub mesh: Mesh,
    /// Steps done, also those before a training state was loaded.
    pub step: i64,
    /// The rate of the next step, with schedule.
    pub learning_rate: f64,
    /// The scale of the next step; 1 without.
    pub loss_scale: f64,
    /// Elements of the parameters that are trained.
    pub trained_elements: i64,
    /// Parameters that are trained.
    pub trained_entries: i32,
    /// 1; 0 after an error that is permanent: [`Status::Detached`](crate::Status::Detached),
    /// [`Status::Comm`](crate::Status::Comm).
    pub is_usable: bool,
}

impl Struct for TrainerInfo {
    type Raw = sys::troika_trainer_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_trainer_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            device_count: raw.device_count,
            mesh: unsafe { Mesh::from_raw(&raw.mesh) }?,
            step: raw.step,
            learning_rate: raw.learning_rate,
            loss_scale: raw.loss_scale,
            trained_elements: raw.trained_elements,
            trained_entries: raw.trained_entries,
            is_usable: raw.is_usable != 0,
        })
    }
}

/// Description of a value. Filled by [`Model::describe_value`](crate::Model::describe_value).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValueInfo {
    /// Index of the layer whose output the value is.
    pub layer: i32,
    /// [`Dtype::F32`](crate::Dtype::F32) and so on.
    pub dtype: Dtype,
    /// Shape of one sample's value; 0 beyond rank.
    pub dims: Vec<i64>,
}

impl Struct for ValueInfo {
    type Raw = sys::troika_value_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_value_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            layer: raw.layer,
            dtype: Dtype::from_raw(raw.dtype)?,
            dims: part(&raw.dims, raw.rank).to_vec(),
        })
    }
}
