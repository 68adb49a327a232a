package troika_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"troika"
)

func TestProgress(t *testing.T) {
	trainer, loader := newTraining(newContext(t), 20)
	var states []troika.Progress
	troika.Check(trainer.SetProgress(func(p troika.Progress) error {
		states = append(states, p)
		return nil
	}))
	metrics := troika.Must(trainer.TrainEpoch(background, loader))
	last := states[len(states)-1]
	equal(t, "states", len(states), 3)
	equal(t, "the last", []any{last.Batch, last.Batches, last.Samples, last.BatchSamples, last.Training, last.Loss},
		[]any{int64(3), int64(3), int64(20), int64(4), true, metrics.Loss})
	troika.Must(trainer.Evaluate(background, loader))
	equal(t, "an evaluation", []any{len(states), states[5].Training}, []any{6, false})
	troika.Check(trainer.SetProgress(nil))
	troika.Must(trainer.TrainEpoch(background, loader))
	equal(t, "states without a function", len(states), 6)
}

func TestFailuresOfProgress(t *testing.T) {
	trainer, loader := newTraining(newContext(t), 20)
	rest := func(samples int64) {
		t.Helper()
		troika.Check(trainer.SetProgress(nil))
		metrics := troika.Must(trainer.TrainEpoch(background, loader))
		equal(t, "the rest of the epoch", []any{metrics.Samples, metrics.Status}, []any{samples, troika.StatusOK})
	}
	troika.Check(trainer.SetProgress(func(troika.Progress) error { return errMine }))
	metrics, err := trainer.TrainEpoch(background, loader)
	fails(t, err, troika.ErrCallback, "the disk is wet")
	equal(t, "the same error", errors.Is(err, errMine), true)
	equal(t, "the metrics", []any{metrics.Samples, metrics.Status}, []any{int64(8), troika.StatusStopped})
	rest(12)

	mine := new(int)
	troika.Check(trainer.SetProgress(func(troika.Progress) error { panic(mine) }))
	equal(t, "the panic", panics(t, func() { trainer.TrainEpoch(background, loader) }), mine)
	rest(12)

	troika.Check(trainer.SetProgress(func(p troika.Progress) error {
		if p.Batch == p.Batches {
			return errMine
		}
		return nil
	}))
	_, err = trainer.TrainEpoch(background, loader)
	equal(t, "the error after the last batch", errors.Is(err, errMine), true)
	_, err = trainer.Evaluate(background, loader)
	equal(t, "the error after an evaluation", errors.Is(err, errMine), true)
	troika.Check(loader.Seek(troika.LoaderPosition{}))

	troika.Check(trainer.SetProgress(func(troika.Progress) error { return troika.Stop }))
	metrics = troika.Must(trainer.TrainEpoch(background, loader))
	equal(t, "a stop", []any{metrics.Samples, metrics.Status}, []any{int64(8), troika.StatusStopped})
	n, status, err := trainer.PredictLoader(background, loader, make([]float32, 20*4))
	equal(t, "a stopped prediction", []any{n, status, err}, []any{int64(8), troika.StatusStopped, nil})
	rest(12)

	troika.Check(trainer.SetProgress(func(troika.Progress) error {
		_, err := trainer.Describe()
		return err
	}))
	_, err = trainer.TrainEpoch(background, loader)
	equal(t, "the error of a call in the callback", errors.Is(err, troika.ErrBusy), true)
	rest(12)
}

func TestPendingSteps(t *testing.T) {
	c := newContext(t)
	trainer, batch := newRegression(c, nil)
	reported := make(chan troika.StepResult, 1)
	pending := troika.Must(trainer.StepAsync(batch, func(result troika.StepResult, err error) {
		troika.Check(err)
		reported <- result
	}))
	result := troika.Must(pending.Wait(background))
	equal(t, "the loss", []any{result.Loss, result.Status}, []any{2.25, troika.StatusOK})
	equal(t, "the result that was reported", <-reported, result)
	equal(t, "the end", troika.Must(pending.Poll()), true)
	<-pending.Done()

	// The steps run in order. The batch and its loader may go on.
	trainer, loader := newTraining(c, 20)
	var steps []*troika.Pending
	for epoch := loader.Epoch(); epoch.Next(); {
		steps = append(steps, troika.Must(trainer.StepAsync(epoch.Batch(), nil)))
	}
	for i, step := range steps {
		equal(t, "the step", troika.Must(step.Wait(background)).Step, int64(i+1))
		troika.Check(step.Close())
		_, err := step.Poll()
		fails(t, err, troika.ErrClosed, "pending step is closed")
	}
	equal(t, "steps", len(steps), 3)
}

func TestFailuresOfPendingSteps(t *testing.T) {
	c := newContext(t)
	trainer, _ := newTraining(c, 20)
	wrong := newSample(c)
	failed := make(chan error, 1)
	pending := troika.Must(trainer.StepAsync(wrong, func(_ troika.StepResult, err error) { failed <- err }))
	_, err := pending.Wait(background)
	fails(t, err, troika.ErrInvalidArgument, "")
	equal(t, "the error that was reported", (<-failed).Error(), err.Error())

	mine := new(int)
	pending = troika.Must(trainer.StepAsync(wrong, func(troika.StepResult, error) { panic(mine) }))
	equal(t, "the panic", panics(t, func() { pending.Wait(background) }), mine)

	release := make(chan struct{})
	pending = troika.Must(trainer.StepAsync(wrong, func(troika.StepResult, error) { <-release }))
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = pending.Wait(ctx)
	equal(t, "the error after a time", err, context.DeadlineExceeded)
	close(release)
	_, err = pending.Wait(background)
	fails(t, err, troika.ErrInvalidArgument, "")

	troika.Check(trainer.RequestStop())
	regression, batch := newRegression(c, nil)
	troika.Check(regression.RequestStop())
	pending = troika.Must(regression.StepAsync(batch, nil))
	equal(t, "a stop", troika.Must(pending.Wait(background)).Status, troika.StatusStopped)
	regression.Close()
	_, err = regression.StepAsync(batch, nil)
	fails(t, err, troika.ErrClosed, "trainer is closed")
}

// cancelAfter returns a context that ends after a number of batches.
func cancelAfter(trainer *troika.Trainer, batches int64) context.Context {
	ctx, cancel := context.WithCancel(background)
	troika.Check(trainer.SetProgress(func(p troika.Progress) error {
		if p.Batch == batches {
			cancel()
			time.Sleep(50 * time.Millisecond) // until the stop was asked for
		}
		return nil
	}))
	return ctx
}

func TestCancellation(t *testing.T) {
	c := newContext(t)
	trainer, loader := newTraining(c, 80)
	metrics, err := trainer.TrainEpoch(cancelAfter(trainer, 2), loader)
	equal(t, "the error", err, context.Canceled)
	equal(t, "the metrics", []any{metrics.Samples, metrics.Status}, []any{int64(16), troika.StatusStopped})
	metrics = troika.Must(trainer.TrainEpoch(background, loader))
	equal(t, "the rest of the epoch", []any{metrics.Samples, metrics.Status}, []any{int64(64), troika.StatusOK})

	_, err = trainer.Evaluate(cancelAfter(trainer, 2), loader)
	equal(t, "the error of an evaluation", err, context.Canceled)
	n, status, err := trainer.PredictLoader(cancelAfter(trainer, 2), loader, make([]float32, 80*4))
	equal(t, "the prediction", []any{n, status, err}, []any{int64(16), troika.StatusStopped, context.Canceled})

	// A context that ends between calls leaves no stop.
	ctx, cancel := context.WithCancel(background)
	troika.Check(trainer.SetProgress(nil))
	equal(t, "a whole epoch", troika.Must(trainer.Evaluate(ctx, loader)).Samples, int64(80))
	cancel()
	_, err = trainer.TrainEpoch(ctx, loader)
	equal(t, "the error of an ended context", err, context.Canceled)
	equal(t, "no stop", troika.Must(trainer.TrainEpoch(background, loader)).Samples, int64(80))

	// It also ends a call that waits for the dataset's callback.
	ctx, cancel = context.WithCancel(background)
	waits := make(chan struct{})
	slow := troika.Must(troika.NewLoader(newSource(c, 4, func(r *troika.ReadRequest) error {
		if r.Indices[0] == 2 {
			cancel()
			<-waits
		}
		return nil
	}), 2, nil))
	metrics, err = newClassifier(c).TrainEpoch(ctx, slow)
	equal(t, "a call that waits", []any{err, metrics.Status}, []any{context.Canceled, troika.StatusStopped})
	close(waits)
}

// A function that C may call is kept as long, and no longer.
func TestFunctionsAreReleased(t *testing.T) {
	released := make(chan string, 16)
	// tracked returns a value whose collection is reported.
	tracked := func(name string) *[64]byte {
		value := new([64]byte)
		runtime.SetFinalizer(value, func(*[64]byte) { released <- name })
		return value
	}
	func() {
		options := troika.NewContextOptions()
		log, reading, progress, done := tracked("log"), tracked("read"), tracked("progress"), tracked("done")
		options.Log = func(troika.LogLevel, string, string) { runtime.KeepAlive(log) }
		c := troika.Must(troika.NewContext(options))
		dataset := newSource(c, 4, func(*troika.ReadRequest) error {
			runtime.KeepAlive(reading)
			return nil
		})
		loader := troika.Must(troika.NewLoader(dataset, 2, nil))
		trainer := newClassifier(c)
		troika.Check(trainer.SetProgress(func(troika.Progress) error {
			runtime.KeepAlive(progress)
			return nil
		}))
		batch := troika.Must(troika.Must(loader.Next()).Copy())
		pending := troika.Must(trainer.StepAsync(batch, func(troika.StepResult, error) { runtime.KeepAlive(done) }))
		troika.Must(pending.Wait(background))
		runtime.GC()
		equal(t, "released functions", len(released), 0)
		// Everything is closed by the collector.
	}()
	found := map[string]bool{}
	for deadline := time.Now().Add(20 * time.Second); len(found) < 4 && time.Now().Before(deadline); {
		runtime.GC()
		select {
		case name := <-released:
			found[name] = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	equal(t, "released functions", found, map[string]bool{"log": true, "read": true, "progress": true, "done": true})
}
