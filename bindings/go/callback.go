package troika

/*
#include "callbacks.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// A failure is what a callback left for the call that waits for it: an error, or the value of a
// panic.
type failure struct {
	message  string // that the library reports
	err      error
	panicked bool
	value    any
}

// reason returns the error of the waiting call, or continues the panic.
func (f *failure) reason() error {
	if f.panicked {
		panic(f.value)
	}
	return &Error{Status: StatusCallback, Message: f.message, cause: f.err}
}

// guarded calls a function of the host. Neither an error nor a panic crosses C: both come back as a
// failure. Stop is no failure.
func guarded(function func() error) (failed *failure, isStop bool) {
	defer func() {
		if value := recover(); value != nil {
			failed = &failure{message: line(fmt.Sprintf("panic: %v", value)), panicked: true, value: value}
		}
	}()
	err := function()
	if err == nil || errors.Is(err, Stop) {
		return nil, err != nil
	}
	return &failure{message: line(err.Error()), err: err}, false
}

// line returns a message as the library would keep it: one line of UTF-8 that fits an error struct.
func line(message string) string {
	if message == "" {
		message = "a callback failed and left no message"
	}
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, "\uFFFD"))
	end := C.TROIKA_ERROR_MESSAGE_BYTES - 1
	if len(message) <= end {
		return message
	}
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}

//export troikaGoDestroy
func troikaGoDestroy(handle C.uintptr_t) {
	value := cgo.Handle(handle).Value()
	cgo.Handle(handle).Delete()
	if borrowed, ok := value.(*borrowed); ok {
		defer func() { borrowed.shared.keep(recover()) }()
		borrowed.release()
	}
}

// borrowed is what a dataset of arrays of the host has to release.
type borrowed struct {
	release func()
	shared  *contextState
}

//export troikaGoLog
func troikaGoLog(handle C.uintptr_t, level C.int32_t, topic, text *C.char) {
	context := cgo.Handle(handle).Value().(*contextState)
	defer func() { context.keep(recover()) }()
	context.log(LogLevel(level), C.GoString(topic), C.GoString(text))
}

// A reader is a function that reads samples, with the sizes of what it writes per sample.
type reader struct {
	read                   ReadFunc
	inputs, labels, values int64
	isOfTokens             bool

	mutex  sync.Mutex
	failed []*failure // until the waiting calls take them
}

// Failures that no call waited for are forgotten from this number on.
const mostFailures = 64

func (r *reader) keep(f *failure) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.failed) == mostFailures {
		r.failed = r.failed[1:]
	}
	r.failed = append(r.failed, f)
}

// take returns the failure with a message, or nil.
func (r *reader) take(message string) *failure {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i, f := range r.failed {
		if f.message == message {
			r.failed = append(r.failed[:i:i], r.failed[i+1:]...)
			return f
		}
	}
	return nil
}

// requested returns what the library asks for.
func (r *reader) requested(request *C.troika_read_request) *ReadRequest {
	n := int64(request.n)
	wanted := &ReadRequest{
		N:       n,
		Indices: view[int64](request.indices, n),
		Epoch:   int64(request.epoch),
		First:   int64(request.first),
		Labels:  view[int32](request.labels, r.labels*n),
		Values:  view[float32](request.values, r.values*n),
	}
	if r.isOfTokens {
		wanted.Tokens = view[int32]((*C.int32_t)(request.inputs), r.inputs*n)
	} else {
		wanted.Inputs = view[float32]((*C.float)(request.inputs), r.inputs*n)
	}
	return wanted
}

//export troikaGoRead
func troikaGoRead(handle C.uintptr_t, request *C.troika_read_request, reported *C.troika_error) (n C.int64_t) {
	r := cgo.Handle(handle).Value().(*reader)
	failed, isStop := guarded(func() error {
		written, err := r.read(r.requested(request))
		n = C.int64_t(written)
		return err
	})
	switch {
	case isStop:
		reported.status = C.TROIKA_STOPPED
		return -1
	case failed != nil:
		r.keep(failed)
		message := unsafe.Slice((*byte)(unsafe.Pointer(&reported.message[0])), len(reported.message))
		message[copy(message, failed.message)] = 0
		return -1
	}
	return n
}

// failureOf replaces the library's error of a callback by what the callback left. loader is nil
// only if the call has refused it.
func failureOf(loader *Loader, err error) error {
	var reported *Error
	if !errors.As(err, &reported) || reported.Status != StatusCallback {
		return err
	}
	for _, r := range loader.readers {
		if f := r.take(reported.Message); f != nil {
			return f.reason()
		}
	}
	return err
}

// view returns memory of C as a slice, and nil for NULL.
func view[To, From any](pointer *From, n int64) []To {
	if pointer == nil {
		return nil
	}
	return unsafe.Slice((*To)(unsafe.Pointer(pointer)), n)
}

// A progress is the progress function of a trainer, and the place for its failure. It must not
// refer to the trainer, because C keeps it alive.
type progress struct {
	function func(Progress) error
	failed   *atomic.Pointer[failure]
}

//export troikaGoProgress
func troikaGoProgress(handle C.uintptr_t, state *C.troika_progress) C.int32_t {
	p := cgo.Handle(handle).Value().(*progress)
	failed, isStop := guarded(func() error { return p.function(progressOf(state)) })
	if failed != nil {
		p.failed.Store(failed)
	}
	return flag(isStop || failed != nil)
}

//export troikaGoDone
func troikaGoDone(handle C.uintptr_t, status C.troika_status, result *C.troika_step_result, reported *C.troika_error) {
	s := cgo.Handle(handle).Value().(*asyncStep)
	cgo.Handle(handle).Delete()
	s.end(stepResultOf(result), Status(status), C.GoString(&reported.message[0]))
}
