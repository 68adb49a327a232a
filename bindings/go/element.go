package troika

// #include <stdint.h>
import "C"

import "unsafe"

// Types of elements that Go does not have. They hold the bits of a number.
type (
	// BFloat16 has 8 bits of exponent and 7 of fraction.
	BFloat16 uint16
	// Float16 is IEEE 754 half precision.
	Float16 uint16
	// Float8E4M3 has 4 bits of exponent and 3 of fraction.
	Float8E4M3 uint8
	// Float8E5M2 has 5 bits of exponent and 2 of fraction.
	Float8E5M2 uint8
)

// Element is a type of elements.
type Element interface {
	float32 | float64 | int32 | int64 | uint8 | BFloat16 | Float16 | int8 | int16 | bool | Float8E4M3 | Float8E5M2
}

// DtypeOf returns the library's type of T.
func DtypeOf[T Element]() Dtype {
	var value T
	switch any(value).(type) {
	case float32:
		return DtypeF32
	case float64:
		return DtypeF64
	case int32:
		return DtypeI32
	case int64:
		return DtypeI64
	case uint8:
		return DtypeU8
	case BFloat16:
		return DtypeBF16
	case Float16:
		return DtypeF16
	case int8:
		return DtypeI8
	case int16:
		return DtypeI16
	case bool:
		return DtypeBool
	case Float8E4M3:
		return DtypeF8E4M3
	default:
		return DtypeF8E5M2
	}
}

// The largest element has this number of bytes.
const largestElement = 8

// memory returns the elements of a slice as bytes, and their size. There is always a first element,
// so calls of C take the address &bytes[0], and cgo then checks these bytes alone. If it checked
// the whole object that a slice is part of, it would refuse pointers elsewhere in the object.
func memory[T Element](values []T) (bytes []byte, size C.int64_t) {
	if len(values) == 0 {
		return make([]byte, largestElement), 0
	}
	n := len(values) * int(unsafe.Sizeof(values[0]))
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), n), C.int64_t(n)
}

// first returns the address of the first element as C has it, and NULL for an empty slice.
func first[To, From number](values []From) *To {
	if len(values) == 0 {
		return nil
	}
	return (*To)(unsafe.Pointer(&values[0]))
}

// product returns the number of elements of a shape, and -1 if it has no number.
func product(dims []int64) int64 {
	n := int64(1)
	for _, dim := range dims {
		if dim < 0 || dim > 0 && n > (1<<62)/dim {
			return -1
		}
		n *= dim
	}
	return n
}

// dimsToC returns a shape as C has it, and one more element: so the first one always exists.
func dimsToC(dims []int64) []C.int64_t {
	return append(numbers[C.int64_t](dims), 0)
}
