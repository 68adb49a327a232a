// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// Options of a 1-d convolution. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv1dOptions {
    /// `true`: without a bias; `false` (default): with.
    pub no_bias: bool,
    /// Must be set.
    pub out_channels: i64,
    /// Must be set.
    pub kernel: i64,
    /// Default 1.
    pub stride: i64,
    /// Zeros added on each side; default 0.
    pub padding: i64,
    /// Default 1.
    pub dilation: i64,
    /// Default 1; divides both channel counts.
    pub groups: i64,
}

impl Struct for Conv1dOptions {
    type Raw = sys::troika_conv1d_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_conv1d_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            no_bias: raw.no_bias != 0,
            out_channels: raw.out_channels,
            kernel: raw.kernel,
            stride: raw.stride,
            padding: raw.padding,
            dilation: raw.dilation,
            groups: raw.groups,
        })
    }
}

impl Input for Conv1dOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.no_bias = i32::from(self.no_bias);
        raw.out_channels = self.out_channels;
        raw.kernel = self.kernel;
        raw.stride = self.stride;
        raw.padding = self.padding;
        raw.dilation = self.dilation;
        raw.groups = self.groups;
        Ok(raw)
    }
}

impl Default for Conv1dOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Options of a 2-d convolution, and of a transposed one. End a literal with
/// `..Default::default()`. Arrays are {height, width}.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv2dOptions {
    /// `true`: without a bias; `false` (default): with.
    pub no_bias: bool,
    /// Must be set.
    pub out_channels: i64,
    /// Must be set.
    pub kernel: [i64; 2],
    /// Default 1.
    pub stride: [i64; 2],
    /// Zeros added on each side; default 0.
    pub padding: [i64; 2],
    /// Default 1.
    pub dilation: [i64; 2],
    /// Default 1; divides both channel counts.
    pub groups: i64,
    /// Rows and columns that the output of a transposed convolution has in addition, at its end;
    /// fewer than the stride. Default 0; 0 for a convolution.
    pub output_padding: [i64; 2],
}

impl Struct for Conv2dOptions {
    type Raw = sys::troika_conv2d_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_conv2d_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            no_bias: raw.no_bias != 0,
            out_channels: raw.out_channels,
            kernel: raw.kernel,
            stride: raw.stride,
            padding: raw.padding,
            dilation: raw.dilation,
            groups: raw.groups,
            output_padding: raw.output_padding,
        })
    }
}

impl Input for Conv2dOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.no_bias = i32::from(self.no_bias);
        raw.out_channels = self.out_channels;
        raw.kernel = self.kernel;
        raw.stride = self.stride;
        raw.padding = self.padding;
        raw.dilation = self.dilation;
        raw.groups = self.groups;
        raw.output_padding = self.output_padding;
        Ok(raw)
    }
}

impl Default for Conv2dOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Options of max and average pooling. End a literal with `..Default::default()`. Arrays are
/// {height, width}.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool2dOptions {
    /// Average pooling: `true` leaves the padding out of the mean. `false` (default, as in
    /// PyTorch): it counts.
    pub exclude_padding: bool,
    /// Must be set.
    pub kernel: [i64; 2],
    /// Unset: the kernel.
    pub stride: Option<[i64; 2]>,
    /// At most half the kernel; default 0.
    pub padding: [i64; 2],
}

impl Struct for Pool2dOptions {
    type Raw = sys::troika_pool2d_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_pool2d_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            exclude_padding: raw.exclude_padding != 0,
            kernel: raw.kernel,
            stride: optional_numbers(raw.stride),
            padding: raw.padding,
        })
    }
}

impl Input for Pool2dOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.exclude_padding = i32::from(self.exclude_padding);
        raw.kernel = self.kernel;
        raw.stride = self.stride.unwrap_or([sys::TROIKA_UNSET.into(); 2]);
        raw.padding = self.padding;
        Ok(raw)
    }
}

impl Default for Pool2dOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}
