// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Kinds of initialiser. Fans are PyTorch's: for a shape \[o, i, k...\], `fan_in` = i \*
    /// product of k, and `fan_out` = o \* product of k. Initialisers that use them need rank 2 or
    /// above.
    Initializer {
        /// a everywhere.
        Constant = TROIKA_INIT_CONSTANT,
        /// Mean 0, standard deviation a.
        Normal = TROIKA_INIT_NORMAL,
        /// Between -a and a.
        Uniform = TROIKA_INIT_UNIFORM,
        /// Normal, std sqrt(2 / `fan_in`) (He et al. 2015).
        KaimingNormal = TROIKA_INIT_KAIMING_NORMAL,
        /// Uniform, bound sqrt(6 / `fan_in`).
        KaimingUniform = TROIKA_INIT_KAIMING_UNIFORM,
        /// Normal, std sqrt(2 / (`fan_in` + `fan_out`)) (Glorot and Bengio 2010).
        XavierNormal = TROIKA_INIT_XAVIER_NORMAL,
        /// Uniform, bound sqrt(6 / (`fan_in` + `fan_out`)).
        XavierUniform = TROIKA_INIT_XAVIER_UNIFORM,
    }
}

/// Options of [`Model::load`](crate::Model::load). End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// `false` (default): names that differ are [`Status::Mismatch`](crate::Status::Mismatch).
    /// `true`: loads the names that are in both.
    pub allow_partial: bool,
    /// Removed from the beginning of every name in the file, such as "module."; `None`: none.
    pub strip_prefix: Option<String>,
    /// `false` (default): shapes or dtypes that differ are
    /// [`Status::Mismatch`](crate::Status::Mismatch). `true`: such parameters keep their values,
    /// and the report names them: for a last layer of another number of classes.
    pub skip_mismatching: bool,
    /// Patterns of names in the model, separated by commas, such as "fc.\*": parameters and buffers
    /// that keep their values, whatever the file has. `None`: none.
    pub skip: Option<String>,
    /// The model's names for those of the file, after `strip_prefix`: rules "name in file=name in
    /// model", separated by commas. The first rule that fits a whole name applies; \* is any run of
    /// characters, the same on both sides: "encoder.\*=backbone.\*". Also the name of a table:
    /// "d2l" for the ResNet-18 of Dive into Deep Learning, "torchvision" for torchvision's models,
    /// also within a module. `None`: the file has the model's names.
    pub name_map: Option<String>,
}

impl Struct for LoadOptions {
    type Raw = sys::troika_load_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_load_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            allow_partial: raw.allow_partial != 0,
            strip_prefix: unsafe { optional_text(raw.strip_prefix) },
            skip_mismatching: raw.skip_mismatching != 0,
            skip: unsafe { optional_text(raw.skip) },
            name_map: unsafe { optional_text(raw.name_map) },
        })
    }
}

impl Input for LoadOptions {
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.allow_partial = i32::from(self.allow_partial);
        raw.strip_prefix = held.text(self.strip_prefix.as_deref(), "strip_prefix")?;
        raw.skip_mismatching = i32::from(self.skip_mismatching);
        raw.skip = held.text(self.skip.as_deref(), "skip")?;
        raw.name_map = held.text(self.name_map.as_deref(), "name_map")?;
        Ok(raw)
    }
}

impl Default for LoadOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Report on loading. Filled by [`Model::load`](crate::Model::load).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Parameters and buffers that took a value.
    pub loaded: i32,
    /// In the model, not in the file; `num_batches_tracked` is never missing.
    pub missing: i32,
    /// In the file, not in the model.
    pub unexpected: i32,
    /// In both, with another shape or dtype.
    pub mismatching: i32,
    /// In the model, and not loaded because of skip.
    pub kept: i32,
    /// The first missing, unexpected and mismatching names, in whole lines, one line per name:
    /// "missing fc.bias", "unexpected x", "mismatching x: file F32 \[9\], model F32 \[5\]". If not
    /// all fit, the last line is "... and N more".
    pub names: String,
}

impl Struct for LoadReport {
    type Raw = sys::troika_load_report;

    fn init() -> Self::Raw {
        initialized(sys::troika_load_report_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            loaded: raw.loaded,
            missing: raw.missing,
            unexpected: raw.unexpected,
            mismatching: raw.mismatching,
            kept: raw.kept,
            names: text_of(&raw.names),
        })
    }
}

/// Options of [`Model::new`](crate::Model::new). End a literal with `..Default::default()`. A field
/// that is unset takes the model's own default.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOptions {
    /// Outputs of the last layer. Default 10 (d2l_\*, resnet9, mlp), 1000 (resnet18, 34 and 50) or
    /// 256 (`char_lstm`: also the words of its embedding).
    pub classes: Option<i64>,
    /// Default 1 (d2l_\*, resnet9, mlp) or 3 (resnet18, 34 and 50).
    pub input_channels: Option<i64>,
    /// Default 28 (d2l_\*, resnet9, mlp) or 224 (resnet18, 34 and 50).
    pub input_height: Option<i64>,
    /// Default: `input_height` if that is set, else as its default.
    pub input_width: Option<i64>,
    /// Units of the hidden layer; default 256 (mlp) or 128 (`char_lstm`).
    pub hidden: Option<i64>,
    /// `char_lstm`: tokens of a sample, default 64.
    pub steps: Option<i64>,
}

impl Struct for ModelOptions {
    type Raw = sys::troika_model_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_model_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            classes: optional_number(raw.classes),
            input_channels: optional_number(raw.input_channels),
            input_height: optional_number(raw.input_height),
            input_width: optional_number(raw.input_width),
            hidden: optional_number(raw.hidden),
            steps: optional_number(raw.steps),
        })
    }
}

impl Input for ModelOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.classes = self.classes.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.input_channels = self.input_channels.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.input_height = self.input_height.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.input_width = self.input_width.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.hidden = self.hidden.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.steps = self.steps.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        Ok(raw)
    }
}

impl Default for ModelOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Description of a parameter or buffer. Filled by
/// [`Model::describe_parameter`](crate::Model::describe_parameter).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// [`Dtype::F32`](crate::Dtype::F32), or [`Dtype::I64`](crate::Dtype::I64) for
    /// `num_batches_tracked`.
    pub dtype: Dtype,
    /// `true`: a buffer that no optimizer updates (running statistics).
    pub is_buffer: bool,
    /// `true`: it has a value.
    pub is_initialized: bool,
    /// Sizes; 0 beyond rank.
    pub dims: Vec<i64>,
    /// "conv1.weight".
    pub name: String,
}

impl Struct for ParameterInfo {
    type Raw = sys::troika_parameter_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_parameter_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            dtype: Dtype::from_raw(raw.dtype)?,
            is_buffer: raw.is_buffer != 0,
            is_initialized: raw.is_initialized != 0,
            dims: part(&raw.dims, raw.rank).to_vec(),
            name: text_of(&raw.name),
        })
    }
}
