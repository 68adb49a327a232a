package troika

import (
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
)

// A user is an object that a call uses. It is not destroyed between begin and end.
type user interface {
	begin() error
	end()
	context() *contextState
}

// hold begins a use of an object. It refuses nil, on which begin would panic, and an object that
// this package did not make.
func hold(o user) error {
	if isNil(o) {
		return refuse("%s is nil, need one", nounOf(o))
	}
	if o.context() == nil {
		return refuse("%s is a zero value, need one that this package made", nounOf(o))
	}
	return o.begin()
}

func isNil(o any) bool { return reflect.ValueOf(o).IsNil() }

// nounOf returns the name of an object that may have no noun of its own.
func nounOf(o any) string { return strings.ToLower(reflect.TypeOf(o).Elem().Name()) }

// An object owns a handle of type H. It counts the calls that use the handle, so that Close during
// a call leaves the destruction to the end of the last call. The count also keeps the object alive
// over each call, as runtime.KeepAlive would.
type object[H any] struct {
	handle  H
	noun    string
	destroy func(H)
	shared  *contextState
	state   atomic.Int32 // calls in progress, and closedBit after Close
}

const closedBit = math.MinInt32

func (o *object[H]) begin() error {
	o.shared.raise()
	for {
		state := o.state.Load()
		if state < 0 {
			return closedError(o.noun)
		}
		if o.state.CompareAndSwap(state, state+1) {
			return nil
		}
	}
}

func (o *object[H]) end() {
	if o.state.Add(-1) == closedBit {
		o.destroy(o.handle)
	}
}

// closeUnlessNil is the method Close of every object. It never fails, and does nothing for nil and
// for a zero value.
func closeUnlessNil(o interface {
	user
	close() error
}) error {
	if isNil(o) || o.context() == nil {
		return nil
	}
	return o.close()
}

func (o *object[H]) close() error {
	for {
		state := o.state.Load()
		if state < 0 {
			return nil
		}
		if o.state.CompareAndSwap(state, state|closedBit) {
			if state == 0 {
				o.destroy(o.handle)
			}
			return nil
		}
	}
}

func (o *object[H]) isClosed() bool { return o.state.Load() < 0 }

// context returns what the object shares with its context, and nil for a zero value.
func (o *object[H]) context() *contextState { return o.shared }

// init sets the fields; an object with an atomic counter cannot be copied.
func (o *object[H]) init(handle H, noun string, destroy func(H), shared *contextState) {
	o.handle, o.noun, o.destroy, o.shared = handle, noun, destroy, shared
}

// closeWhenCollected closes an object that the program forgot. Closing may wait for a callback, and
// finalizers share one goroutine.
func closeWhenCollected[T interface {
	io.Closer
	isClosed() bool
}](o T) T {
	runtime.SetFinalizer(o, func(o T) {
		if !o.isClosed() {
			go o.Close()
		}
	})
	return o
}

// A contextState is what a context shares with all objects that are made from it.
type contextState struct {
	log      func(level LogLevel, topic, line string)
	panicked atomic.Pointer[any] // in a callback that no call waits for
}

// keep keeps the value of a panic until the next call, or does nothing without one.
func (s *contextState) keep(value any) {
	if value != nil {
		s.panicked.Store(&value)
	}
}

// raise panics with the value that was kept.
func (s *contextState) raise() {
	if s.panicked.Load() == nil {
		return // as nearly always
	}
	if value := s.panicked.Swap(nil); value != nil {
		panic(*value)
	}
}
