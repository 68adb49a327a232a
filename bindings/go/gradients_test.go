package troika_test

import (
	"fmt"
	"testing"

	"troika"
)

func TestGradientsOfAProduct(t *testing.T) {
	c := newContext(t)
	a, b := newNumbers(c, []float32{1, 2}, 2), newNumbers(c, []float32{3, 4}, 2)
	gradients := troika.Must(troika.NewGradients(c))
	troika.Check(gradients.Watch(a, b), gradients.Watch(a))
	sum := troika.Must(troika.Must(a.Multiply(b)).Sum(nil, false))
	computed := troika.Must(gradients.Of(sum, b, a))
	holds(t, "the gradient of b", computed[0], []int64{2}, 1, 2)
	holds(t, "the gradient of a", computed[1], []int64{2}, 3, 4)
	squares := troika.Must(troika.Must(a.Multiply(a)).Sum(nil, false))
	holds(t, "twice a", troika.Must(gradients.Of(squares, a))[0], []int64{2}, 2, 4)

	fails(t, a.ScaleInPlace(2, 0), troika.ErrInvalidArgument, "recorded")
	troika.Check(gradients.Close(), a.ScaleInPlace(2, 0), b.Close(), sum.Close())
	holds(t, "a that has changed", a, []int64{2}, 2, 4)
	holds(t, "a gradient that lives on", computed[0], []int64{2}, 1, 2)
}

func TestMisuseOfGradients(t *testing.T) {
	c := newContext(t)
	a, b := newNumbers(c, []float32{1, 2}, 2), newNumbers(c, []float32{3, 4}, 2)
	gradients, others := troika.Must(troika.NewGradients(c)), troika.Must(troika.NewGradients(c))
	defer others.Close()
	troika.Check(gradients.Watch(a, b))
	fails(t, others.Watch(a), troika.ErrInvalidArgument, "another gradients object")
	integers := troika.Must(troika.NewTensor(c, troika.CPU(0), []int32{1}, 1))
	fails(t, gradients.Watch(integers), troika.ErrInvalidArgument, "i32")
	number := troika.Must(a.Sum(nil, false))
	fails(t, third(gradients.Of(number)), troika.ErrInvalidArgument, "tensor_count is 0")
	fails(t, third(gradients.Of(a, a)), troika.ErrInvalidArgument, "need one number")
	fails(t, third(gradients.Of(number, b)), troika.ErrInvalidArgument, "does not depend")
	fails(t, third(gradients.Of(number, integers)), troika.ErrInvalidArgument, "tensors[0]")
	fails(t, third(others.Of(number, a)), troika.ErrInvalidArgument, "number")
	troika.Check(b.Close())
	fails(t, third(gradients.Of(number, b)), troika.ErrClosed, "tensor is closed")
	fails(t, third(troika.ConcatTensors(0, a, b)), troika.ErrClosed, "tensor is closed")
	troika.Check(gradients.Close())
	fails(t, gradients.Watch(a), troika.ErrClosed, "gradients is closed")
	troika.Check(c.Close())
	fails(t, third(troika.NewGradients(c)), troika.ErrClosed, "context is closed")
}

// This program learns y = 3 x1 - 2 x2 + 1 from random points.
func ExampleGradients() {
	c := troika.Must(troika.NewContext(nil))
	defer c.Close()
	cpu, f32 := troika.CPU(0), troika.DtypeF32
	x := troika.Must(troika.NewNormalTensor(c, cpu, f32, 0, 1, 5, 64, 2))
	known := troika.Must(troika.NewTensor(c, cpu, []float32{3, -2}, 2, 1))
	y := troika.Must(troika.Must(x.Matmul(known, false, false)).Scale(1, 1))
	w := troika.Must(troika.NewTensor[float32](c, cpu, nil, 2, 1))
	b := troika.Must(troika.NewTensor[float32](c, cpu, nil, 1))
	var losses []float32
	for i := 0; i < 100; i++ {
		gradients := troika.Must(troika.NewGradients(c))
		troika.Check(gradients.Watch(w, b))
		output := troika.Must(troika.Must(x.Matmul(w, false, false)).Add(b))
		difference := troika.Must(output.Subtract(y))
		loss := troika.Must(troika.Must(difference.Multiply(difference)).Mean(nil, false))
		changes := troika.Must(gradients.Of(loss, w, b))
		troika.Check(gradients.Close()) // until here w and b cannot change
		troika.Check(w.AddInPlace(changes[0], -0.1), b.AddInPlace(changes[1], -0.1))
		losses = append(losses, troika.Must(troika.Values[float32](loss))[0])
	}
	fmt.Println(losses[0] > 5, losses[10] < losses[0]/10, losses[99] < 1e-6)
	learnt := append(troika.Must(troika.Values[float32](w)), troika.Must(troika.Values[float32](b))...)
	fmt.Printf("%.2f\n", learnt)
	// Output:
	// true true true
	// [3.00 -2.00 1.00]
}
