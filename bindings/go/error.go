package troika

/*
#include <troika/troika.h>
*/
import "C"

import (
	"errors"
	"fmt"
)

// ErrClosed is the error of a call on an object after its Close, for errors.Is.
var ErrClosed error = closedError("object")

// A closedError names an object that is closed.
type closedError string

func (e closedError) Error() string { return string(e) + " is closed" }

func (closedError) Is(target error) bool { return target == ErrClosed }

// Stop is what a callback returns to end the call that waits for it, without an error. The result
// of that call has StatusStopped. Loader.Next has no result, and returns Stop itself.
var Stop = errors.New("stop")

// An Error says why a call failed.
type Error struct {
	Status  Status // Below 0.
	Message string // One line: the object, what was found, what was needed.

	cause error // of a callback
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is the error of this status, such as ErrBusy.
func (e *Error) Is(target error) bool { return target == error(sentinel(e.Status)) }

// Unwrap returns the error of a callback, if one failed.
func (e *Error) Unwrap() error { return e.cause }

// A sentinel is what errors.Is compares with the status of an Error.
type sentinel Status

func (s sentinel) Error() string { return "Err" + Status(s).String() }

// String returns the name, such as "StepSkipped". A newer library may have more statuses, with its
// own names.
func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return C.GoString(C.troika_status_name(C.troika_status(s)))
}

// refuse returns the error of an argument that this package refuses itself.
func refuse(format string, arguments ...any) error {
	return &Error{Status: StatusInvalidArgument, Message: fmt.Sprintf(format, arguments...)}
}

var errNoContext = refuse("ctx is nil, need one such as context.Background()")

// Must returns value, and panics if err is not nil. It is for short programs and tests.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check panics with the first of errs that is not nil. It is for short programs and tests.
func Check(errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
}
