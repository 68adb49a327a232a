package troika

/*
#include "callbacks.h"
*/
import "C"

import (
	"context"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"
)

// A Trainer is a model on devices, which share its batches, layers and channels.
//
// It takes one call at a time, from any goroutine; a second call returns ErrBusy. Only RequestStop
// and ClearStop may be called at any time. ErrDetached and ErrComm are permanent: attach the model
// again.
type Trainer struct {
	object[C.troika_trainer]
	elements map[string]int64 // of parameters and buffers
	group    *Group
	failed   *atomic.Pointer[failure] // of the progress function, for the call in progress
}

// Close gives up the trainer. Its parameters stay with the model. It waits for a state that is
// saved in the background.
func (t *Trainer) Close() error { return closeUnlessNil(t) }

// size returns the number of elements of a parameter, and 0 if a call will refuse the trainer or
// the name.
func (t *Trainer) size(name string) int64 {
	if t == nil {
		return 0
	}
	return t.elements[name]
}

// result makes a call that has the result of a step.
func (t *Trainer) result(function func(c *call, result *C.troika_step_result) C.troika_status, objects ...user) (StepResult, error) {
	result := defaultStepResult
	status, err := run(func(c *call) C.troika_status { return function(c, &result) }, append([]user{t}, objects...)...)
	found := stepResultOf(&result)
	found.Status = status
	return found, err
}

// Step trains on one batch. The status of the result may be StatusStepSkipped or StatusStopped.
// Errors: ErrInvalidArgument, with nothing changed; ErrOutOfMemory, ErrUnsupported, ErrBusy,
// ErrComm, ErrDetached. Reads the batch.
func (t *Trainer) Step(batch *Batch) (StepResult, error) {
	return t.result(func(c *call, result *C.troika_step_result) C.troika_status {
		return C.troika_trainer_step(t.handle, batch.handle, result, &c.error)
	}, batch)
}

// watch asks for a stop when ctx ends. The function that it returns ends the watch, takes back the
// stop, so that the trainer stays usable, and reports whether it was asked for. In between, the
// caller keeps the trainer alive.
func (t *Trainer) watch(ctx context.Context) func() bool {
	if ctx.Done() == nil {
		return func() bool { return false }
	}
	ended, asked := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-ctx.Done():
			C.troika_trainer_request_stop(t.handle, nil)
			<-ended
			C.troika_trainer_clear_stop(t.handle, nil)
			asked <- true
		case <-ended:
			asked <- false
		}
	}()
	return func() bool {
		close(ended)
		return <-asked
	}
}

// overLoader makes a call that goes over the batches of a loader, until ctx ends.
func (t *Trainer) overLoader(ctx context.Context, loader *Loader, function func(c *call) C.troika_status) (Status, error) {
	if ctx == nil {
		return 0, errNoContext
	}
	if err := ctx.Err(); err != nil {
		return StatusStopped, err
	}
	if err := hold(t); err != nil {
		return 0, err
	}
	defer t.end()
	stopWatch := t.watch(ctx)
	status, err := run(function, t, loader)
	isAsked := stopWatch()
	if err != nil {
		return status, failureOf(loader, err)
	}
	// A call that failed may be a second one, which must not take the failure of the first.
	if failed := t.failed.Swap(nil); failed != nil {
		return status, failed.reason()
	}
	if status == StatusStopped && isAsked {
		err = ctx.Err()
	}
	return status, err
}

// metrics makes a call over a loader that has metrics.
func (t *Trainer) metrics(ctx context.Context, loader *Loader,
	function func(c *call, out *C.troika_metrics) C.troika_status) (Metrics, error) {
	out := defaultMetrics
	status, err := t.overLoader(ctx, loader, func(c *call) C.troika_status { return function(c, &out) })
	metrics := metricsOf(&out)
	metrics.Status = status
	return metrics, err
}

// TrainEpoch trains on the remaining batches of the loader's epoch, and leaves the loader at the
// start of the next one.
//
// When ctx ends, the call returns ctx.Err() after the batch in progress. The metrics then count the
// batches so far, and the loader is at the batch after them: another call goes on. The status is
// StatusStopped then, and after RequestStop, and if the progress function or the dataset's returned
// Stop. If one of them failed, the call returns its error or continues its panic.
//
// Errors: those of Step; ErrInvalidArgument also if there is no batch, ErrBusy also if the loader
// is in use, ErrCallback. One goroutine per trainer, and per loader, at a time.
func (t *Trainer) TrainEpoch(ctx context.Context, loader *Loader) (Metrics, error) {
	return t.metrics(ctx, loader, func(c *call, out *C.troika_metrics) C.troika_status {
		return C.troika_trainer_train_epoch(t.handle, loader.handle, out, &c.error)
	})
}

// TrainBatches trains as TrainEpoch does, on at most a number of batches. The status is
// StatusEndOfData if it reached the end of the epoch. Errors: those of TrainEpoch;
// ErrInvalidArgument also if batches is below 1.
func (t *Trainer) TrainBatches(ctx context.Context, loader *Loader, batches int64) (Metrics, error) {
	return t.metrics(ctx, loader, func(c *call, out *C.troika_metrics) C.troika_status {
		return C.troika_trainer_train_batches(t.handle, loader.handle, C.int64_t(batches), out, &c.error)
	})
}

// DivideLoader lets a loader read only the samples of each batch that this process's devices need,
// for Step. Errors: ErrBusy, ErrOutOfMemory.
func (t *Trainer) DivideLoader(loader *Loader) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_divide_loader(t.handle, loader.handle, &c.error)
	}, t, loader)
}

// Evaluate evaluates an epoch of the loader, from its first batch, on all devices. It ends and
// fails as TrainEpoch does.
func (t *Trainer) Evaluate(ctx context.Context, loader *Loader) (Metrics, error) {
	return t.metrics(ctx, loader, func(c *call, out *C.troika_metrics) C.troika_status {
		return C.troika_trainer_evaluate(t.handle, loader.handle, out, &c.error)
	})
}

// EvaluateOn evaluates as Evaluate does, on only one of the devices. Errors: those of Evaluate;
// ErrNotOnDevice, ErrUnsupported (a model that is split by layer or channel).
func (t *Trainer) EvaluateOn(ctx context.Context, device Device, loader *Loader) (Metrics, error) {
	return t.metrics(ctx, loader, func(c *call, out *C.troika_metrics) C.troika_status {
		return C.troika_trainer_evaluate_on(t.handle, device.c(), loader.handle, out, &c.error)
	})
}

// EvaluateBatch evaluates one batch. The result has loss, samples, labels, correct and seconds.
// Errors: those of Step. Reads the batch.
func (t *Trainer) EvaluateBatch(batch *Batch) (StepResult, error) {
	return t.result(func(c *call, result *C.troika_step_result) C.troika_status {
		return C.troika_trainer_evaluate_batch(t.handle, batch.handle, result, &c.error)
	}, batch)
}

// PredictLoader predicts an epoch of the loader, from its first batch, into output [samples, the
// output's shape], in the loader's order. It returns the number of samples, also if it was stopped.
// It ends and fails as TrainEpoch does; ErrInvalidArgument also if output is too small.
func (t *Trainer) PredictLoader(ctx context.Context, loader *Loader, output []float32) (samples int64, status Status, err error) {
	var out C.int64_t
	bytes, size := memory(output)
	status, err = t.overLoader(ctx, loader, func(c *call) C.troika_status {
		return C.troika_trainer_predict_loader(t.handle, loader.handle, (*C.float)(unsafe.Pointer(&bytes[0])), size, &out, &c.error)
	})
	return int64(out), status, err
}

// PredictBatch predicts one batch into output [samples, the output's shape]. Errors: those of
// Predict; ErrInvalidArgument also if output has another number of elements. Reads the batch.
func (t *Trainer) PredictBatch(batch *Batch, output []float32) error {
	bytes, size := memory(output)
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_predict_batch(t.handle, batch.handle, (*C.float)(unsafe.Pointer(&bytes[0])), size, &c.error)
	}, t, batch)
}

// Predict runs the network in evaluation mode on all devices. The output is a new tensor
// f32 [batch, ...] on the first device. Errors: ErrInvalidArgument, ErrOutOfMemory, ErrUnsupported,
// ErrBusy, ErrComm, ErrDetached. Reads the input.
func (t *Trainer) Predict(input *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_trainer_predict(t.handle, input.handle, out, &c.error)
	}, t, input)
}

// SetProgress sets the function that is called after each batch of the calls that go over a loader,
// on their goroutine; nil removes it. If the function returns an error, the call ends and returns
// it, wrapped; Stop ends it with StatusStopped and without an error. A panic continues in the call.
// The function must not call this trainer, except RequestStop. A function that refers to the
// trainer keeps it from being collected until Close. Errors: ErrBusy.
func (t *Trainer) SetProgress(function func(Progress) error) error {
	var handle cgo.Handle
	err := do(func(c *call) C.troika_status {
		if function != nil {
			handle = cgo.NewHandle(&progress{function, t.failed})
		}
		return C.troika_go_set_progress(t.handle, C.uintptr_t(handle), &c.error)
	}, t)
	if err != nil && handle != 0 {
		handle.Delete()
	}
	return err
}

// RequestStop asks for a stop: training or evaluation in progress, or else the next one, returns
// StatusStopped between two batches. Any goroutine, at any time.
func (t *Trainer) RequestStop() error {
	return do(func(c *call) C.troika_status { return C.troika_trainer_request_stop(t.handle, &c.error) }, t)
}

// ClearStop takes back a stop that no call has returned yet. Any goroutine, at any time.
func (t *Trainer) ClearStop() error {
	return do(func(c *call) C.troika_status { return C.troika_trainer_clear_stop(t.handle, &c.error) }, t)
}

// SetLearningRate sets the base learning rate from the next step on; the schedule multiplies it.
// group is an index of the options' groups, or -1 for the trainer. Errors: ErrInvalidArgument,
// ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) SetLearningRate(group int32, learningRate float64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_set_learning_rate(t.handle, C.int32_t(group), C.double(learningRate), &c.error)
	}, t)
}

// GetLearningRate returns the learning rate of the next step, with schedule and warm-up. group is
// as in SetLearningRate. Errors: ErrInvalidArgument, ErrBusy.
func (t *Trainer) GetLearningRate(group int32) (float64, error) {
	var out C.double
	err := do(func(c *call) C.troika_status {
		return C.troika_trainer_get_learning_rate(t.handle, C.int32_t(group), &out, &c.error)
	}, t)
	return float64(out), err
}

// SetOption sets an option from the next step on. group is as in SetLearningRate. Errors, after
// which nothing has changed: ErrInvalidArgument, ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) SetOption(group int32, option Option, value float64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_set_option(t.handle, C.int32_t(group), C.int32_t(option), C.double(value), &c.error)
	}, t)
}

// GetOption returns the value of an option. group is as in SetLearningRate. Errors:
// ErrInvalidArgument, ErrBusy.
func (t *Trainer) GetOption(group int32, option Option) (float64, error) {
	var out C.double
	err := do(func(c *call) C.troika_status {
		return C.troika_trainer_get_option(t.handle, C.int32_t(group), C.int32_t(option), &out, &c.error)
	}, t)
	return float64(out), err
}

// ReportMetric reports a metric to SchedulePlateau, usually once per evaluation. Errors:
// ErrInvalidArgument (another schedule, NaN), ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) ReportMetric(metric float64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_report_metric(t.handle, C.double(metric), &c.error)
	}, t)
}

// GetParameter returns a copy of the f32 parameter or buffer that the replica on a device holds.
// Errors: ErrNotFound, ErrNotOnDevice, ErrInvalidArgument (a counter), ErrOutOfMemory, ErrBusy,
// ErrComm, ErrDetached.
func (t *Trainer) GetParameter(name string, device Device) ([]float32, error) {
	values := make([]float32, t.size(name))
	if err := getReplica(t, name, device, values); err != nil {
		return nil, err
	}
	return values, nil
}

// GetCounter returns a buffer that is an i64 scalar, as GetParameter does.
func (t *Trainer) GetCounter(name string, device Device) (int64, error) {
	var value [1]int64
	err := getReplica(t, name, device, value[:])
	return value[0], err
}

func getReplica[T float32 | int64](t *Trainer, name string, device Device, values []T) error {
	bytes, size := memory(values)
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_get_parameter(t.handle, c.text("name", name), device.c(), unsafe.Pointer(&bytes[0]), size,
			&c.error)
	}, t)
}

// GetGradient returns a copy of the gradient of a parameter in the last step, summed over all
// devices, without the loss scale, not clipped. Errors: ErrNotFound, ErrNotInitialized,
// ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) GetGradient(name string) ([]float32, error) {
	gradient := make([]float32, t.size(name))
	bytes, size := memory(gradient)
	err := do(func(c *call) C.troika_status {
		return C.troika_trainer_get_gradient(t.handle, c.text("name", name), (*C.float)(unsafe.Pointer(&bytes[0])), size,
			&c.error)
	}, t)
	if err != nil {
		return nil, err
	}
	return gradient, nil
}

// CheckReplicas compares parameters and optimizer state of all replicas bit by bit. Errors:
// ErrMismatch (names parameter and devices), ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) CheckReplicas() error {
	return do(func(c *call) C.troika_status { return C.troika_trainer_check_replicas(t.handle, &c.error) }, t)
}

// Save writes a training state, from which training resumes bit for bit. The file is written
// atomically. Errors: ErrIO, ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) Save(path string) error {
	return do(func(c *call) C.troika_status { return C.troika_trainer_save(t.handle, c.text("path", path), &c.error) }, t)
}

// SaveWith writes a training state with options; nil are the defaults. An error of a file that is
// written in the background is returned by the next call, or by WaitSave. Errors: those of Save;
// ErrInvalidArgument (names the field).
func (t *Trainer) SaveWith(path string, options *SaveOptions) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_save_with(t.handle, c.text("path", path), options.toC(c), &c.error)
	}, t)
}

// WaitSave waits for the file that is written in the background, and returns its error. The end of
// a Go program does not wait for the file.
func (t *Trainer) WaitSave() error {
	return do(func(c *call) C.troika_status { return C.troika_trainer_wait_save(t.handle, &c.error) }, t)
}

// SaveAverage writes a model file with the moving averages of the parameters. Errors:
// ErrInvalidArgument (attached without AverageDecay), ErrIO, ErrOutOfMemory, ErrBusy, ErrComm,
// ErrDetached.
func (t *Trainer) SaveAverage(path string) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_save_average(t.handle, c.text("path", path), &c.error)
	}, t)
}

// Load reads a training state, and returns the place in the epoch for Loader.Seek. If the next
// batch of a loader that is moved there has other samples than the state's, a step refuses it with
// ErrInvalidArgument. A loader that is not moved is not compared: its batches are at another place.
// A refused file changes nothing. Errors: ErrNotFound, ErrIO, ErrCorrupt, ErrMismatch,
// ErrOutOfMemory, ErrBusy, ErrComm, ErrDetached.
func (t *Trainer) Load(path string) (LoaderPosition, error) {
	position := defaultLoaderPosition
	err := t.load(path, &position)
	return loaderPositionOf(&position), err
}

// LoadInAnyOrder reads a training state as Load does, and leaves the order of the next samples to
// the caller: no batch is compared.
func (t *Trainer) LoadInAnyOrder(path string) error { return t.load(path, nil) }

func (t *Trainer) load(path string, position *C.troika_loader_position) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_load(t.handle, c.text("path", path), position, &c.error)
	}, t)
}

// Unwrap returns the single-device model, which shares the trained parameters. The trainer stays
// usable. Errors: ErrOutOfMemory, ErrBusy, ErrDetached.
func (t *Trainer) Unwrap() (*Model, error) {
	return createModel(func(c *call, out *C.troika_model) C.troika_status {
		return C.troika_trainer_unwrap(t.handle, out, &c.error)
	}, t)
}

// Memory returns the memory of a replica, which counts from 0. Errors: ErrNotFound (no such
// replica), ErrBusy.
func (t *Trainer) Memory(replica int32) (MemoryInfo, error) {
	info := defaultMemoryInfo
	err := do(func(c *call) C.troika_status {
		return C.troika_trainer_memory(t.handle, C.int32_t(replica), &info, &c.error)
	}, t)
	return memoryInfoOf(&info), err
}

// Explain returns the plan of a step on a number of samples as text, and StatusStopped without a
// text if a stop was requested. Errors: ErrInvalidArgument, ErrOutOfMemory, ErrUnsupported,
// ErrBusy, ErrComm, ErrDetached, ErrNotInitialized (in a group, before the first batch).
// Experimental.
func (t *Trainer) Explain(batch int64) (string, Status, error) {
	return textAndStatusOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_trainer_explain(t.handle, C.int64_t(batch), b.first, b.capacity, &b.size, &c.error)
	}, t)
}

// Trace returns the trace of the last step, a line for each event; it needs CollectTrace. Errors:
// ErrNotInitialized (no trace), ErrBusy. Experimental.
func (t *Trainer) Trace() (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_trainer_trace(t.handle, b.first, b.capacity, &b.size, &c.error)
	}, t)
}

// SaveTrace writes the trace of the last step as JSON for ui.perfetto.dev; it needs CollectTrace.
// Errors: ErrNotInitialized (no trace), ErrIO, ErrOutOfMemory, ErrBusy, ErrComm.
func (t *Trainer) SaveTrace(file string) error {
	return do(func(c *call) C.troika_status {
		return C.troika_trainer_save_trace(t.handle, c.text("file", file), &c.error)
	}, t)
}

// Describe returns devices, mesh, steps done and learning rate. Errors: ErrBusy.
func (t *Trainer) Describe() (TrainerInfo, error) {
	info := defaultTrainerInfo
	err := do(func(c *call) C.troika_status { return C.troika_trainer_describe(t.handle, &info, &c.error) }, t)
	return trainerInfoOf(&info), err
}

// GetDevices returns the devices, in the order of replicas. Errors: ErrBusy.
func (t *Trainer) GetDevices() ([]Device, error) {
	return devicesOf(func(c *call, devices *C.troika_device, capacity C.int32_t, count *C.int32_t) C.troika_status {
		return C.troika_trainer_get_devices(t.handle, devices, capacity, count, &c.error)
	}, t)
}

// GetOptions returns the options that the trainer was attached with, with the values that it uses.
// Another model can be attached with them. Errors: ErrBusy.
func (t *Trainer) GetOptions() (*TrainerOptions, error) {
	out := defaultTrainerOptions
	var options TrainerOptions
	err := do(func(c *call) C.troika_status {
		status := C.troika_trainer_get_options(t.handle, &out, &c.error)
		if status == C.TROIKA_OK {
			options = trainerOptionsOf(&out) // borrows from the trainer
		}
		return status
	}, t)
	if err != nil {
		return nil, err
	}
	options.Group = t.group
	return &options, nil
}

// ToJSON returns the description of the trainer as one JSON object. Errors: ErrBusy.
func (t *Trainer) ToJSON() (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_trainer_to_json(t.handle, b.first, b.capacity, &b.size, &c.error)
	}, t)
}
