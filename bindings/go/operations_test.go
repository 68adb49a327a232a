package troika_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"troika"
)

func newNumbers(c *troika.Context, numbers []float32, dims ...int64) *troika.Tensor {
	return troika.Must(troika.NewTensor(c, troika.CPU(0), numbers, dims...))
}

// holds compares the shape and the numbers of a tensor with the known ones.
func holds(t *testing.T, what string, tensor *troika.Tensor, dims []int64, numbers ...float32) {
	t.Helper()
	found := troika.Must(troika.Values[float32](tensor))
	equal(t, "the shape of "+what, append([]int64{}, troika.Must(tensor.Describe()).Dims...), dims)
	if equal(t, "the length of "+what, len(found), len(numbers)); len(found) == len(numbers) {
		for i := range found {
			near(t, fmt.Sprint("number ", i, " of ", what), float64(found[i]), float64(numbers[i]))
		}
	}
}

func TestNewTensorsOfNumbers(t *testing.T) {
	c, f32 := newContext(t), troika.DtypeF32
	holds(t, "full", troika.Must(troika.NewFullTensor(c, troika.CPU(0), f32, 1.5, 2, 1)), []int64{2, 1}, 1.5, 1.5)
	holds(t, "a scalar", troika.Must(troika.NewFullTensor(c, troika.CPU(0), f32, 2)), []int64{}, 2)
	holds(t, "arange", troika.Must(troika.NewArangeTensor(c, troika.CPU(0), f32, 1, 0.5, 3)), []int64{3}, 1, 1.5, 2)
	down := troika.Must(troika.NewArangeTensor(c, troika.CPU(0), troika.DtypeI64, 5, -1, 2))
	equal(t, "integers", troika.Must(troika.Values[int64](down)), []int64{5, 4})

	uniform := func(device troika.Device) []float32 {
		return troika.Must(troika.Values[float32](troika.Must(troika.NewUniformTensor(c, device, f32, -1, 3, 7, 50, 20))))
	}
	sum := 0.0
	for _, x := range uniform(troika.CPU(0)) {
		if sum += float64(x); x < -1 || x >= 3 {
			t.Errorf("%v is not from -1 to 3", x)
		}
	}
	if mean := sum / 1000; mean < 0.8 || mean > 1.2 {
		t.Errorf("the mean is %v", mean)
	}
	equal(t, "another device", uniform(troika.CPU(1)), uniform(troika.CPU(0)))

	normal := troika.Must(troika.NewNormalTensor(c, troika.CPU(0), f32, 2, 0.5, 1, 1000))
	mean, squares := 0.0, 0.0
	for _, x := range troika.Must(troika.Values[float32](normal)) {
		mean += float64(x) / 1000
		squares += (float64(x) - 2) * (float64(x) - 2) / 1000
	}
	if mean < 1.9 || mean > 2.1 || squares < 0.2 || squares > 0.3 {
		t.Errorf("the mean is %v, the variance %v", mean, squares)
	}
}

func TestNewTensorsThatAreRefused(t *testing.T) {
	c, cpu, f32 := newContext(t), troika.CPU(0), troika.DtypeF32
	_, err := troika.NewFullTensor(c, cpu, f32, 0, -2)
	fails(t, err, troika.ErrInvalidArgument, "-2")
	_, err = troika.NewFullTensor(c, cpu, troika.DtypeF8E4M3, 0, 2)
	fails(t, err, troika.ErrUnsupported, "no arithmetic")
	_, err = troika.NewFullTensor(c, troika.CUDA(99), f32, 0, 2)
	fails(t, err, troika.ErrDeviceUnavailable, "cuda:99")
	_, err = troika.NewArangeTensor(c, cpu, f32, 0, 1, -1)
	fails(t, err, troika.ErrInvalidArgument, "-1")
	_, err = troika.NewUniformTensor(c, cpu, f32, 1, 0.5, 0, 2)
	fails(t, err, troika.ErrInvalidArgument, "low is 1")
	_, err = troika.NewNormalTensor(c, cpu, f32, 0, -1, 0, 2)
	fails(t, err, troika.ErrInvalidArgument, "deviation is -1")
}

func TestTwoTensors(t *testing.T) {
	c := newContext(t)
	a, b := newNumbers(c, []float32{1, 2, 3, 4}, 2, 2), newNumbers(c, []float32{2, 4}, 2)
	square := []int64{2, 2}
	holds(t, "a + b", troika.Must(a.Add(b)), square, 3, 6, 5, 8)
	holds(t, "a - b", troika.Must(a.Subtract(b)), square, -1, -2, 1, 0)
	holds(t, "b - a", troika.Must(b.Subtract(a)), square, 1, 2, -1, 0)
	holds(t, "a b", troika.Must(a.Multiply(b)), square, 2, 8, 6, 16)
	holds(t, "a / b", troika.Must(a.Divide(b)), square, 0.5, 0.5, 1.5, 1)
	for relation, wanted := range map[troika.Relation][]uint8{
		troika.RelationEqual: {0, 0, 0, 1}, troika.RelationNotEqual: {1, 1, 1, 0},
		troika.RelationLess: {1, 1, 0, 0}, troika.RelationLessOrEqual: {1, 1, 0, 1},
		troika.RelationGreater: {0, 0, 1, 0}, troika.RelationGreaterOrEqual: {0, 0, 1, 1},
	} {
		equal(t, relation.String(), troika.Must(troika.Values[uint8](troika.Must(a.Compare(b, relation)))), wanted)
	}
	_, err := a.Compare(b, 9)
	fails(t, err, troika.ErrInvalidArgument, "relation is 9")
}

func TestOperandsThatDoNotFit(t *testing.T) {
	c := newContext(t)
	a, b := newNumbers(c, []float32{1, 2}, 2), newNumbers(c, []float32{0, 0, 0}, 3)
	integers := troika.Must(troika.NewTensor(c, troika.CPU(0), []int32{1, 2}, 2))
	for _, refused := range []struct {
		err, status error
		message     string
	}{
		{third(a.Add(b)), troika.ErrInvalidArgument, "[2] and [3]"},
		{third(a.Multiply(troika.Must(a.To(troika.CPU(1))))), troika.ErrInvalidArgument, "cpu:0 and cpu:1"},
		{third(integers.Add(integers)), troika.ErrUnsupported, "i32"},
		{third(a.Divide(troika.Must(a.Cast(troika.DtypeF16)))), troika.ErrInvalidArgument, "f16"},
		{third(a.Softmax(1)), troika.ErrInvalidArgument, "axis is 1"},
		{third(a.Reshape(3)), troika.ErrInvalidArgument, "cannot become [3]"},
		{third(a.Transpose(0, 1)), troika.ErrInvalidArgument, "order has 2 axes, the tensor has 1"},
		{third(a.Slice(0, 1, 5)), troika.ErrInvalidArgument, "1 to 5"},
		{third(a.Matmul(b, false, false)), troika.ErrInvalidArgument, "need matrices"},
		{third(a.Sum([]int32{0, 0}, false)), troika.ErrInvalidArgument, "twice"},
		{third(troika.ConcatTensors(0)), troika.ErrInvalidArgument, "tensor_count is 0"},
		{third(a.CrossEntropy(a)), troika.ErrUnsupported, "labels"},
		{a.AddInPlace(newNumbers(c, make([]float32, 4), 2, 2), 1), troika.ErrInvalidArgument, "[2, 2]"},
		{c.Synchronize(troika.CUDA(99)), troika.ErrDeviceUnavailable, "cuda:99"},
	} {
		fails(t, refused.err, refused.status, refused.message)
	}
}

func TestOneTensor(t *testing.T) {
	c := newContext(t)
	x, positive := newNumbers(c, []float32{-1, 0, 2}, 3), newNumbers(c, []float32{1, 4}, 2)
	three := []int64{3}
	holds(t, "scale", troika.Must(x.Scale(2, 1)), three, -1, 1, 5)
	holds(t, "relu", troika.Must(x.ReLU()), three, 0, 0, 2)
	holds(t, "sigmoid", troika.Must(x.Sigmoid()), three, 0.2689414, 0.5, 0.880797)
	holds(t, "tanh", troika.Must(x.Tanh()), three, -0.7615942, 0, 0.9640276)
	holds(t, "gelu", troika.Must(x.GELU()), three, -0.1586553, 0, 1.9544997)
	holds(t, "silu", troika.Must(x.SiLU()), three, -0.2689414, 0, 1.7615942)
	holds(t, "leaky relu", troika.Must(x.LeakyReLU(0.25)), three, -0.25, 0, 2)
	holds(t, "abs", troika.Must(x.Abs()), three, 1, 0, 2)
	holds(t, "exp", troika.Must(x.Exp()), three, 0.3678794, 1, 7.3890561)
	holds(t, "log", troika.Must(positive.Log()), []int64{2}, 0, 1.3862944)
	holds(t, "sqrt", troika.Must(positive.Sqrt()), []int64{2}, 1, 2)
	integers := troika.Must(newNumbers(c, []float32{-1.5, 2.5}, 2).Cast(troika.DtypeI32))
	equal(t, "integers", troika.Must(troika.Values[int32](integers)), []int32{-1, 2})
	short := troika.Must(positive.Cast(troika.DtypeBF16))
	equal(t, "bf16", troika.Must(troika.Values[troika.BFloat16](short)), []troika.BFloat16{0x3F80, 0x4080})

	troika.Check(positive.AddInPlace(newNumbers(c, []float32{10}, 1), -0.5))
	holds(t, "the sum in place", positive, []int64{2}, -4, -1)
	troika.Check(positive.ScaleInPlace(-1, 1))
	holds(t, "the scaled tensor", positive, []int64{2}, 5, 2)
}

func TestMatricesAndImages(t *testing.T) {
	c := newContext(t)
	a, b := newNumbers(c, []float32{1, 2, 3, 4}, 2, 2), newNumbers(c, []float32{5, 6}, 2, 1)
	holds(t, "a b", troika.Must(a.Matmul(b, false, false)), []int64{2, 1}, 17, 39)
	holds(t, "a' b", troika.Must(a.Matmul(b, true, false)), []int64{2, 1}, 23, 34)
	holds(t, "b' a'", troika.Must(b.Matmul(a, true, true)), []int64{1, 2}, 17, 39)

	image, one := troika.Must(a.Reshape(1, 1, 2, 2)), []int64{1, 1, 1, 1}
	weight := newNumbers(c, []float32{1, 0, 0, -1}, 1, 1, 2, 2)
	holds(t, "a convolution", troika.Must(image.Conv2d(weight, nil, nil)), one, -3)
	options := troika.NewConv2dOptions()
	options.Padding, options.Stride = [2]int64{1, 1}, [2]int64{2, 2}
	holds(t, "a convolution with a bias", troika.Must(image.Conv2d(weight, newNumbers(c, []float32{10}, 1), options)),
		[]int64{1, 1, 2, 2}, 9, 10, 10, 14)

	pool := troika.NewPool2dOptions()
	_, err := image.AvgPool2d(pool)
	fails(t, err, troika.ErrInvalidArgument, "kernel")
	pool.Kernel = [2]int64{2, 2}
	holds(t, "the largest", troika.Must(image.MaxPool2d(pool)), one, 4)
	holds(t, "the mean", troika.Must(image.AvgPool2d(pool)), one, 2.5)
}

func TestShapes(t *testing.T) {
	c := newContext(t)
	x, row := newNumbers(c, []float32{1, 2, 3, 4, 5, 6}, 2, 3), newNumbers(c, []float32{7, 8, 9}, 1, 3)
	holds(t, "a transposed tensor", troika.Must(x.Transpose()), []int64{3, 2}, 1, 4, 2, 5, 3, 6)
	holds(t, "axes in their order", troika.Must(x.Transpose(0, 1)), []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	holds(t, "a part", troika.Must(x.Slice(-1, 1, 3)), []int64{2, 2}, 2, 3, 5, 6)
	holds(t, "joined tensors", troika.Must(troika.ConcatTensors(0, row, x)), []int64{3, 3}, 7, 8, 9, 1, 2, 3, 4, 5, 6)
	holds(t, "a repeated row", troika.Must(row.Expand(2, 3)), []int64{2, 3}, 7, 8, 9, 7, 8, 9)
	view := troika.Must(x.Reshape(3, -1))
	troika.Check(x.ScaleInPlace(2, 0), x.Close())
	holds(t, "a view", view, []int64{3, 2}, 2, 4, 6, 8, 10, 12)
}

func TestAlongAxes(t *testing.T) {
	c := newContext(t)
	x := newNumbers(c, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	holds(t, "the sum", troika.Must(x.Sum(nil, false)), []int64{}, 21)
	holds(t, "sums", troika.Must(x.Sum([]int32{0}, false)), []int64{3}, 5, 7, 9)
	holds(t, "sums of rows", troika.Must(x.Sum([]int32{-1}, true)), []int64{2, 1}, 6, 15)
	holds(t, "sums over no axes", troika.Must(x.Sum([]int32{}, false)), []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	holds(t, "the mean", troika.Must(x.Mean([]int32{1, 0}, true)), []int64{1, 1}, 3.5)
	holds(t, "the norm", troika.Must(newNumbers(c, []float32{3, -4}, 2).Norm()), []int64{}, 5)
	logits := newNumbers(c, []float32{0, 1.0986123, 1, 1}, 2, 2)
	holds(t, "probabilities", troika.Must(logits.Softmax(1)), []int64{2, 2}, 0.25, 0.75, 0.5, 0.5)
	places := troika.Must(logits.Argmax(-1))
	equal(t, "the largest", troika.Must(troika.Values[int64](places)), []int64{1, 0})
	holds(t, "losses", troika.Must(logits.CrossEntropy(places)), []int64{2}, 0.2876821, 0.6931472)
}

func TestTextOfTensors(t *testing.T) {
	c := newContext(t)
	x := newNumbers(c, []float32{1.5, -2, 3, 4}, 2, 2)
	text := troika.Must(x.Text())
	for _, part := range []string{"f32", "cpu:0", "1.5", "-2"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text is %q, without %q", text, part)
		}
	}
	equal(t, "printing", fmt.Sprint(x), text)
	large := troika.Must(troika.Must(troika.NewFullTensor(c, troika.CPU(0), troika.DtypeF32, 0, 100, 100)).Text())
	if len(large) > 1000 || !strings.Contains(large, "...") {
		t.Errorf("the text of a large tensor is %q", large)
	}
	troika.Check(x.Close(), c.Synchronize(troika.CPU(0)))
	equal(t, "a closed tensor", x.String(), "tensor is closed")
}

func TestOperationsFromManyGoroutines(t *testing.T) {
	c := newContext(t)
	x := newNumbers(c, []float32{1, 2}, 2)
	var adding sync.WaitGroup
	for i := 0; i < 4; i++ {
		adding.Add(1)
		go func() {
			defer adding.Done()
			for j := 0; j < 50; j++ {
				sum := troika.Must(x.Add(x))
				holds(t, "a sum", sum, []int64{2}, 2, 4)
				sum.Close()
			}
		}()
	}
	adding.Wait()
}
