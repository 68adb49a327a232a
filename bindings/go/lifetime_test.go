package troika_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"troika"
)

func TestClosedObjects(t *testing.T) {
	c := newContext(t)
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{1, 2}, 1, 2))
	dataset := newImages(c, 8)
	loader := troika.Must(troika.NewLoader(dataset, 4, nil))
	batch := newSample(c)
	model := newLinear(c)
	trainer, _ := newTraining(c, 8)
	group := troika.Must(troika.NewGroup(c, nil))
	pack := troika.Must(tensor.ToDLPack())
	gradients := troika.Must(troika.NewGradients(c))
	for name, object := range map[string]io.Closer{
		"tensor": tensor, "dataset": dataset, "loader": loader, "batch": batch, "model": model, "trainer": trainer,
		"group": group, "DLPack": pack, "gradients": gradients, "context": c,
	} {
		equal(t, "closing a "+name, object.Close(), nil)
		equal(t, "closing it again", object.Close(), nil)
	}
	options := troika.NewTrainerOptions()
	options.Group = group
	other := newContext(t)
	for name, err := range map[string]error{
		"tensor":    troika.ToHost(tensor, make([]float32, 2)),
		"dataset":   second(dataset.Subset(nil)),
		"loader":    loader.Seek(troika.LoaderPosition{}),
		"batch":     third(batch.Describe()),
		"model":     model.Save("none"),
		"trainer":   third(trainer.TrainEpoch(background, loader)),
		"group":     group.Barrier(),
		"gradients": gradients.Watch(newNumbers(other, []float32{1}, 1)),
		"DLPack":    third(troika.TensorFromDLPack(other, pack)),
		"context":   third(troika.NewModel(c, "mlp", nil)),
	} {
		fails(t, err, troika.ErrClosed, name+" is closed")
	}
	fails(t, third(newLinear(other).Attach(troika.CPUs(1), options)), troika.ErrClosed, "group is closed")
	fails(t, troika.AllReduce(tensor), troika.ErrClosed, "tensor is closed")
	fails(t, third(troika.ConcatDatasets(dataset)), troika.ErrClosed, "dataset is closed")
	open, _ := newTraining(other, 8)
	fails(t, third(open.TrainEpoch(background, loader)), troika.ErrClosed, "loader is closed")
	fails(t, third(open.Step(batch)), troika.ErrClosed, "batch is closed")
	fails(t, open.Backward(tensor), troika.ErrClosed, "tensor is closed")
	fails(t, third(troika.NewBatch(tensor, nil)), troika.ErrClosed, "tensor is closed")
}

func third[T any](_ T, err error) error { return err }

// The objects of a context outlive it, and each other.
func TestAnyOrderOfClosing(t *testing.T) {
	c := troika.Must(troika.NewContext(nil))
	dataset := newImages(c, 8)
	loader := troika.Must(troika.NewLoader(dataset, 4, nil))
	model := newMLP(c)
	trainer := troika.Must(model.Attach(troika.CPUs(1), nil))
	c.Close()
	dataset.Close()
	model.Close()
	equal(t, "samples", troika.Must(trainer.TrainEpoch(background, loader)).Samples, int64(8))
	trained := troika.Must(trainer.Unwrap())
	trainer.Close()
	equal(t, "outputs", len(troika.Must(troika.Predict(trained, troika.CPU(0), make([]float32, 16)))), 4)
}

// Close during a call lets the call end.
func TestClosingDuringACall(t *testing.T) {
	c := newContext(t)
	trainer, loader := newTraining(c, 40)
	var closed int
	troika.Check(trainer.SetProgress(func(p troika.Progress) error {
		if p.Batch == 2 {
			trainer.Close()
			loader.Close()
			closed++
		}
		return nil
	}))
	metrics := troika.Must(trainer.TrainEpoch(background, loader))
	equal(t, "samples", []any{metrics.Samples, closed}, []any{int64(40), 1})
	_, err := trainer.Describe()
	fails(t, err, troika.ErrClosed, "trainer is closed")
}

// The collector changes nothing, whenever it runs.
func TestCollectorUnderStress(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var ended atomic.Bool
	var collecting sync.WaitGroup
	collecting.Add(1)
	go func() {
		defer collecting.Done()
		for !ended.Load() {
			runtime.GC()
		}
	}()
	for i := 0; i < 10; i++ {
		// Nothing keeps these objects except the calls that use them.
		equal(t, "a prediction", troika.Must(troika.Predict(newLinear(troika.Must(troika.NewContext(nil))), troika.CPU(0),
			[]float32{3, 4})), []float32{11.5})
		var lines collector
		options := troika.NewContextOptions()
		options.Log, options.LogLevel = lines.log, troika.LogLevelDebug
		c := troika.Must(troika.NewContext(options))
		loader := troika.Must(troika.NewLoader(newSource(c, 8, nil), 2, nil))
		trainer := newClassifier(c)
		batches := 0
		troika.Check(trainer.SetProgress(func(troika.Progress) error {
			batches++
			return nil
		}))
		equal(t, "samples", troika.Must(trainer.TrainEpoch(background, loader)).Samples, int64(8))
		equal(t, "batches", batches, 4)
		equal(t, "labels", read(loader).labels, []int32{0, 1, 2, 3, 0, 1, 2, 3})
		tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{1, 2, 3}, 3))
		imported := troika.Must(troika.TensorFromDLPack(c, troika.Must(tensor.ToDLPack())))
		equal(t, "elements", troika.Must(troika.Values[float32](imported)), []float32{1, 2, 3})
		gradients := troika.Must(troika.NewGradients(c))
		troika.Check(gradients.Watch(imported))
		sum := troika.Must(troika.Must(troika.Must(imported.Multiply(imported)).Reshape(3, 1)).Sum(nil, false))
		holds(t, "a gradient", troika.Must(gradients.Of(sum, imported))[0], []int64{3}, 2, 4, 6)
	}
	ended.Store(true)
	collecting.Wait()
}

// residentBytes returns the memory of the process.
func residentBytes() int64 {
	var pages, resident int64
	troika.Must(fmt.Sscan(string(troika.Must(os.ReadFile("/proc/self/statm"))), &pages, &resident))
	return resident * int64(os.Getpagesize())
}

func TestNothingLeaks(t *testing.T) {
	c := newContext(t)
	once := func() {
		defer runtime.GC()
		big := make([]float32, 1<<18) // 1 MiB
		tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), big, 1<<18))
		defer tensor.Close()
		troika.Must(tensor.ToDLPack()).Close()
		gradients := troika.Must(troika.NewGradients(c))
		defer gradients.Close()
		troika.Check(gradients.Watch(tensor))
		product := troika.Must(tensor.Multiply(tensor))
		defer product.Close()
		sum := troika.Must(product.Sum(nil, false))
		defer sum.Close()
		troika.Must(gradients.Of(sum, tensor))[0].Close()
		fails(t, third(gradients.Of(tensor, tensor)), troika.ErrInvalidArgument, "need one number")
		troika.Must(troika.TensorFromDLPack(c, troika.Must(tensor.ToDLPackVersioned()))).Close()
		dataset := troika.Must(troika.NewDatasetFrom[float32, int32](c, big, nil, &troika.Arrays{Dims: []int64{1 << 10}, Std: 1,
			TargetSize: 1, IgnoreIndex: troika.Unset}))
		defer dataset.Close()
		_, err := troika.NewLoader(dataset, -1, nil)
		fails(t, err, troika.ErrInvalidArgument, "-1")
		failing := newFailingLoader(c, 0, func() error { return errMine })
		defer failing.Close()
		trainer := newClassifier(c)
		defer trainer.Close()
		_, err = trainer.TrainEpoch(background, failing)
		equal(t, "the error", errors.Is(err, errMine), true)
		troika.Must(trainer.StepAsync(troika.Must(failing.Next()), nil)).Wait(background)
		model := troika.Must(trainer.Unwrap())
		defer model.Close()
		data := troika.Must(model.SaveMemory())
		troika.Must(troika.OpenModelMemory(c, data)).Close()
	}
	for i := 0; i < 20; i++ {
		once()
	}
	before := residentBytes()
	for i := 0; i < 100; i++ {
		once()
	}
	if grown := residentBytes() - before; grown > 16<<20 {
		t.Errorf("100 rounds grew the process by %d MiB", grown>>20)
	}
}
