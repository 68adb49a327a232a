package troika_test

import (
	"testing"

	"troika"
)

// roundTrip stores values of a type in a tensor and reads them.
func roundTrip[T troika.Element](t *testing.T, c *troika.Context, dtype troika.Dtype, values ...T) {
	t.Helper()
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), values, int64(len(values))))
	defer tensor.Close()
	info := troika.Must(tensor.Describe())
	equal(t, "the type", info.Dtype, dtype)
	equal(t, "the shape", info.Dims, []int64{int64(len(values))})
	equal(t, "the device", info.Device, troika.CPU(0))
	equal(t, "the elements", troika.Must(troika.Values[T](tensor)), values)
}

func TestTypesOfTensors(t *testing.T) {
	c := newContext(t)
	roundTrip(t, c, troika.DtypeF32, float32(1.5), -2)
	roundTrip(t, c, troika.DtypeF64, 1e300, -2.0)
	roundTrip(t, c, troika.DtypeI32, int32(-1), 1<<31-1)
	roundTrip(t, c, troika.DtypeI64, int64(-1), 1<<62)
	roundTrip(t, c, troika.DtypeU8, uint8(0), 255)
	roundTrip(t, c, troika.DtypeBF16, troika.BFloat16(0x3F80))
	roundTrip(t, c, troika.DtypeF16, troika.Float16(0x3C00))
	roundTrip(t, c, troika.DtypeI8, int8(-128), 127)
	roundTrip(t, c, troika.DtypeI16, int16(-32768))
	roundTrip(t, c, troika.DtypeBool, true, false)
	roundTrip(t, c, troika.DtypeF8E4M3, troika.Float8E4M3(0x38))
	roundTrip(t, c, troika.DtypeF8E5M2, troika.Float8E5M2(0x3C))
}

func TestTensors(t *testing.T) {
	c := newContext(t)
	zeros := troika.Must(troika.NewTensor[float32](c, troika.CPU(0), nil, 2, 2))
	equal(t, "zeros", troika.Must(troika.Values[float32](zeros)), []float32{0, 0, 0, 0})
	scalar := troika.Must(troika.NewTensor(c, troika.CPU(0), []int64{7}))
	equal(t, "a scalar", troika.Must(troika.Values[int64](scalar)), []int64{7})
	equal(t, "its size", troika.Must(scalar.Describe()).SizeBytes, int64(8))
	empty := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{}, 0, 3))
	equal(t, "no elements", troika.Must(troika.Values[float32](empty)), []float32{})

	troika.Check(troika.FromHost(zeros, []float32{1, 2, 3, 4}))
	moved := troika.Must(zeros.To(troika.CPU(1)))
	equal(t, "the device", troika.Must(moved.Describe()).Device, troika.CPU(1))
	troika.Check(troika.FromHost(zeros, []float32{5, 6, 7, 8}))
	equal(t, "a copy", troika.Must(troika.Values[float32](moved)), []float32{1, 2, 3, 4})
	troika.Check(zeros.Copy(moved))
	buffer := make([]float32, 4)
	troika.Check(troika.ToHost(moved, buffer))
	equal(t, "copied elements", buffer, []float32{5, 6, 7, 8})
}

func TestScatterAndAllReduce(t *testing.T) {
	c := newContext(t)
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []int32{1, 2, 3}, 3))
	pieces := troika.Must(tensor.Scatter(troika.CPU(0), troika.CPU(1)))
	equal(t, "pieces", len(pieces), 2)
	equal(t, "the first", troika.Must(troika.Values[int32](pieces[0])), []int32{1, 2})
	equal(t, "the second", troika.Must(troika.Values[int32](pieces[1])), []int32{3})

	other := troika.Must(troika.NewTensor(c, troika.CPU(1), []int32{10, 20, 30}, 3))
	troika.Check(troika.AllReduce(tensor, other))
	equal(t, "the sum", troika.Must(troika.Values[int32](tensor)), []int32{11, 22, 33})
	equal(t, "the other sum", troika.Must(troika.Values[int32](other)), []int32{11, 22, 33})
	fails(t, troika.AllReduce(tensor, tensor), troika.ErrInvalidArgument, "tensor")
	fails(t, troika.AllReduce(), troika.ErrInvalidArgument, "tensor_count is 0")
	_, err := tensor.Scatter()
	fails(t, err, troika.ErrInvalidArgument, "device_count is 0")
}

func TestRefusedTensors(t *testing.T) {
	c := newContext(t)
	_, err := troika.NewTensor(c, troika.CPU(0), []float32{1}, 2)
	fails(t, err, troika.ErrInvalidArgument, "data has 1 elements, need 2")
	_, err = troika.NewTensor(c, troika.CPU(0), []float32{1}, -2)
	fails(t, err, troika.ErrInvalidArgument, "-2")
	_, err = troika.NewTensor(c, troika.CUDA(99), []float32{1}, 1)
	fails(t, err, troika.ErrDeviceUnavailable, "cuda:99")
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{1}, 1))
	_, err = troika.Values[int32](tensor)
	fails(t, err, troika.ErrInvalidArgument, "type F32, the slice has I32")
	fails(t, troika.ToHost(tensor, []int32{1}), troika.ErrInvalidArgument, "F32")
	fails(t, troika.FromHost(tensor, []int32{1}), troika.ErrInvalidArgument, "F32")
	fails(t, troika.ToHost(tensor, []float32{1, 2}), troika.ErrInvalidArgument, "8")
	fails(t, troika.FromHost(tensor, []float32{}), troika.ErrInvalidArgument, "0")
}

// A slice may be part of an object with pointers; cgo's checks look only at the slice.
func TestSliceNextToAPointer(t *testing.T) {
	c := newContext(t)
	object := &struct {
		values [2]float32
		name   *string
	}{[2]float32{1, 2}, new(string)}
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), object.values[:], 2))
	equal(t, "the elements", troika.Must(troika.Values[float32](tensor)), []float32{1, 2})
}

func TestDLPack(t *testing.T) {
	c := newContext(t)
	for _, export := range []func(*troika.Tensor) (*troika.DLPack, error){
		(*troika.Tensor).ToDLPack, (*troika.Tensor).ToDLPackVersioned,
	} {
		tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{1, 2}, 2))
		exported := troika.Must(export(tensor))
		imported := troika.Must(troika.TensorFromDLPack(c, exported))
		troika.Check(troika.FromHost(tensor, []float32{3, 4}))
		tensor.Close()
		equal(t, "shared memory", troika.Must(troika.Values[float32](imported)), []float32{3, 4})
		_, err := troika.TensorFromDLPack(c, exported)
		fails(t, err, troika.ErrClosed, "DLPack is closed")
		_, err = exported.Take()
		fails(t, err, troika.ErrClosed, "DLPack is closed")

		// A struct that nobody takes is deleted once.
		unused := troika.Must(export(imported))
		equal(t, "closing", unused.Close(), nil)
		equal(t, "closing again", unused.Close(), nil)
	}
}

func TestDLPackOfAnotherLibrary(t *testing.T) {
	c := newContext(t)
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{1, 2}, 2))
	foreign := troika.NewDLPack(troika.Must(troika.Must(tensor.ToDLPackVersioned()).Take()), true)
	imported := troika.Must(troika.TensorFromDLPack(c, foreign))
	equal(t, "its elements", troika.Must(troika.Values[float32](imported)), []float32{1, 2})
	foreign = troika.NewDLPack(troika.Must(troika.Must(tensor.ToDLPack()).Take()), false)
	equal(t, "closing", foreign.Close(), nil)
}
