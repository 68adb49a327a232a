package troika_test

import (
	"encoding/json"
	"strings"
	"testing"

	"troika"
)

// A builder adds layers, and checks that each has the shape of its output.
type builder struct {
	t     *testing.T
	model *troika.Model
}

func (b builder) layer(value troika.Value, err error) func(dims ...int64) troika.Value {
	b.t.Helper()
	troika.Check(err)
	info := troika.Must(b.model.DescribeValue(value))
	return func(dims ...int64) troika.Value {
		b.t.Helper()
		equal(b.t, "the shape of a layer", info.Dims, dims)
		return value
	}
}

func TestScores(t *testing.T) {
	report := troika.Must(troika.ComputeScores([]float32{3, 1, 0, 2, 5, 1}, []int32{0, 1, 1}, 1, true))
	equal(t, "accuracy", report.All.Accuracy, 2.0/3)
	equal(t, "confusion", report.Confusion, []int64{1, 0, 1, 1})
	equal(t, "labels and precision", []any{report.Classes[1].Labels, report.Classes[0].Precision}, []any{int64(2), 0.5})
	_, err := troika.ComputeScores([]float32{3, 1, 0}, []int32{0, 1}, 1, true)
	fails(t, err, troika.ErrInvalidArgument, "need as many for each")
	_, err = troika.ComputeScores([]float32{3, 1}, []int32{7}, 1, true)
	fails(t, err, troika.ErrInvalidArgument, "label of sample 0 is 7")
}

func TestLayersOfSignals(t *testing.T) {
	m := troika.Must(troika.NewEmptyModel(newContext(t), "signals"))
	b := builder{t, m}
	x := b.layer(m.AddInput("x", 4, 16))(4, 16)
	conv := troika.NewConv1dOptions()
	conv.OutChannels, conv.Kernel = 6, 3
	x = b.layer(m.AddConv1d("conv", x, conv))(6, 14)
	x = b.layer(m.AddBatchNorm1d("bn", x, 1e-5, 0.1))(6, 14)
	x = b.layer(m.AddLayerNorm("layer", x, 1, 1e-5))(6, 14)
	x = b.layer(m.AddSlice("slice", x, 2, 0, 12))(6, 12)
	sigmoid := b.layer(m.AddSigmoid("sigmoid", x))(6, 12)
	x = b.layer(m.AddTanh("tanh", x))(6, 12)
	x = b.layer(m.AddProduct("product", sigmoid, x))(6, 12)
	x = b.layer(m.AddReshape("image", x, 6, 4, -1))(6, 4, 3)
	x = b.layer(m.AddGroupNorm("group", x, 2, 1e-5))(6, 4, 3)
	up := troika.NewConv2dOptions()
	up.OutChannels, up.Kernel, up.Stride = 4, [2]int64{2, 2}, [2]int64{2, 2}
	x = b.layer(m.AddConvTranspose2d("up", x, up))(4, 8, 6)
	x = b.layer(m.AddSiLU("silu", x))(4, 8, 6)
	x = b.layer(m.AddLeakyReLU("leaky", x, 0.01))(4, 8, 6)
	x = b.layer(m.AddSoftmax("softmax", x, -1))(4, 8, 6)
	x = b.layer(m.AddConcat("concat", 1, x, x))(8, 8, 6)
	x = b.layer(m.AddMean("mean", x, []int32{2, 3}, false))(8)
	x = b.layer(m.AddRMSNorm("rms", x, 1, 1e-5))(8)
	x = b.layer(m.AddLinear("a", x, 8, true))(8)
	troika.Check(m.ShareParameter("b.weight", "a.weight"))
	troika.Check(m.SetOutput(b.layer(m.AddLinear("b", x, 8, true))(8)))
	troika.Check(m.InitializeDefault(1))
	troika.Check(m.InitializeLayers("linear", "weight", troika.InitializerConstant, 0.5, 0))
	equal(t, "a shared weight", troika.Must(m.GetParameter("b.weight"))[63], float32(0.5))
	fails(t, m.InitializeLayers("gru", "*", troika.InitializerConstant, 0, 0), troika.ErrNotFound, "gru")
	fails(t, m.ShareParameter("c.weight", "a.weight"), troika.ErrInvalidArgument, "complete")
}

func TestLayersOfImages(t *testing.T) {
	c := newContext(t)
	m := troika.Must(troika.NewEmptyModel(c, "net"))
	b := builder{t, m}
	x := b.layer(m.AddInput("x", 3, 8, 8))(3, 8, 8)
	conv := troika.NewConv2dOptions()
	conv.OutChannels, conv.Kernel, conv.Padding, conv.NoBias = 4, [2]int64{3, 3}, [2]int64{1, 1}, true
	x = b.layer(m.AddConv2d("conv", x, conv))(4, 8, 8)
	x = b.layer(m.AddBatchNorm2d("norm", x, 1e-5, 0.1))(4, 8, 8)
	relu := b.layer(m.AddReLU("relu", x))(4, 8, 8)
	gelu := b.layer(m.AddGELU("gelu", x))(4, 8, 8)
	x = b.layer(m.AddSum("sum", relu, gelu))(4, 8, 8)
	pool := troika.NewPool2dOptions()
	pool.Kernel = [2]int64{2, 2}
	x = b.layer(m.AddMaxPool2d("max", x, pool))(4, 4, 4)
	pool.Stride = [2]int64{1, 1}
	x = b.layer(m.AddAvgPool2d("mean", x, pool))(4, 3, 3)
	x = b.layer(m.AddAdaptiveAvgPool2d("pool", x, 2, 1))(4, 2, 1)
	x = b.layer(m.AddDropout("dropout", x, 0.5))(4, 2, 1)
	x = b.layer(m.AddFlatten("flatten", x))(8)
	x = b.layer(m.AddLinear("fc", x, 10, false))(10)
	_, err := m.AddReLU("fc", x)
	fails(t, err, troika.ErrInvalidArgument, "'fc'")
	_, err = m.AddConv2d("other", x, conv)
	fails(t, err, troika.ErrInvalidArgument, "other")
	troika.Check(m.SetOutput(x))
	fails(t, m.SetOutput(x), troika.ErrInvalidArgument, "")

	entries, elements, err := m.CountParameters()
	troika.Check(err)
	equal(t, "entries", entries, int32(7))
	equal(t, "elements", elements, int64(3*4*9+4+4+80))
	info := troika.Must(m.Describe())
	equal(t, "the model", []any{info.Name, info.IsComplete, info.Layers, info.InputDims, info.OutputDims},
		[]any{"net", true, int32(12), []int64{3, 8, 8}, []int64{10}})
	index := troika.Must(m.FindLayer("sum"))
	layer := troika.Must(m.DescribeLayer(index))
	equal(t, "the layer", []any{layer.Name, layer.Kind, layer.Inputs}, []any{"sum", "sum", []troika.Value{relu, gelu}})
	equal(t, "its number", troika.Must(m.DescribeValue(layer.Output)).Layer, index)
	_, err = m.FindLayer("sun")
	fails(t, err, troika.ErrNotFound, "sum")
	_, err = m.DescribeLayer(99)
	fails(t, err, troika.ErrNotFound, "99")
	_, err = m.DescribeValue(0)
	fails(t, err, troika.ErrInvalidArgument, "")

	if tree := troika.Must(m.Print()); !strings.Contains(tree, "(conv)") {
		t.Errorf("the tree is %s", tree)
	}
	var described struct{ Name string }
	troika.Check(json.Unmarshal([]byte(troika.Must(m.ToJSON())), &described))
	equal(t, "the name in JSON", described.Name, "net")
}

func TestLayersOfSequences(t *testing.T) {
	c := newContext(t)
	m := troika.Must(troika.NewEmptyModel(c, "sequence"))
	b := builder{t, m}
	x := b.layer(m.AddTypedInput("x", troika.DtypeI32, 5))(5)
	x = b.layer(m.AddEmbedding("embedding", x, 7, 3))(5, 3)
	x = b.layer(m.AddLSTM("lstm", x, 4, true))(5, 4)
	x = b.layer(m.AddGRU("gru", x, 6, false))(5, 6)
	x = b.layer(m.AddLinearPerPosition("each", x, 2, true))(5, 2)
	x = b.layer(m.AddSelectStep("last", x, -1))(2)
	troika.Check(m.SetOutput(x))
	equal(t, "the input", troika.Must(m.Describe()).InputDtype, troika.DtypeI32)
	equal(t, "a parameter", troika.Must(m.DescribeParameter(0)), troika.ParameterInfo{
		Dtype: troika.DtypeF32, Dims: []int64{7, 3}, Name: "embedding.weight"})
	_, err := m.DescribeParameter(99)
	fails(t, err, troika.ErrNotFound, "99")
	equal(t, "its number", troika.Must(m.FindParameter("embedding.weight")), int32(0))
	_, err = m.FindParameter("embedding.weigh")
	fails(t, err, troika.ErrNotFound, "embedding.weight")

	troika.Check(m.InitializeDefault(1))
	scores := troika.Must(troika.Predict(m, troika.CPU(0), []int32{0, 1, 2, 3, 6, 6, 3, 2, 1, 0}))
	equal(t, "outputs", len(scores), 4)
	_, err = troika.Predict(m, troika.CPU(0), []int32{0, 1, 2, 3, 7})
	fails(t, err, troika.ErrInvalidArgument, "7")
	_, err = troika.Predict(m, troika.CPU(0), []float32{0, 1, 2, 3, 6})
	fails(t, err, troika.ErrInvalidArgument, "inputs have type F32, need I32")
	_, err = troika.Predict(m, troika.CPU(0), []int32{0})
	fails(t, err, troika.ErrInvalidArgument, "inputs have 1 elements")
}

func TestParameters(t *testing.T) {
	c := newContext(t)
	m := newMLP(c)
	_, err := m.GetParameter("fc1.weight")
	fails(t, err, troika.ErrNotInitialized, "fc1.weight")
	troika.Check(m.Initialize("*.weight", troika.InitializerConstant, 0.25, 0))
	troika.Check(m.Initialize("", troika.InitializerUniform, 0.5, 3))
	first := troika.Must(m.GetParameter("fc1.weight"))
	equal(t, "its elements", len(first), 8*16)
	for _, value := range first {
		if value < -0.5 || value >= 0.5 {
			t.Fatalf("there is a value %v", value)
		}
	}
	fails(t, m.Initialize("none*", troika.InitializerConstant, 0, 0), troika.ErrNotFound, "none*")
	_, err = m.GetParameter("none")
	fails(t, err, troika.ErrNotFound, "none")
	fails(t, m.SetParameter("fc1.weight", []float32{1}), troika.ErrInvalidArgument, "fc1.weight")
	infos := troika.Must(m.Parameters())
	equal(t, "the last", []any{len(infos), infos[3].Name, infos[3].Dims}, []any{4, "fc2.bias", []int64{4}})

	resnet := troika.Must(troika.NewModel(c, "d2l_resnet18", nil))
	counter := "bn1.num_batches_tracked"
	for _, info := range troika.Must(resnet.Parameters()) {
		if strings.HasSuffix(info.Name, "num_batches_tracked") {
			counter = info.Name
		}
	}
	troika.Check(resnet.SetCounter(counter, 42))
	equal(t, "a counter", troika.Must(resnet.GetCounter(counter)), int64(42))
	_, err = resnet.GetParameter(counter)
	fails(t, err, troika.ErrInvalidArgument, counter)
}

func TestPredictions(t *testing.T) {
	c := newContext(t)
	m := newLinear(c)
	input := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{3, 4, 0, 1}, 2, 2))
	output := troika.Must(m.Predict(troika.CPU(0), input))
	equal(t, "a tensor", troika.Must(troika.Values[float32](output)), []float32{11.5, 2.5})
	equal(t, "a slice", troika.Must(troika.Predict(m, troika.CPU(0), []float32{3, 4, 0, 1})), []float32{11.5, 2.5})
	scores := make([]float32, 2)
	troika.Check(troika.PredictInto(m, troika.CPU(0), []float32{3, 4, 0, 1}, "fc", scores))
	equal(t, "a layer", scores, []float32{11.5, 2.5})
	fails(t, troika.PredictInto(m, troika.CPU(0), []float32{3, 4}, "fd", scores[:1]), troika.ErrNotFound, "fc")
	fails(t, troika.PredictInto(m, troika.CPU(0), []float32{3, 4}, "", scores), troika.ErrInvalidArgument, "8")
	fails(t, troika.PredictInto(m, troika.CPU(0), []float32{3}, "", scores), troika.ErrInvalidArgument, "inputs have 1")
	_, err := troika.Predict(m, troika.CPU(0), []float32{})
	fails(t, err, troika.ErrInvalidArgument, "0")
	_, err = m.Predict(troika.CUDA(99), input)
	fails(t, err, troika.ErrDeviceUnavailable, "cuda:99")
	_, err = troika.Predict(troika.Must(troika.NewEmptyModel(c, "empty")), troika.CPU(0), []float32{1})
	fails(t, err, troika.ErrInvalidArgument, "")
}

func TestFilesOfModels(t *testing.T) {
	c := newContext(t)
	m := newLinear(c)
	path := in(t, "linear.safetensors")
	troika.Check(m.Save(path))
	opened := troika.Must(troika.OpenModel(c, path))
	equal(t, "the opened model", troika.Must(troika.Predict(opened, troika.CPU(0), []float32{3, 4})), []float32{11.5})
	data := troika.Must(m.SaveMemory())
	copied := troika.Must(troika.OpenModelMemory(c, data))
	clone := troika.Must(m.Clone())

	troika.Check(m.SetParameter("fc.bias", []float32{1.5}))
	equal(t, "a clone", troika.Must(troika.Predict(clone, troika.CPU(0), []float32{3, 4})), []float32{12.5})
	equal(t, "a copy", troika.Must(troika.Predict(copied, troika.CPU(0), []float32{3, 4})), []float32{11.5})
	equal(t, "a report", troika.Must(m.Load(path, nil)), troika.LoadReport{Loaded: 2})
	equal(t, "loaded", troika.Must(m.GetParameter("fc.bias")), []float32{0.5})
	equal(t, "loaded from memory", troika.Must(copied.LoadMemory(data, nil)).Loaded, int32(2))

	report, err := newMLP(c).Load(path, nil)
	fails(t, err, troika.ErrMismatch, "")
	if report.Missing != 4 || report.Unexpected != 2 || !strings.Contains(report.Names, "missing fc1.bias\n") {
		t.Errorf("the report is %+v", report)
	}
	options := troika.NewLoadOptions()
	options.AllowPartial, options.StripPrefix = true, "f"
	_, err = m.Load(path, options)
	fails(t, err, troika.ErrMismatch, "")
	_, err = troika.OpenModel(c, path+"x")
	fails(t, err, troika.ErrNotFound, "linear.safetensorsx")
	_, err = troika.OpenModelMemory(c, nil)
	fails(t, err, troika.ErrCorrupt, "")
	_, err = m.LoadMemory(data[:20], nil)
	fails(t, err, troika.ErrCorrupt, "")
	_, err = troika.Must(troika.NewModel(c, "mlp", nil)).SaveMemory()
	fails(t, err, troika.ErrNotInitialized, "fc1")
}
