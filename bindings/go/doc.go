// Package troika trains neural networks on several devices. It is a binding of the C library
// Troika.
//
//	context, err := troika.NewContext(nil)
//	model, err := troika.NewModel(context, "d2l_lenet", nil)
//	trainer, err := model.Attach(troika.CPUs(2), nil)
//	metrics, err := trainer.TrainEpoch(ctx, loader)
//
// # Objects
//
// A [Context] is the root. A [Dataset] has samples, a [Loader] makes batches of them, a [Model] is
// a network, and a [Trainer] is a model on devices. A [Tensor] is an array on a device that
// computes, and a [Gradients] records what tensors compute. A [Pending] is a step that runs, and a
// [Group] the processes of a job.
//
// Every object has a method Close, which may be called twice, in any order, and during a call of
// another goroutine: that call then ends first. A call on a closed object returns [ErrClosed].
// An object that a program forgets is closed when Go collects it.
//
// # Errors
//
// A call that fails returns an [*Error] with the status and the message of the library. [errors.Is]
// compares it with [ErrBusy], [ErrNotFound] and so on. A status above 0 is no error: a [Metrics] or
// [StepResult] has it as its field Status.
//
// # Callbacks
//
// An error that a callback returns comes back, wrapped, from the call that waits for the callback.
// A panic of a callback continues in the goroutine of that call. [Stop] ends a call without an
// error.
//
// # Threads
//
// An object may be used by any goroutine, and by one at a time, if its comment does not say more. A
// second call on a busy object returns [ErrBusy].
package troika

// #cgo pkg-config: troika
// #include <troika/troika.h>
import "C"
