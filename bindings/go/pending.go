package troika

/*
#include "callbacks.h"
*/
import "C"

import (
	"context"
	"runtime/cgo"
)

// A Pending is a step that was started and may not have ended. Any goroutine may use it at any
// time.
type Pending struct {
	object[C.troika_pending]
	step *asyncStep
}

// An asyncStep waits for the library's report that a step has ended.
type asyncStep struct {
	done     func(StepResult, error)
	ended    chan struct{} // closed after done has returned
	panicked *failure      // of done
}

func (s *asyncStep) end(result StepResult, status Status, message string) {
	defer close(s.ended)
	if s.done == nil {
		return
	}
	var err error
	if result.Status = status; status < 0 {
		err = &Error{Status: status, Message: message}
	}
	s.panicked, _ = guarded(func() error {
		s.done(result, err)
		return nil
	})
}

// StepAsync begins a step on a batch and returns at once. Steps run one after another; at most 64
// wait. Other calls of the trainer return ErrBusy until they have ended, except RequestStop and
// ClearStop. The caller may close the batch, and its loader may move on.
//
// done, if not nil, is called with what Step would return, on a thread of the library. It must not
// wait for a step of the same trainer. Its panic continues in Wait.
//
// Errors: ErrInvalidArgument, ErrBusy, ErrOutOfMemory. An error of the step itself is Wait's.
func (t *Trainer) StepAsync(batch *Batch, done func(StepResult, error)) (*Pending, error) {
	s := &asyncStep{done: done, ended: make(chan struct{})}
	handle := cgo.NewHandle(s)
	var out C.troika_pending
	err := do(func(c *call) C.troika_status {
		return C.troika_go_step_async(t.handle, batch.handle, C.uintptr_t(handle), &out, &c.error)
	}, t, batch)
	if err != nil {
		handle.Delete()
		return nil, err
	}
	pending := &Pending{step: s}
	pending.init(out, "pending step", func(h C.troika_pending) { C.troika_pending_destroy(h) }, t.shared)
	return closeWhenCollected(pending), nil
}

// Close gives up the pending step, which goes on.
func (p *Pending) Close() error { return closeUnlessNil(p) }

// Poll reports whether the step has ended.
func (p *Pending) Poll() (bool, error) {
	var isDone C.int32_t
	err := do(func(c *call) C.troika_status { return C.troika_pending_poll(p.handle, &isDone, &c.error) }, p)
	return isDone != 0, err
}

// Done returns a channel that is closed when the step and its function done have ended. It is
// closed at once if p is nil or a zero value.
func (p *Pending) Done() <-chan struct{} {
	if p == nil || p.step == nil {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return p.step.ended
}

// Wait waits for the end of the step, and returns what Step would have returned; or ctx.Err() if
// ctx ends before, and the step then goes on.
func (p *Pending) Wait(ctx context.Context) (StepResult, error) {
	if ctx == nil {
		return StepResult{}, errNoContext
	}
	if err := hold(p); err != nil {
		return StepResult{}, err
	}
	defer p.end()
	select {
	case <-p.step.ended:
	case <-ctx.Done():
		return StepResult{}, ctx.Err()
	}
	if p.step.panicked != nil {
		return StepResult{}, p.step.panicked.reason()
	}
	result := defaultStepResult
	status, err := run(func(c *call) C.troika_status {
		return C.troika_pending_wait(p.handle, -1, &result, &c.error)
	}, p)
	found := stepResultOf(&result)
	found.Status = status
	return found, err
}
