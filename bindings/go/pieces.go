package troika

/*
#include <troika/troika.h>
*/
import "C"

import "unsafe"

// Forward runs the forward pass of a training step. The result has loss, samples, labels, correct
// and seconds. nil options are the defaults. Forward, Backward and Apply compute the bits of Step.
// Errors: those of Step; ErrInvalidArgument also for a batch without targets and without OwnLoss.
// Reads the batch.
func (t *Trainer) Forward(batch *Batch, options *ForwardOptions) (StepResult, error) {
	return t.forward(batch, options, nil)
}

// ForwardOutput is Forward, and returns the network's output too: a new tensor f32 [batch, ...] on
// the first device, and nil after StatusStopped.
func (t *Trainer) ForwardOutput(batch *Batch, options *ForwardOptions) (*Tensor, StepResult, error) {
	var out C.troika_tensor
	result, err := t.forward(batch, options, &out)
	if out == nil {
		return nil, result, err
	}
	return newTensor(out, t.shared), result, err
}

func (t *Trainer) forward(batch *Batch, options *ForwardOptions, out *C.troika_tensor) (StepResult, error) {
	return t.result(func(c *call, result *C.troika_step_result) C.troika_status {
		return C.troika_trainer_forward(t.handle, batch.handle, options.toC(c), out, result, &c.error)
	}, batch)
}

// Backward runs the backward pass of the last forward pass, and adds its gradients to those since
// the last Apply. outputGradient is the gradient of the caller's loss f32 [batch, ...] with
// OwnLoss, and nil without. Errors: ErrNotInitialized (no forward pass), ErrInvalidArgument,
// ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached. Reads outputGradient.
func (t *Trainer) Backward(outputGradient *Tensor) error {
	return do(func(c *call) C.troika_status {
		var handle C.troika_tensor
		if outputGradient != nil {
			c.use(outputGradient)
			handle = outputGradient.handle
		}
		return C.troika_trainer_backward(t.handle, handle, &c.error)
	}, t)
}

// GetInputGradient copies the gradient of the inputs of the last backward pass into gradient, which
// has the shape of the inputs. Errors: ErrNotInitialized (no backward pass with InputGradient),
// ErrInvalidArgument (another number of elements), ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) GetInputGradient(gradient []float32) error {
	bytes, size := memory(gradient)
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_get_input_gradient(t.handle, (*C.float)(unsafe.Pointer(&bytes[0])), size, &c.error)
	}, t)
}

// SetGradient replaces the gradient of a parameter on all devices, until Apply or until the next
// backward pass adds to it. Errors: ErrNotFound, ErrNotInitialized, ErrInvalidArgument (another
// number of elements), ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) SetGradient(name string, gradient []float32) error {
	bytes, size := memory(gradient)
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_set_gradient(t.handle, c.text("name", name), (*C.float)(unsafe.Pointer(&bytes[0])), size,
			&c.error)
	}, t)
}

// Apply updates the parameters with the gradients that are there, and counts a step. The result has
// step, learning rate, loss scale and the norm of the gradient; its status may be
// StatusStepSkipped. Errors: ErrNotInitialized (no backward pass), ErrOutOfMemory, ErrBusy,
// ErrComm, ErrDetached.
func (t *Trainer) Apply() (StepResult, error) {
	return t.result(func(c *call, result *C.troika_step_result) C.troika_status {
		return C.troika_trainer_apply(t.handle, result, &c.error)
	})
}
