package troika

/*
#include <troika/troika.h>
*/
import "C"

// add adds a layer by a function, and returns its output.
func (m *Model) add(function func(c *call, out *C.troika_value) C.troika_status) (Value, error) {
	var out C.troika_value
	err := do(func(c *call) C.troika_status { return function(c, &out) }, m)
	return Value(out), err
}

// AddInput adds the input: f32 [batch, dims...]. Every method Add... adds one layer with a name
// that is unique in its model, and returns the layer's output. A refused call changes nothing.
//
// Errors of all of them: ErrInvalidArgument (the name, a value of another model, an input that does
// not fit, an option, a model that is complete), ErrOutOfMemory, ErrBusy.
func (m *Model) AddInput(name string, dims ...int64) (Value, error) {
	shape := dimsToC(dims)
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_input(m.handle, c.text("name", name), &shape[0], length(c, "dims", len(dims)), out, &c.error)
	})
}

// AddTypedInput adds the input of a type: DtypeF32, or DtypeI32 for tokens.
func (m *Model) AddTypedInput(name string, dtype Dtype, dims ...int64) (Value, error) {
	shape := dimsToC(dims)
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_typed_input(m.handle, c.text("name", name), C.int32_t(dtype), &shape[0],
			length(c, "dims", len(dims)), out, &c.error)
	})
}

// AddEmbedding adds an embedding: tokens i32 [batch, ...] to [batch, ..., features].
func (m *Model) AddEmbedding(name string, input Value, words, features int64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_embedding(m.handle, c.text("name", name), C.troika_value(input), C.int64_t(words),
			C.int64_t(features), out, &c.error)
	})
}

// AddConv2d adds a 2-d convolution: [batch, C, H, W] to [batch, K, H', W'].
func (m *Model) AddConv2d(name string, input Value, options *Conv2dOptions) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_conv2d(m.handle, c.text("name", name), C.troika_value(input), options.toC(c), out, &c.error)
	})
}

// AddLinear adds a linear layer, with or without bias: [batch, in] to [batch, outFeatures].
func (m *Model) AddLinear(name string, input Value, outFeatures int64, bias bool) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_linear(m.handle, c.text("name", name), C.troika_value(input), C.int64_t(outFeatures),
			flag(bias), out,
			&c.error)
	})
}

// AddLinearPerPosition adds a linear layer for each step: [batch, steps, in] to [batch, steps,
// outFeatures].
func (m *Model) AddLinearPerPosition(name string, input Value, outFeatures int64, bias bool) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_linear_per_position(m.handle, c.text("name", name), C.troika_value(input),
			C.int64_t(outFeatures),
			flag(bias), out, &c.error)
	})
}

// AddBatchNorm2d adds batch normalisation of [batch, C, H, W]. PyTorch has eps 1e-5 and momentum
// 0.1.
func (m *Model) AddBatchNorm2d(name string, input Value, eps, momentum float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_batch_norm2d(m.handle, c.text("name", name), C.troika_value(input), C.double(eps),
			C.double(momentum),
			out, &c.error)
	})
}

// AddReLU adds max(x, 0), element by element.
func (m *Model) AddReLU(name string, input Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_relu(m.handle, c.text("name", name), C.troika_value(input), out, &c.error)
	})
}

// AddGELU adds GELU without approximation, element by element.
func (m *Model) AddGELU(name string, input Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_gelu(m.handle, c.text("name", name), C.troika_value(input), out, &c.error)
	})
}

// AddMaxPool2d adds max pooling over windows: [batch, C, H, W] to [batch, C, H', W'].
func (m *Model) AddMaxPool2d(name string, input Value, options *Pool2dOptions) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_max_pool2d(m.handle, c.text("name", name), C.troika_value(input), options.toC(c), out,
			&c.error)
	})
}

// AddAvgPool2d adds average pooling over windows: [batch, C, H, W] to [batch, C, H', W'].
func (m *Model) AddAvgPool2d(name string, input Value, options *Pool2dOptions) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_avg_pool2d(m.handle, c.text("name", name), C.troika_value(input), options.toC(c), out,
			&c.error)
	})
}

// AddAdaptiveAvgPool2d adds average pooling to a size: [batch, C, H, W] to [batch, C, outHeight,
// outWidth].
func (m *Model) AddAdaptiveAvgPool2d(name string, input Value, outHeight, outWidth int64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_adaptive_avg_pool2d(m.handle, c.text("name", name), C.troika_value(input),
			C.int64_t(outHeight),
			C.int64_t(outWidth), out, &c.error)
	})
}

// AddFlatten adds a flattening of all axes except the batch: [batch, a, b, ...] to [batch, a * b *
// ...].
func (m *Model) AddFlatten(name string, input Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_flatten(m.handle, c.text("name", name), C.troika_value(input), out, &c.error)
	})
}

// AddSum adds the sum of two values of one shape: the residual connection.
func (m *Model) AddSum(name string, a, b Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_sum(m.handle, c.text("name", name), C.troika_value(a), C.troika_value(b), out, &c.error)
	})
}

// AddDropout adds dropout with a probability in [0, 1).
func (m *Model) AddDropout(name string, input Value, probability float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_dropout(m.handle, c.text("name", name), C.troika_value(input), C.double(probability),
			out, &c.error)
	})
}

// AddLSTM adds a long short-term memory: [batch, steps, features] to [batch, steps, hidden].
func (m *Model) AddLSTM(name string, input Value, hidden int64, bias bool) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_lstm(m.handle, c.text("name", name), C.troika_value(input), C.int64_t(hidden),
			flag(bias), out, &c.error)
	})
}

// AddGRU adds a gated recurrent unit: [batch, steps, features] to [batch, steps, hidden].
func (m *Model) AddGRU(name string, input Value, hidden int64, bias bool) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_gru(m.handle, c.text("name", name), C.troika_value(input), C.int64_t(hidden), flag(bias),
			out, &c.error)
	})
}

// AddSelectStep adds the choice of one step: [batch, steps, features] to [batch, features]. Steps
// below 0 count from the end.
func (m *Model) AddSelectStep(name string, input Value, step int64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_select_step(m.handle, c.text("name", name), C.troika_value(input), C.int64_t(step), out,
			&c.error)
	})
}

// AddConvTranspose2d adds a transposed 2-d convolution: [batch, C, H, W] to [batch, K, H', W'].
func (m *Model) AddConvTranspose2d(name string, input Value, options *Conv2dOptions) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_conv_transpose2d(m.handle, c.text("name", name), C.troika_value(input), options.toC(c),
			out, &c.error)
	})
}

// AddConv1d adds a 1-d convolution: [batch, C, L] to [batch, K, L'].
func (m *Model) AddConv1d(name string, input Value, options *Conv1dOptions) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_conv1d(m.handle, c.text("name", name), C.troika_value(input), options.toC(c), out, &c.error)
	})
}

// AddBatchNorm1d adds batch normalisation of [batch, C] or [batch, C, L].
func (m *Model) AddBatchNorm1d(name string, input Value, eps float64, momentum float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_batch_norm1d(m.handle, c.text("name", name), C.troika_value(input), C.double(eps),
			C.double(momentum), out, &c.error)
	})
}

// AddLayerNorm adds layer normalisation over the last axes axes.
func (m *Model) AddLayerNorm(name string, input Value, axes int32, eps float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_layer_norm(m.handle, c.text("name", name), C.troika_value(input), C.int32_t(axes),
			C.double(eps), out, &c.error)
	})
}

// AddGroupNorm adds normalisation of each of groups groups of channels.
func (m *Model) AddGroupNorm(name string, input Value, groups int64, eps float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_group_norm(m.handle, c.text("name", name), C.troika_value(input), C.int64_t(groups),
			C.double(eps), out, &c.error)
	})
}

// AddRMSNorm adds root mean square normalisation over the last axes axes.
func (m *Model) AddRMSNorm(name string, input Value, axes int32, eps float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_rms_norm(m.handle, c.text("name", name), C.troika_value(input), C.int32_t(axes),
			C.double(eps), out, &c.error)
	})
}

// AddSigmoid adds 1 / (1 + e^-x), element by element.
func (m *Model) AddSigmoid(name string, input Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_sigmoid(m.handle, c.text("name", name), C.troika_value(input), out, &c.error)
	})
}

// AddTanh adds the hyperbolic tangent, element by element.
func (m *Model) AddTanh(name string, input Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_tanh(m.handle, c.text("name", name), C.troika_value(input), out, &c.error)
	})
}

// AddSiLU adds x times the sigmoid of x, element by element.
func (m *Model) AddSiLU(name string, input Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_silu(m.handle, c.text("name", name), C.troika_value(input), out, &c.error)
	})
}

// AddLeakyReLU adds x if x > 0, else slope x, element by element.
func (m *Model) AddLeakyReLU(name string, input Value, slope float64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_leaky_relu(m.handle, c.text("name", name), C.troika_value(input), C.double(slope), out,
			&c.error)
	})
}

// AddSoftmax adds e^x over the sum of e^x along axis, which is not the batch.
func (m *Model) AddSoftmax(name string, input Value, axis int32) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_softmax(m.handle, c.text("name", name), C.troika_value(input), C.int32_t(axis), out, &c.error)
	})
}

// AddSlice adds the part [begin, end) along axis, which is not the batch.
func (m *Model) AddSlice(name string, input Value, axis int32, begin int64, end int64) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_slice(m.handle, c.text("name", name), C.troika_value(input), C.int32_t(axis),
			C.int64_t(begin), C.int64_t(end), out, &c.error)
	})
}

// AddProduct adds the product of two values, element by element. An axis of size 1 is repeated.
func (m *Model) AddProduct(name string, a, b Value) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_product(m.handle, c.text("name", name), C.troika_value(a), C.troika_value(b), out, &c.error)
	})
}

// AddConcat joins values along axis, which is not the batch.
func (m *Model) AddConcat(name string, axis int32, inputs ...Value) (Value, error) {
	values := append(numbers[C.troika_value](inputs), 0)
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_concat(m.handle, c.text("name", name), &values[0], length(c, "inputs", len(inputs)),
			C.int32_t(axis), out, &c.error)
	})
}

// AddReshape reshapes a sample: [batch, dims...]. One size may be -1.
func (m *Model) AddReshape(name string, input Value, dims ...int64) (Value, error) {
	shape := dimsToC(dims)
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_reshape(m.handle, c.text("name", name), C.troika_value(input), &shape[0],
			length(c, "dims", len(dims)), out, &c.error)
	})
}

// AddMean adds the means over some axes; nil: over all axes of a sample. keepAxes keeps them with
// the size 1.
func (m *Model) AddMean(name string, input Value, axes []int32, keepAxes bool) (Value, error) {
	return m.add(func(c *call, out *C.troika_value) C.troika_status {
		return C.troika_model_add_mean(m.handle, c.text("name", name), C.troika_value(input), axesToC(axes),
			length(c, "axes", len(axes)), flag(keepAxes), out, &c.error)
	})
}

// ShareParameter makes parameter name of a layer that is added later another name of parameter of.
// Errors: ErrInvalidArgument, ErrNotFound (no parameter of), ErrOutOfMemory, ErrBusy.
func (m *Model) ShareParameter(name, of string) error {
	return do(func(c *call) C.troika_status {
		return C.troika_model_share_parameter(m.handle, c.text("name", name), c.text("of", of), &c.error)
	}, m)
}

// SetOutput completes the model: value is its output. No layer can be added afterwards. Errors:
// ErrInvalidArgument, ErrOutOfMemory, ErrBusy.
func (m *Model) SetOutput(value Value) error {
	return do(func(c *call) C.troika_status {
		return C.troika_model_set_output(m.handle, C.troika_value(value), &c.error)
	}, m)
}
