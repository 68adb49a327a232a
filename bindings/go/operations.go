package troika

/*
#include <troika/troika.h>
*/
import "C"

// NewFullTensor creates a tensor whose numbers are all value. Errors: those of NewTensor;
// ErrUnsupported for a type without arithmetic. Any goroutine.
func NewFullTensor(context *Context, device Device, dtype Dtype, value float64, dims ...int64) (*Tensor, error) {
	shape := dimsToC(dims)
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_full(context.handle, device.c(), C.int32_t(dtype), &shape[0], length(c, "dims", len(dims)),
			C.double(value), out, &c.error)
	}, context)
}

// NewArangeTensor creates a tensor [count] with the numbers start, start + step, start + 2 step and
// so on. Errors: those of NewFullTensor; ErrInvalidArgument also for a count below 0. Any
// goroutine.
func NewArangeTensor(context *Context, device Device, dtype Dtype, start, step float64, count int64) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_arange(context.handle, device.c(), C.int32_t(dtype), C.double(start), C.double(step),
			C.int64_t(count), out, &c.error)
	}, context)
}

// NewUniformTensor creates a tensor of numbers that are uniform from low to high, without high.
// Number i is a function of seed and i, so every device makes the same numbers. Errors: those of
// NewFullTensor; ErrInvalidArgument also for bounds that are not finite or in the wrong order. Any
// goroutine.
func NewUniformTensor(context *Context, device Device, dtype Dtype, low, high float64, seed uint64,
	dims ...int64) (*Tensor, error) {
	shape := dimsToC(dims)
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_uniform(context.handle, device.c(), C.int32_t(dtype), &shape[0], length(c, "dims", len(dims)),
			C.double(low), C.double(high), C.uint64_t(seed), out, &c.error)
	}, context)
}

// NewNormalTensor creates a tensor of normally distributed numbers. Number i is a function of seed
// and i, so every device makes the same numbers. Errors: those of NewFullTensor; ErrInvalidArgument
// also for a number that is not finite, and for a deviation below 0. Any goroutine.
func NewNormalTensor(context *Context, device Device, dtype Dtype, mean, deviation float64, seed uint64,
	dims ...int64) (*Tensor, error) {
	shape := dimsToC(dims)
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_normal(context.handle, device.c(), C.int32_t(dtype), &shape[0], length(c, "dims", len(dims)),
			C.double(mean), C.double(deviation), C.uint64_t(seed), out, &c.error)
	}, context)
}

// Add returns t + other. Shapes may differ as in NumPy: axes are aligned at their ends, and an axis
// of size 1, or a missing one, is repeated.
//
// An operation runs on the device of its tensors. On a GPU it returns when its work is launched;
// reading the result waits for it. If a Gradients watches an input, the operation is recorded. An
// axis below 0 counts from the end.
//
// Errors of all operations: ErrInvalidArgument (shapes that do not fit, other types, tensors on two
// devices), ErrUnsupported (a type that is not f32, bf16 or f16), ErrOutOfMemory. Reads the
// tensors.
func (t *Tensor) Add(other *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_add(t.handle, other.handle, out, &c.error)
	}, t, other)
}

// Subtract returns t - other, with shapes as in Add.
func (t *Tensor) Subtract(other *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_subtract(t.handle, other.handle, out, &c.error)
	}, t, other)
}

// Multiply returns t times other, number by number, with shapes as in Add.
func (t *Tensor) Multiply(other *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_multiply(t.handle, other.handle, out, &c.error)
	}, t, other)
}

// Divide returns t / other, with shapes as in Add.
func (t *Tensor) Divide(other *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_divide(t.handle, other.handle, out, &c.error)
	}, t, other)
}

// Compare returns a tensor of u8: 1 if the relation holds between t and other, else 0. Shapes are
// as in Add. It is not recorded.
func (t *Tensor) Compare(other *Tensor, relation Relation) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_compare(t.handle, other.handle, C.int32_t(relation), out, &c.error)
	}, t, other)
}

// Scale returns factor x + offset for each number x.
func (t *Tensor) Scale(factor, offset float64) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_scale(t.handle, C.double(factor), C.double(offset), out, &c.error)
	}, t)
}

// ReLU returns max(x, 0) for each number x; NaN stays NaN.
func (t *Tensor) ReLU() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_relu(t.handle, out, &c.error)
	}, t)
}

// Sigmoid returns 1 / (1 + e^-x) for each number x.
func (t *Tensor) Sigmoid() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_sigmoid(t.handle, out, &c.error)
	}, t)
}

// Tanh returns the hyperbolic tangent of each number.
func (t *Tensor) Tanh() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_tanh(t.handle, out, &c.error)
	}, t)
}

// GELU returns the GELU of each number, as Model.AddGELU.
func (t *Tensor) GELU() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_gelu(t.handle, out, &c.error)
	}, t)
}

// SiLU returns x times the sigmoid of x for each number x.
func (t *Tensor) SiLU() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_silu(t.handle, out, &c.error)
	}, t)
}

// LeakyReLU returns x if x > 0, else slope x, for each number x.
func (t *Tensor) LeakyReLU(slope float64) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_leaky_relu(t.handle, C.double(slope), out, &c.error)
	}, t)
}

// Abs returns |x| for each number x.
func (t *Tensor) Abs() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_abs(t.handle, out, &c.error)
	}, t)
}

// Exp returns e^x for each number x.
func (t *Tensor) Exp() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_exp(t.handle, out, &c.error)
	}, t)
}

// Log returns the natural logarithm of each number.
func (t *Tensor) Log() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_log(t.handle, out, &c.error)
	}, t)
}

// Sqrt returns the square root of each number.
func (t *Tensor) Sqrt() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_sqrt(t.handle, out, &c.error)
	}, t)
}

// Cast returns the same numbers as f32, bf16, f16, i32, i64 or u8. Numbers are rounded to nearest
// even, and for integers towards 0. A number that an integer type does not hold becomes the nearest
// that it holds; NaN becomes 0. Only casts between f32, bf16 and f16 have a gradient. Errors:
// ErrUnsupported for another type.
func (t *Tensor) Cast(dtype Dtype) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_cast(t.handle, C.int32_t(dtype), out, &c.error)
	}, t)
}

// AddInPlace adds factor times other to t, in the memory of t: an update by a gradient has the
// factor -learningRate. other may be smaller, as in Add. Errors: those of Add; ErrInvalidArgument
// also if a Gradients watches or has recorded t, until that is closed. Writes t.
func (t *Tensor) AddInPlace(other *Tensor, factor float64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_tensor_add_in_place(t.handle, other.handle, C.double(factor), &c.error)
	}, t, other)
}

// ScaleInPlace replaces each number x of t by factor x + offset. Errors: those of AddInPlace.
// Writes t.
func (t *Tensor) ScaleInPlace(factor, offset float64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_tensor_scale_in_place(t.handle, C.double(factor), C.double(offset), &c.error)
	}, t)
}

// Matmul multiplies matrices: t [..., m, k] by other [..., k, n] to [..., m, n]. other may be one
// matrix for all of t. With transposeT, t is stored as [..., k, m]; with transposeOther, other is
// stored as [..., n, k].
func (t *Tensor) Matmul(other *Tensor, transposeT, transposeOther bool) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_matmul(t.handle, other.handle, flag(transposeT), flag(transposeOther), out, &c.error)
	}, t, other)
}

// Conv2d convolves images [batch, C, H, W] with a weight [K, C / groups, kernel height, kernel
// width], as Model.AddConv2d does. bias is f32 [K], or nil. Stride, Padding, Dilation and Groups of
// the options are read; nil options are the defaults.
func (t *Tensor) Conv2d(weight, bias *Tensor, options *Conv2dOptions) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		var handle C.troika_tensor
		if bias != nil {
			c.use(bias)
			handle = bias.handle
		}
		return C.troika_tensor_conv2d(t.handle, weight.handle, handle, options.toC(c), out, &c.error)
	}, t, weight)
}

// MaxPool2d returns the largest number of each window, as Model.AddMaxPool2d.
func (t *Tensor) MaxPool2d(options *Pool2dOptions) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_max_pool2d(t.handle, options.toC(c), out, &c.error)
	}, t)
}

// AvgPool2d returns the mean of each window, as Model.AddAvgPool2d.
func (t *Tensor) AvgPool2d(options *Pool2dOptions) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_avg_pool2d(t.handle, options.toC(c), out, &c.error)
	}, t)
}

// Reshape shows the elements of t, of any type and row-major, under another shape. One size may be
// -1: it follows from the others. The result shares the memory of t, so a call that writes one of
// them writes both. Errors: ErrInvalidArgument (another number of elements).
func (t *Tensor) Reshape(dims ...int64) (*Tensor, error) {
	shape := dimsToC(dims)
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_reshape(t.handle, &shape[0], length(c, "dims", len(dims)), out, &c.error)
	}, t)
}

// Transpose returns a tensor whose axis i is axis order[i] of t. Without an order, the axes are
// reversed.
func (t *Tensor) Transpose(order ...int32) (*Tensor, error) {
	if len(order) > 0 {
		info, err := t.Describe()
		if err != nil {
			return nil, err
		}
		if len(order) != len(info.Dims) {
			return nil, refuse("order has %d axes, the tensor has %d", len(order), len(info.Dims))
		}
	}
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_transpose(t.handle, array[C.int32_t](c, order), out, &c.error)
	}, t)
}

// Slice returns the part of t from begin to end, without end, along axis, as a copy.
func (t *Tensor) Slice(axis int32, begin, end int64) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_slice(t.handle, C.int32_t(axis), C.int64_t(begin), C.int64_t(end), out, &c.error)
	}, t)
}

// ConcatTensors joins tensors along axis, in their order. They may differ in the size of that axis
// alone. Errors: those of Tensor.Add. Reads the tensors.
func ConcatTensors(axis int32, tensors ...*Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		list := handlesOf(c, tensors)
		return C.troika_tensor_concat(&list[0], length(c, "tensors", len(tensors)), C.int32_t(axis), out, &c.error)
	})
}

// handlesOf returns the handles of tensors that a call uses, and one more: so the first one always
// exists.
func handlesOf(c *call, tensors []*Tensor) []C.troika_tensor {
	handles := make([]C.troika_tensor, len(tensors)+1)
	for i, tensor := range tensors {
		c.use(tensor)
		handles[i] = tensor.handle
	}
	return handles
}

// Expand repeats t until it has a shape: an axis of size 1, or a missing one at the front, is
// repeated.
func (t *Tensor) Expand(dims ...int64) (*Tensor, error) {
	shape := dimsToC(dims)
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_expand(t.handle, &shape[0], length(c, "dims", len(dims)), out, &c.error)
	}, t)
}

// axesToC returns axes as C has them, and NULL for nil.
func axesToC(axes []int32) *C.int32_t {
	if axes == nil {
		return nil
	}
	return &append(numbers[C.int32_t](axes), 0)[0]
}

// Sum returns the sums over some axes; nil: over all. keepAxes keeps them with the size 1.
func (t *Tensor) Sum(axes []int32, keepAxes bool) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_sum(t.handle, axesToC(axes), length(c, "axes", len(axes)), flag(keepAxes), out, &c.error)
	}, t)
}

// Mean returns the means over some axes, as Sum.
func (t *Tensor) Mean(axes []int32, keepAxes bool) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_mean(t.handle, axesToC(axes), length(c, "axes", len(axes)), flag(keepAxes), out, &c.error)
	}, t)
}

// Norm returns the root of the sum of all squares: the Frobenius norm of a matrix.
func (t *Tensor) Norm() (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_norm(t.handle, out, &c.error)
	}, t)
}

// Softmax returns e^x over the sum of e^x along axis.
func (t *Tensor) Softmax(axis int32) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_softmax(t.handle, C.int32_t(axis), out, &c.error)
	}, t)
}

// Argmax returns the places of the largest numbers along axis, as i64 without that axis. The first
// of equal numbers counts; NaN counts as the largest. It is not recorded.
func (t *Tensor) Argmax(axis int32) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_argmax(t.handle, C.int32_t(axis), out, &c.error)
	}, t)
}

// CrossEntropy returns the cross-entropy of each label, f32. t is logits [batch, classes], [batch,
// steps, classes] or [batch, classes, H, W]. The labels have that shape without its classes, and
// are i32, i64 or u8. GPUs do not compare a label with the number of classes.
func (t *Tensor) CrossEntropy(labels *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_cross_entropy(t.handle, labels.handle, out, &c.error)
	}, t, labels)
}

// Text returns a tensor as text: type, shape and device, then its numbers, in brackets per axis.
// Long axes of large tensors show their first and last 3. Reads the tensor.
func (t *Tensor) Text() (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_tensor_to_text(t.handle, b.first, b.capacity, &b.size, &c.error)
	}, t)
}

// String returns the text of Text, or the message of its error.
func (t *Tensor) String() string {
	text, err := t.Text()
	if err != nil {
		return err.Error()
	}
	return text
}
