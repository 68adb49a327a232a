//! Layers of a model.

use crate::call::{call, value};
use crate::convert::{axes_of, c_text, count, Input, Number};
use crate::{Conv1dOptions, Conv2dOptions, Dtype, Model, Pool2dOptions, Result, Value};
use std::ops::Range;
use std::os::raw::c_char;
use troika_sys as sys;

/// # Layers
///
/// Each function adds one layer and returns its output. The name of a layer is unique in its model,
/// and begins the names of its parameters: "fc.weight", "fc.bias".
///
/// Their errors are [`InvalidArgument`](crate::Status::InvalidArgument): a name that is taken or
/// not allowed, an input that does not fit, a value of another model, a model that is complete. A
/// refused call changes nothing.
impl Model {
    fn add(
        &mut self,
        name: &str,
        add: impl FnOnce(
            sys::troika_model,
            *const c_char,
            *mut sys::troika_value,
            *mut sys::troika_error,
        ) -> sys::troika_status,
    ) -> Result<Value> {
        let name = c_text(name, "name")?;
        value(0, |out, error| add(self.raw(), name.as_ptr(), out, error)).map(Value)
    }

    /// Adds the input: f32 \[batch, dims...\]. A model has one input.
    pub fn add_input(&mut self, name: &str, dims: &[i64]) -> Result<Value> {
        let rank = count(dims.len(), "dims")?;
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_input(model, name, dims.as_ptr(), rank, out, error)
        })
    }

    /// Adds the input, of type f32, or i32 for tokens.
    pub fn add_typed_input(&mut self, name: &str, dtype: Dtype, dims: &[i64]) -> Result<Value> {
        let (rank, dtype) = (count(dims.len(), "dims")?, dtype.raw());
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_typed_input(model, name, dtype, dims.as_ptr(), rank, out, error)
        })
    }

    /// Adds an embedding: tokens i32 \[batch, ...\] to \[batch, ..., features\]. Parameter: weight
    /// \[words, features\].
    pub fn add_embedding(
        &mut self,
        name: &str,
        input: Value,
        words: i64,
        features: i64,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_embedding(model, name, input.0, words, features, out, error)
        })
    }

    /// Adds a 2-d convolution: \[batch, C, H, W\] to \[batch, K, H', W'\]. Parameters: weight \[K,
    /// C / groups, kernel height, kernel width\], bias \[K\].
    pub fn add_conv2d(
        &mut self,
        name: &str,
        input: Value,
        options: &Conv2dOptions,
    ) -> Result<Value> {
        options.pass(|options| {
            self.add(name, |model, name, out, error| unsafe {
                sys::troika_model_add_conv2d(model, name, input.0, options, out, error)
            })
        })
    }

    /// Adds a linear layer: \[batch, in\] to \[batch, out_features\]. Parameters: weight \[out,
    /// in\], bias \[out\].
    pub fn add_linear(
        &mut self,
        name: &str,
        input: Value,
        out_features: i64,
        bias: bool,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_linear(
                model,
                name,
                input.0,
                out_features,
                bias.into(),
                out,
                error,
            )
        })
    }

    /// Adds a linear layer for each step of a sequence: \[batch, steps, in\] to \[batch, steps,
    /// out_features\].
    pub fn add_linear_per_position(
        &mut self,
        name: &str,
        input: Value,
        out_features: i64,
        bias: bool,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            let (input, bias) = (input.0, bias.into());
            sys::troika_model_add_linear_per_position(
                model,
                name,
                input,
                out_features,
                bias,
                out,
                error,
            )
        })
    }

    /// Adds batch normalisation of \[batch, C, H, W\] over each channel. PyTorch's defaults are eps
    /// 1e-5 and momentum 0.1. Parameters: weight and bias \[C\]; buffers: running_mean,
    /// running_var \[C\], num_batches_tracked.
    pub fn add_batch_norm2d(
        &mut self,
        name: &str,
        input: Value,
        eps: f64,
        momentum: f64,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_batch_norm2d(model, name, input.0, eps, momentum, out, error)
        })
    }

    /// Adds max(x, 0), element by element.
    pub fn add_relu(&mut self, name: &str, input: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_relu(model, name, input.0, out, error)
        })
    }

    /// Adds GELU without approximation, element by element.
    pub fn add_gelu(&mut self, name: &str, input: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_gelu(model, name, input.0, out, error)
        })
    }

    /// Adds max pooling: \[batch, C, H, W\] to \[batch, C, H', W'\].
    pub fn add_max_pool2d(
        &mut self,
        name: &str,
        input: Value,
        options: &Pool2dOptions,
    ) -> Result<Value> {
        options.pass(|options| {
            self.add(name, |model, name, out, error| unsafe {
                sys::troika_model_add_max_pool2d(model, name, input.0, options, out, error)
            })
        })
    }

    /// Adds average pooling: \[batch, C, H, W\] to \[batch, C, H', W'\].
    pub fn add_avg_pool2d(
        &mut self,
        name: &str,
        input: Value,
        options: &Pool2dOptions,
    ) -> Result<Value> {
        options.pass(|options| {
            self.add(name, |model, name, out, error| unsafe {
                sys::troika_model_add_avg_pool2d(model, name, input.0, options, out, error)
            })
        })
    }

    /// Adds average pooling to a size: \[batch, C, H, W\] to \[batch, C, height, width\].
    pub fn add_adaptive_avg_pool2d(
        &mut self,
        name: &str,
        input: Value,
        height: i64,
        width: i64,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_adaptive_avg_pool2d(
                model, name, input.0, height, width, out, error,
            )
        })
    }

    /// Adds a flattening of all axes except the batch.
    pub fn add_flatten(&mut self, name: &str, input: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_flatten(model, name, input.0, out, error)
        })
    }

    /// Adds the sum of two values of one shape: the residual connection.
    pub fn add_sum(&mut self, name: &str, a: Value, b: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_sum(model, name, a.0, b.0, out, error)
        })
    }

    /// Adds dropout: in training an element becomes zero with `probability` in \[0, 1).
    pub fn add_dropout(&mut self, name: &str, input: Value, probability: f64) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_dropout(model, name, input.0, probability, out, error)
        })
    }

    /// Adds an LSTM of one layer and one direction: \[batch, steps, features\] to \[batch, steps,
    /// hidden\]. Parameters, with PyTorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0,
    /// bias_hh_l0.
    pub fn add_lstm(&mut self, name: &str, input: Value, hidden: i64, bias: bool) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_lstm(model, name, input.0, hidden, bias.into(), out, error)
        })
    }

    /// Adds a GRU of one layer and one direction: \[batch, steps, features\] to \[batch, steps,
    /// hidden\]. Parameters: as [`Model::add_lstm`].
    pub fn add_gru(&mut self, name: &str, input: Value, hidden: i64, bias: bool) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_gru(model, name, input.0, hidden, bias.into(), out, error)
        })
    }

    /// Adds the choice of one step: \[batch, steps, features\] to \[batch, features\]. Steps below
    /// 0 count from the end: -1 is the last.
    pub fn add_select_step(&mut self, name: &str, input: Value, step: i64) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_select_step(model, name, input.0, step, out, error)
        })
    }

    /// Adds a transposed 2-d convolution: \[batch, C, H, W\] to \[batch, K, H', W'\].
    pub fn add_conv_transpose2d(
        &mut self,
        name: &str,
        input: Value,
        options: &Conv2dOptions,
    ) -> Result<Value> {
        options.pass(|options| {
            self.add(name, |model, name, out, error| unsafe {
                sys::troika_model_add_conv_transpose2d(model, name, input.0, options, out, error)
            })
        })
    }

    /// Adds a 1-d convolution: \[batch, C, L\] to \[batch, K, L'\].
    pub fn add_conv1d(
        &mut self,
        name: &str,
        input: Value,
        options: &Conv1dOptions,
    ) -> Result<Value> {
        options.pass(|options| {
            self.add(name, |model, name, out, error| unsafe {
                sys::troika_model_add_conv1d(model, name, input.0, options, out, error)
            })
        })
    }

    /// Adds batch normalisation of \[batch, C\] or \[batch, C, L\].
    pub fn add_batch_norm1d(
        &mut self,
        name: &str,
        input: Value,
        eps: f64,
        momentum: f64,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_batch_norm1d(model, name, input.0, eps, momentum, out, error)
        })
    }

    /// Adds layer normalisation over the last `axes` axes.
    pub fn add_layer_norm(
        &mut self,
        name: &str,
        input: Value,
        axes: i32,
        eps: f64,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_layer_norm(model, name, input.0, axes, eps, out, error)
        })
    }

    /// Adds normalisation of each of `groups` groups of channels.
    pub fn add_group_norm(
        &mut self,
        name: &str,
        input: Value,
        groups: i64,
        eps: f64,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_group_norm(model, name, input.0, groups, eps, out, error)
        })
    }

    /// Adds root mean square normalisation over the last `axes` axes.
    pub fn add_rms_norm(&mut self, name: &str, input: Value, axes: i32, eps: f64) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_rms_norm(model, name, input.0, axes, eps, out, error)
        })
    }

    /// Adds 1 / (1 + e^-x), element by element.
    pub fn add_sigmoid(&mut self, name: &str, input: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_sigmoid(model, name, input.0, out, error)
        })
    }

    /// Adds the hyperbolic tangent, element by element.
    pub fn add_tanh(&mut self, name: &str, input: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_tanh(model, name, input.0, out, error)
        })
    }

    /// Adds x times the sigmoid of x, element by element.
    pub fn add_silu(&mut self, name: &str, input: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_silu(model, name, input.0, out, error)
        })
    }

    /// Adds x if x > 0, else `slope` x, element by element.
    pub fn add_leaky_relu(&mut self, name: &str, input: Value, slope: f64) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_leaky_relu(model, name, input.0, slope, out, error)
        })
    }

    /// Adds e^x over the sum of e^x along `axis`, which is not the batch.
    pub fn add_softmax(&mut self, name: &str, input: Value, axis: i32) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_softmax(model, name, input.0, axis, out, error)
        })
    }

    /// Adds a part of each sample along `axis`, which is not the batch.
    pub fn add_slice(
        &mut self,
        name: &str,
        input: Value,
        axis: i32,
        part: Range<i64>,
    ) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_slice(
                model, name, input.0, axis, part.start, part.end, out, error,
            )
        })
    }

    /// Adds the product of two values, element by element. An axis of size 1 is repeated.
    pub fn add_product(&mut self, name: &str, a: Value, b: Value) -> Result<Value> {
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_product(model, name, a.0, b.0, out, error)
        })
    }

    /// Joins values along `axis`, which is not the batch.
    pub fn add_concat(&mut self, name: &str, inputs: &[Value], axis: i32) -> Result<Value> {
        let number = count(inputs.len(), "inputs")?;
        let inputs: Vec<i64> = inputs.iter().map(|input| input.0).collect();
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_concat(model, name, inputs.as_ptr(), number, axis, out, error)
        })
    }

    /// Reshapes a sample: \[batch, dims...\]. One size may be -1.
    pub fn add_reshape(&mut self, name: &str, input: Value, dims: &[i64]) -> Result<Value> {
        let rank = count(dims.len(), "dims")?;
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_reshape(model, name, input.0, dims.as_ptr(), rank, out, error)
        })
    }

    /// Adds the means over some axes, or over all axes of a sample. `keep_axes` keeps them with the
    /// size 1.
    pub fn add_mean(
        &mut self,
        name: &str,
        input: Value,
        axes: Option<&[i32]>,
        keep_axes: bool,
    ) -> Result<Value> {
        let ((axes, number), keep) = (axes_of(axes)?, i32::from(keep_axes));
        self.add(name, |model, name, out, error| unsafe {
            sys::troika_model_add_mean(model, name, input.0, axes, number, keep, out, error)
        })
    }

    /// Makes parameter `name` of a layer that is added later another name of parameter `of`.
    ///
    /// # Errors
    /// [`NotFound`](crate::Status::NotFound): `of` is no parameter.
    /// [`InvalidArgument`](crate::Status::InvalidArgument): `name` is a parameter already.
    pub fn share_parameter(&mut self, name: &str, of: &str) -> Result<()> {
        let (name, of) = (c_text(name, "name")?, c_text(of, "of")?);
        call(|error| unsafe {
            sys::troika_model_share_parameter(self.raw(), name.as_ptr(), of.as_ptr(), error)
        })
        .map(drop)
    }

    /// Completes the model: `value` is its output. No layer can be added afterwards.
    pub fn set_output(&mut self, value: Value) -> Result<()> {
        call(|error| unsafe { sys::troika_model_set_output(self.raw(), value.0, error) }).map(drop)
    }
}
