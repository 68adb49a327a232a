// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// Options of [`Trainer::forward`](crate::Trainer::forward). End a literal with
/// `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForwardOptions {
    /// `true`: the backward pass also computes the gradient of the inputs, which must be f32.
    /// Default `false`.
    pub input_gradient: bool,
    /// `true`: [`Trainer::backward`](crate::Trainer::backward) takes the gradient of the output
    /// from the caller; the targets of the batch are not read, and a batch may have none. Default
    /// `false`: the trainer's own loss.
    pub own_loss: bool,
    /// Above 0: the gradient of the trainer's loss is multiplied by this number; the loss that is
    /// reported is not. n / N for a pass over n of N samples makes the sum of all passes the
    /// gradient of the mean over the N samples. 0 (default): 1. Excludes `own_loss`.
    pub weight: f64,
}

impl Struct for ForwardOptions {
    type Raw = sys::troika_forward_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_forward_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            input_gradient: raw.input_gradient != 0,
            own_loss: raw.own_loss != 0,
            weight: raw.weight,
        })
    }
}

impl Input for ForwardOptions {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.input_gradient = i32::from(self.input_gradient);
        raw.own_loss = i32::from(self.own_loss);
        raw.weight = self.weight;
        Ok(raw)
    }
}

impl Default for ForwardOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}
