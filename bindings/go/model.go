package troika

/*
#include <troika/troika.h>
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// A Value is the output of a layer. Other models refuse it. 0 is no value.
type Value int64

// A Model is a network of named layers. A model and the trainers that it is attached to share
// parameters.
//
// Calls that only read a model run at once: predictions, descriptions, printing, reading a
// parameter, saving, cloning, planning. Any other call runs alone. A call that cannot run returns
// ErrBusy, also a call on values of parameters while a trainer of the model is in a call.
type Model struct {
	object[C.troika_model]
}

// createModel wraps the model that a function creates.
func createModel(function func(c *call, out *C.troika_model) C.troika_status, objects ...user) (*Model, error) {
	var out C.troika_model
	shared, err := create(func(c *call) C.troika_status { return function(c, &out) }, objects...)
	if err != nil {
		return nil, err
	}
	model := new(Model)
	model.init(out, "model", func(h C.troika_model) { C.troika_model_destroy(h) }, shared)
	return closeWhenCollected(model), nil
}

// NewModel builds a model of the zoo, such as "d2l_lenet"; ZooNames lists them. nil options are the
// model's defaults. Errors: ErrNotFound (the message lists the names), ErrInvalidArgument,
// ErrOutOfMemory. Any goroutine.
func NewModel(context *Context, name string, options *ModelOptions) (*Model, error) {
	return createModel(func(c *call, out *C.troika_model) C.troika_status {
		return C.troika_model_create(context.handle, c.text("name", name), options.toC(c), out, &c.error)
	}, context)
}

// NewEmptyModel creates a model with no layers, to be built layer by layer. Errors:
// ErrInvalidArgument (the name), ErrOutOfMemory. Any goroutine.
func NewEmptyModel(context *Context, name string) (*Model, error) {
	return createModel(func(c *call, out *C.troika_model) C.troika_status {
		return C.troika_model_create_empty(context.handle, c.text("name", name), out, &c.error)
	}, context)
}

// OpenModel reads layers and weights from a file of Model.Save, Trainer.Save or
// Trainer.SaveAverage. Errors: ErrNotFound, ErrIO, ErrCorrupt, ErrMismatch (a file with weights
// alone), ErrUnsupported, ErrOutOfMemory. Any goroutine.
func OpenModel(context *Context, path string) (*Model, error) {
	return createModel(func(c *call, out *C.troika_model) C.troika_status {
		return C.troika_model_open(context.handle, c.text("path", path), out, &c.error)
	}, context)
}

// OpenModelMemory reads a model as OpenModel does, from the bytes of a file. Errors: those of
// OpenModel except ErrNotFound and ErrIO. Any goroutine.
func OpenModelMemory(context *Context, data []byte) (*Model, error) {
	bytes, size := memory(data)
	return createModel(func(c *call, out *C.troika_model) C.troika_status {
		return C.troika_model_open_memory(context.handle, unsafe.Pointer(&bytes[0]), size, out, &c.error)
	}, context)
}

// Clone returns another model with the same layers that shares the values of parameters. Each takes
// calls of its own: a server loads newer values into a clone while it predicts with the model.
// Errors: ErrInvalidArgument (a model that is not complete), ErrOutOfMemory, ErrBusy. Reads the
// model.
func (m *Model) Clone() (*Model, error) {
	return createModel(func(c *call, out *C.troika_model) C.troika_status {
		return C.troika_model_clone(m.handle, out, &c.error)
	}, m)
}

// Close gives up the model. Its trainers keep it alive.
func (m *Model) Close() error { return closeUnlessNil(m) }

// Initialize initialises every parameter whose name matches a pattern with "*" and "?"; "" matches
// all. The values depend only on seed and name. Errors: ErrNotFound (nothing matches),
// ErrInvalidArgument, ErrOutOfMemory, ErrBusy.
func (m *Model) Initialize(pattern string, initializer Initializer, a float64, seed uint64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_model_initialize(m.handle, c.optional("pattern", pattern), C.int32_t(initializer), C.double(a),
			C.uint64_t(seed), &c.error)
	}, m)
}

// InitializeLayers initialises the parameters parameter of all layers of some kinds: "weight" of
// "linear,conv2d". Errors: ErrNotFound (no such layer or parameter), ErrInvalidArgument,
// ErrOutOfMemory, ErrBusy.
func (m *Model) InitializeLayers(kinds, parameter string, initializer Initializer, a float64, seed uint64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_model_initialize_layers(m.handle, c.text("kinds", kinds), c.text("parameter", parameter),
			C.int32_t(initializer), C.double(a), C.uint64_t(seed), &c.error)
	}, m)
}

// InitializeDefault initialises every parameter and buffer by the model's default. Errors:
// ErrOutOfMemory, ErrBusy.
func (m *Model) InitializeDefault(seed uint64) error {
	return do(func(c *call) C.troika_status {
		return C.troika_model_initialize_default(m.handle, C.uint64_t(seed), &c.error)
	}, m)
}

// CountParameters returns the number of parameters and buffers together, and the number of elements
// of all parameters. Errors: ErrBusy. Reads the model.
func (m *Model) CountParameters() (entries int32, elements int64, err error) {
	var outEntries C.int32_t
	var outElements C.int64_t
	err = do(func(c *call) C.troika_status {
		return C.troika_model_count_parameters(m.handle, &outEntries, &outElements, &c.error)
	}, m)
	return int32(outEntries), int64(outElements), err
}

// DescribeParameter describes parameter or buffer number index, in the order of creation. Errors:
// ErrNotFound (no such index), ErrBusy. Reads the model.
func (m *Model) DescribeParameter(index int32) (ParameterInfo, error) {
	info := defaultParameterInfo
	err := do(func(c *call) C.troika_status {
		return C.troika_model_describe_parameter(m.handle, C.int32_t(index), &info, &c.error)
	}, m)
	return parameterInfoOf(&info), err
}

// FindParameter returns the index of the parameter or buffer with a name. Errors: ErrNotFound (the
// message names the nearest), ErrBusy. Reads the model.
func (m *Model) FindParameter(name string) (int32, error) {
	var index C.int32_t
	err := do(func(c *call) C.troika_status {
		return C.troika_model_find_parameter(m.handle, c.text("name", name), &index, &c.error)
	}, m)
	return int32(index), err
}

// Parameters describes all parameters and buffers, in the order of creation. Errors: ErrBusy. Reads
// the model.
func (m *Model) Parameters() ([]ParameterInfo, error) {
	entries, _, err := m.CountParameters()
	if err != nil {
		return nil, err
	}
	infos := make([]ParameterInfo, entries)
	for i := range infos {
		if infos[i], err = m.DescribeParameter(int32(i)); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// elements returns the number of elements of a parameter.
func (m *Model) elements(name string) (int64, error) {
	index, err := m.FindParameter(name)
	if err != nil {
		return 0, err
	}
	info, err := m.DescribeParameter(index)
	return product(info.Dims), err
}

// GetParameter returns a copy of an f32 parameter or buffer, row-major. Errors: ErrNotFound,
// ErrNotInitialized, ErrInvalidArgument (a counter), ErrOutOfMemory, ErrBusy. Reads the model.
func (m *Model) GetParameter(name string) ([]float32, error) {
	n, err := m.elements(name)
	if err != nil {
		return nil, err
	}
	values := make([]float32, n)
	if err := getParameter(m, name, values); err != nil {
		return nil, err
	}
	return values, nil
}

// GetCounter returns a buffer that is an i64 scalar: num_batches_tracked of BatchNorm. Errors:
// those of GetParameter. Reads the model.
func (m *Model) GetCounter(name string) (int64, error) {
	var value [1]int64
	err := getParameter(m, name, value[:])
	return value[0], err
}

func getParameter[T float32 | int64](m *Model, name string, values []T) error {
	bytes, size := memory(values)
	return do(func(c *call) C.troika_status {
		return C.troika_model_get_parameter(m.handle, c.text("name", name), unsafe.Pointer(&bytes[0]), size, &c.error)
	}, m)
}

// SetParameter copies values, row-major, into an f32 parameter or buffer. A trainer of the model
// takes them before its next step. Errors: ErrNotFound, ErrInvalidArgument (another number of
// elements), ErrOutOfMemory, ErrBusy.
func (m *Model) SetParameter(name string, values []float32) error {
	return setParameter(m, name, values)
}

// SetCounter sets a buffer that is an i64 scalar. Errors: those of SetParameter.
func (m *Model) SetCounter(name string, value int64) error {
	return setParameter(m, name, []int64{value})
}

func setParameter[T float32 | int64](m *Model, name string, values []T) error {
	bytes, size := memory(values)
	return do(func(c *call) C.troika_status {
		return C.troika_model_set_parameter(m.handle, c.text("name", name), unsafe.Pointer(&bytes[0]), size, &c.error)
	}, m)
}

// Print returns the model as a tree, with shapes, parameters and operations. Errors: ErrBusy. Reads
// the model.
func (m *Model) Print() (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_model_print(m.handle, b.first, b.capacity, &b.size, &c.error)
	}, m)
}

// ToJSON returns the description of the model as one JSON object. Errors: ErrBusy. Reads the model.
func (m *Model) ToJSON() (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_model_to_json(m.handle, b.first, b.capacity, &b.size, &c.error)
	}, m)
}

// Describe describes the model, which need not be complete. Errors: ErrBusy. Reads the model.
func (m *Model) Describe() (ModelInfo, error) {
	info := defaultModelInfo
	err := do(func(c *call) C.troika_status { return C.troika_model_describe(m.handle, &info, &c.error) }, m)
	return modelInfoOf(&info), err
}

// DescribeLayer describes layer number index; layer 0 is the input. Errors: ErrNotFound (no such
// index), ErrBusy. Reads the model.
func (m *Model) DescribeLayer(index int32) (LayerInfo, error) {
	info := defaultLayerInfo
	err := do(func(c *call) C.troika_status {
		return C.troika_model_describe_layer(m.handle, C.int32_t(index), &info, &c.error)
	}, m)
	return layerInfoOf(&info), err
}

// FindLayer returns the index of the layer with a name. Errors: ErrNotFound (the message names the
// nearest), ErrBusy. Reads the model.
func (m *Model) FindLayer(name string) (int32, error) {
	var index C.int32_t
	err := do(func(c *call) C.troika_status {
		return C.troika_model_find_layer(m.handle, c.text("name", name), &index, &c.error)
	}, m)
	return int32(index), err
}

// DescribeValue describes a value of the model. Errors: ErrInvalidArgument (a value of another
// model), ErrBusy. Reads the model.
func (m *Model) DescribeValue(value Value) (ValueInfo, error) {
	info := defaultValueInfo
	err := do(func(c *call) C.troika_status {
		return C.troika_model_describe_value(m.handle, C.troika_value(value), &info, &c.error)
	}, m)
	return valueInfoOf(&info), err
}

// Save writes layers and weights to one safetensors file, atomically. Errors: ErrNotInitialized
// (names the parameter), ErrIO, ErrOutOfMemory, ErrBusy. Reads the model.
func (m *Model) Save(path string) error {
	return do(func(c *call) C.troika_status { return C.troika_model_save(m.handle, c.text("path", path), &c.error) }, m)
}

// SaveMemory returns what Save writes. Errors: those of Save except ErrIO. Reads the model.
func (m *Model) SaveMemory() ([]byte, error) {
	var size C.int64_t
	if err := do(func(c *call) C.troika_status {
		return C.troika_model_save_memory(m.handle, nil, 0, &size, &c.error)
	}, m); err != nil {
		return nil, err
	}
	data := make([]byte, size)
	err := do(func(c *call) C.troika_status {
		return C.troika_model_save_memory(m.handle, unsafe.Pointer(&data[0]), size, nil, &c.error)
	}, m)
	return data, err
}

// Load reads the parameters and buffers of a safetensors file; a refused file changes nothing. nil
// options are the defaults. The report is filled for ErrMismatch too. Errors: ErrNotFound, ErrIO,
// ErrCorrupt, ErrMismatch, ErrInvalidArgument, ErrOutOfMemory, ErrBusy.
func (m *Model) Load(path string, options *LoadOptions) (LoadReport, error) {
	report := defaultLoadReport
	err := do(func(c *call) C.troika_status {
		return C.troika_model_load(m.handle, c.text("path", path), options.toC(c), &report, &c.error)
	}, m)
	return loadReportOf(&report), err
}

// LoadMemory reads parameters and buffers as Load does, from the bytes of a file. Errors: those of
// Load except ErrNotFound and ErrIO.
func (m *Model) LoadMemory(data []byte, options *LoadOptions) (LoadReport, error) {
	report := defaultLoadReport
	bytes, size := memory(data)
	err := do(func(c *call) C.troika_status {
		return C.troika_model_load_memory(m.handle, unsafe.Pointer(&bytes[0]), size, options.toC(c), &report, &c.error)
	}, m)
	return loadReportOf(&report), err
}

// Predict runs the model in evaluation mode on a device. The output is a new tensor f32 [batch,
// ...] on the device. Any number of goroutines may predict with one model at once. Errors:
// ErrInvalidArgument, ErrNotInitialized, ErrDeviceUnavailable, ErrUnsupported, ErrOutOfMemory,
// ErrComm, ErrBusy. Reads the model and the input.
func (m *Model) Predict(device Device, input *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_model_predict(m.handle, device.c(), input.handle, out, &c.error)
	}, m, input)
}

// samples returns the number of samples in inputs of type T.
func samples[T float32 | int32](model *Model, inputs []T) (int64, ModelInfo, error) {
	info, err := model.Describe()
	if err != nil || info.InputDtype == 0 {
		return 0, info, err // The library refuses a model without an input.
	}
	if info.InputDtype != DtypeOf[T]() {
		return 0, info, refuse("inputs have type %v, need %v", DtypeOf[T](), info.InputDtype)
	}
	n, err := samplesIn(len(inputs), info.InputDims)
	return n, info, err
}

// Predict predicts as Model.Predict does, from inputs [n, the input's shape]. It returns the
// outputs [n, the output's shape]. Errors: those of Model.Predict; ErrInvalidArgument also for
// another type or number of elements. Reads the model.
func Predict[T float32 | int32](model *Model, device Device, inputs []T) ([]float32, error) {
	n, info, err := samples(model, inputs)
	if err != nil {
		return nil, err
	}
	output := make([]float32, n*product(info.OutputDims))
	return output, predictInto(model, device, inputs, n, "", output)
}

// PredictInto predicts as Predict does, into the caller's memory. If layer is not "", the output is
// that of the layer with this name. Errors: those of Predict; ErrNotFound (no such layer). Reads
// the model.
func PredictInto[T float32 | int32](model *Model, device Device, inputs []T, layer string, output []float32) error {
	n, _, err := samples(model, inputs)
	if err != nil {
		return err
	}
	return predictInto(model, device, inputs, n, layer, output)
}

func predictInto[T float32 | int32](model *Model, device Device, inputs []T, n int64, layer string, output []float32) error {
	bytes, _ := memory(inputs)
	result, size := memory(output)
	return do(func(c *call) C.troika_status {
		return C.troika_model_predict_into(model.handle, device.c(), unsafe.Pointer(&bytes[0]), C.int64_t(n),
			c.optional("layer", layer), (*C.float)(unsafe.Pointer(&result[0])), size, &c.error)
	}, model)
}

// Argmax returns the index of the largest value, such as the class of the largest output of a
// model. It returns -1 if there is no value that is a number.
func Argmax(values []float32) int {
	best := -1
	for i, value := range values {
		if value == value && (best < 0 || value > values[best]) {
			best = i
		}
	}
	return best
}

// EstimatePlan estimates memory and time of a training step on a mesh of devices, which need not
// exist. nil options are the defaults. With a nil mesh all devices share the batch. Errors:
// ErrInvalidArgument, ErrUnsupported, ErrNotFound, ErrOutOfMemory, ErrBusy. Reads the model.
// Experimental.
func (m *Model) EstimatePlan(options *PlanOptions, mesh *Mesh) (PlanResult, error) {
	plan := defaultPlanResult
	err := do(func(c *call) C.troika_status {
		var p *C.troika_mesh
		if mesh != nil {
			p = allocate[C.troika_mesh](c, 1)
			mesh.fill(c, p)
		}
		return C.troika_plan_estimate(m.handle, options.toC(c), p, &plan, &c.error)
	}, m)
	return planResultOf(&plan), err
}

// ChoosePlan estimates every mesh, and returns the fastest that fits. nil options are the defaults.
// Errors: ErrNotFound (no mesh fits, or none works), ErrInvalidArgument, ErrOutOfMemory, ErrBusy.
// Reads the model. Experimental.
func (m *Model) ChoosePlan(options *PlanOptions) (PlanResult, error) {
	plan := defaultPlanResult
	err := do(func(c *call) C.troika_status {
		return C.troika_plan_choose(m.handle, options.toC(c), &plan, &c.error)
	}, m)
	return planResultOf(&plan), err
}

// Attach attaches the model to devices, with one replica on each. nil options are the defaults.
// A model has one trainer at a time: calls on an earlier one return ErrDetached. Errors:
// ErrInvalidArgument, ErrNotFound, ErrUnsupported, ErrDeviceUnavailable, ErrOutOfMemory, ErrBusy,
// ErrComm.
func (m *Model) Attach(devices []Device, options *TrainerOptions) (*Trainer, error) {
	infos, err := m.Parameters()
	if err != nil {
		return nil, err
	}
	var out C.troika_trainer
	list := devicesToC(devices)
	err = do(func(c *call) C.troika_status {
		return C.troika_model_attach(m.handle, &list[0], length(c, "devices", len(devices)), options.toC(c), &out, &c.error)
	}, m)
	if err != nil {
		return nil, err
	}
	trainer := &Trainer{elements: make(map[string]int64, len(infos)), failed: new(atomic.Pointer[failure])}
	for _, info := range infos {
		trainer.elements[info.Name] = product(info.Dims)
	}
	if options != nil {
		trainer.group = options.Group
	}
	trainer.init(out, "trainer", func(h C.troika_trainer) { C.troika_trainer_destroy(h) }, m.shared)
	return closeWhenCollected(trainer), nil
}
