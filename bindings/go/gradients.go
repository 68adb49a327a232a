package troika

/*
#include <troika/troika.h>
*/
import "C"

// A Gradients is a record of operations on tensors, for gradients of a number that they have made.
//
// It records the operations that read a watched tensor, or a result of such an operation. Until it
// is closed, recorded tensors are not changed in place. Calls may run at once, except that Watch
// writes its tensors.
type Gradients struct {
	object[C.troika_gradients]
}

// NewGradients creates an empty record. Any goroutine.
func NewGradients(context *Context) (*Gradients, error) {
	var out C.troika_gradients
	err := do(func(c *call) C.troika_status {
		return C.troika_gradients_create(context.handle, &out, &c.error)
	}, context)
	if err != nil {
		return nil, err
	}
	gradients := new(Gradients)
	gradients.init(out, "gradients", func(h C.troika_gradients) { C.troika_gradients_destroy(h) }, context.shared)
	return closeWhenCollected(gradients), nil
}

// Close ends the recording. The tensors may then change in place.
func (g *Gradients) Close() error { return closeUnlessNil(g) }

// Watch records the operations that read one of the tensors from now on. Errors: ErrInvalidArgument
// (another record watches a tensor, or a type that is not f32, bf16 or f16); the tensors before
// that one are watched. Writes the tensors.
func (g *Gradients) Watch(tensors ...*Tensor) error {
	for _, tensor := range tensors {
		err := do(func(c *call) C.troika_status {
			return C.troika_gradients_watch(g.handle, tensor.handle, &c.error)
		}, g, tensor)
		if err != nil {
			return err
		}
	}
	return nil
}

// The method Of computes the gradients of number, a tensor of one element that recorded operations
// have made, for each of the tensors. A gradient has the type, the shape and the device of its
// tensor. May be called several times. Errors: ErrInvalidArgument (a tensor that is not of this
// record; several elements; a number that does not depend on a tensor), ErrUnsupported (an
// operation without a gradient), ErrOutOfMemory. Reads the tensors.
func (g *Gradients) Of(number *Tensor, tensors ...*Tensor) ([]*Tensor, error) {
	out := make([]C.troika_tensor, len(tensors)+1)
	err := do(func(c *call) C.troika_status {
		list := handlesOf(c, tensors)
		return C.troika_gradients_compute(g.handle, number.handle, &list[0], length(c, "tensors", len(tensors)), &out[0],
			&c.error)
	}, g, number)
	if err != nil {
		return nil, err
	}
	gradients := make([]*Tensor, len(tensors))
	for i := range gradients {
		gradients[i] = newTensor(out[i], g.shared)
	}
	return gradients, nil
}
