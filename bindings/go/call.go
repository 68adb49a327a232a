package troika

/*
#include <stdlib.h>
#include <troika/troika.h>
*/
import "C"

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"unsafe"
)

// A call is one call of the library: its error struct, the objects that it uses, and the C memory
// of its arguments. C memory may contain pointers to C memory, which Go memory that C reads must
// not.
type call struct {
	error  C.troika_error
	users  []user
	memory []unsafe.Pointer
}

var calls = sync.Pool{New: func() any { return new(call) }}

// A misuse is the panic with which the preparation of a call ends it before the library is called.
type misuse struct{ error }

// run makes a call that uses objects. The status is above 0 for information, and err then nil.
func run(function func(c *call) C.troika_status, objects ...user) (status Status, err error) {
	c := calls.Get().(*call)
	defer c.finish(&err)
	for _, object := range objects {
		c.use(object)
	}
	status = Status(function(c))
	if status < 0 {
		err = &Error{Status: status, Message: C.GoString(&c.error.message[0])}
	}
	return status, err
}

// do makes a call whose status says no more than its error.
func do(function func(c *call) C.troika_status, objects ...user) error {
	_, err := run(function, objects...)
	return err
}

// create makes a call that creates an object, and returns what that shares with the objects of the
// call.
func create(function func(c *call) C.troika_status, objects ...user) (shared *contextState, err error) {
	err = do(func(c *call) C.troika_status {
		status := function(c)
		if status >= 0 {
			shared = c.users[0].context()
		}
		return status
	}, objects...)
	return shared, err
}

func (c *call) finish(err *error) {
	for i, object := range c.users {
		object.end()
		c.users[i] = nil
	}
	for _, pointer := range c.memory {
		C.free(pointer)
	}
	c.users, c.memory = c.users[:0], c.memory[:0]
	calls.Put(c)
	switch problem := recover().(type) {
	case nil:
	case misuse:
		*err = problem.error
	default:
		panic(problem)
	}
}

// use keeps an object alive until the call has ended.
func (c *call) use(object user) {
	if err := hold(object); err != nil {
		panic(misuse{err})
	}
	c.users = append(c.users, object)
}

// text copies a string to memory of the call. name is that of the argument.
func (c *call) text(name, s string) *C.char {
	if i := strings.IndexByte(s, 0); i >= 0 {
		panic(misuse{refuse("%s is %q with a NUL at byte %d, need a text without", name, s, i)})
	}
	pointer := C.CString(s)
	c.memory = append(c.memory, unsafe.Pointer(pointer))
	return pointer
}

// optional is text, and NULL for "".
func (c *call) optional(name, s string) *C.char {
	if s == "" {
		return nil
	}
	return c.text(name, s)
}

// nullable is text, and NULL for nil.
func (c *call) nullable(name string, s *string) *C.char {
	if s == nil {
		return nil
	}
	return c.text(name, *s)
}

// allocate returns C memory for count values, which lives as long as the call.
func allocate[T any](c *call, count int) *T {
	var value T
	pointer := C.malloc(C.size_t(count) * C.size_t(unsafe.Sizeof(value)))
	c.memory = append(c.memory, pointer)
	return (*T)(pointer)
}

// array copies numbers to memory of the call. It returns NULL for none.
func array[To, From number](c *call, values []From) *To {
	if len(values) == 0 {
		return nil
	}
	pointer := allocate[To](c, len(values))
	elements := unsafe.Slice(pointer, len(values))
	for i, value := range values {
		elements[i] = To(value)
	}
	return pointer
}

// fill converts structs into an array in memory of the call. It returns NULL for none.
func fill[To, From any](c *call, values []From, convert func(From, *call, *To)) *To {
	if len(values) == 0 {
		return nil
	}
	pointer := allocate[To](c, len(values))
	structs := unsafe.Slice(pointer, len(values))
	for i, value := range values {
		convert(value, c, &structs[i])
	}
	return pointer
}

// length returns the length of a slice as C counts it.
func length(c *call, name string, n int) C.int32_t {
	if n > math.MaxInt32 {
		panic(misuse{refuse("%s has %d elements, need at most %d", name, n, math.MaxInt32)})
	}
	return C.int32_t(n)
}

// A buffer is what functions of C that return a text write into.
type buffer struct {
	first    *C.char
	capacity C.int64_t
	size     C.int64_t // of the text
}

// textOf returns the text that a function writes. If the text does not fit, the function is called
// again.
func textOf(function func(c *call, b *buffer) C.troika_status, objects ...user) (string, error) {
	text, _, err := textAndStatusOf(function, objects...)
	return text, err
}

func textAndStatusOf(function func(c *call, b *buffer) C.troika_status, objects ...user) (string, Status, error) {
	for b := (buffer{capacity: 4096}); ; b.capacity = b.size {
		b.first = &make([]C.char, b.capacity)[0]
		status, err := run(func(c *call) C.troika_status { return function(c, &b) }, objects...)
		if err != nil || status != StatusOK {
			return "", status, err
		}
		if b.size <= b.capacity {
			return C.GoString(b.first), status, nil
		}
	}
}

type number interface {
	~int32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// numbers converts numbers of C to those of Go, or the other way.
func numbers[To, From number](values []From) []To {
	if len(values) == 0 {
		return nil
	}
	converted := make([]To, len(values))
	for i, value := range values {
		converted[i] = To(value)
	}
	return converted
}

func flag(value bool) C.int32_t {
	if value {
		return 1
	}
	return 0
}

// nullable returns a text of C, and nil for NULL.
func nullable(text *C.char) *string {
	if text == nil {
		return nil
	}
	s := C.GoString(text)
	return &s
}

// initialized returns the struct that a function fills.
func initialized[T any](function func(*T)) (value T) {
	function(&value)
	return value
}

// enumName returns the name of a value that counts from 1. A newer library may have more values.
func enumName(enum string, value int32, names []string) string {
	if value < 1 || int(value) > len(names) {
		return fmt.Sprintf("%s(%d)", enum, value)
	}
	return names[value-1]
}

// parameterGroupsOf reads the groups of a trainer. Those of a newer library may be longer.
func parameterGroupsOf(first *C.troika_parameter_group, count C.int32_t) []ParameterGroup {
	var groups []ParameterGroup
	for i := 0; i < int(count); i++ {
		group := (*C.troika_parameter_group)(unsafe.Add(unsafe.Pointer(first), i*int(first.struct_size)))
		groups = append(groups, parameterGroupOf(group))
	}
	return groups
}
