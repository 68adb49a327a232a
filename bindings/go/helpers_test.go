package troika_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"troika"
)

var background = context.Background()

// equal compares a result with the known one.
func equal(t *testing.T, what string, found, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(found, wanted) {
		t.Errorf("%s is %v, wanted %v", what, found, wanted)
	}
}

// near compares numbers that are rounded to f32.
func near(t *testing.T, what string, found, wanted float64) {
	t.Helper()
	if math.Abs(found-wanted) > 1e-5*math.Max(1, math.Abs(wanted)) {
		t.Errorf("%s is %v, wanted %v", what, found, wanted)
	}
}

// fails compares an error with the known status, and with a part of the known message. The message
// has one line.
func fails(t *testing.T, err, wanted error, message string) {
	t.Helper()
	if !errors.Is(err, wanted) || !strings.Contains(err.Error(), message) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v, wanted %v with %q", err, wanted, message)
	}
}

// panics runs a function and returns the value of its panic.
func panics(t *testing.T, function func()) (value any) {
	t.Helper()
	defer func() {
		if value = recover(); value == nil {
			t.Error("there was no panic")
		}
	}()
	function()
	return nil
}

func newContext(t *testing.T) *troika.Context {
	t.Helper()
	c := troika.Must(troika.NewContext(nil))
	t.Cleanup(func() { c.Close() })
	return c
}

// newMLP returns a small network for images [1, 4, 4] of 4 classes.
func newMLP(c *troika.Context) *troika.Model {
	options := troika.NewModelOptions()
	options.Classes, options.InputHeight, options.Hidden = 4, 4, 8
	return troika.Must(troika.NewModel(c, "mlp", options))
}

// newImages returns samples for newMLP.
func newImages(c *troika.Context, n int64) *troika.Dataset {
	return troika.Must(troika.NewSyntheticDataset(c, n, 4, 1, 1, 4, 4))
}

// newTraining returns an MLP on CPU devices, and a loader of n images in batches of 8.
func newTraining(c *troika.Context, n int64, devices ...troika.Device) (*troika.Trainer, *troika.Loader) {
	if len(devices) == 0 {
		devices = troika.CPUs(1)
	}
	trainer := troika.Must(newMLP(c).Attach(devices, nil))
	return trainer, troika.Must(troika.NewLoader(newImages(c, n), 8, nil))
}

// newLinear returns the network y = x1 + 2 x2 + 0.5.
func newLinear(c *troika.Context) *troika.Model {
	m := troika.Must(troika.NewEmptyModel(c, "linear"))
	x := troika.Must(m.AddInput("x", 2))
	troika.Check(m.SetOutput(troika.Must(m.AddLinear("fc", x, 1, true))))
	troika.Check(m.SetParameter("fc.weight", []float32{1, 2}))
	troika.Check(m.SetParameter("fc.bias", []float32{0.5}))
	return m
}

// newRegression attaches newLinear with the mean squared error, and returns a batch with the sample
// (3, 4) and the value 10. The output is 11.5 and the loss 2.25. The gradient is (9, 12) for the
// weight and 3 for the bias.
func newRegression(c *troika.Context, options *troika.TrainerOptions) (*troika.Trainer, *troika.Batch) {
	if options == nil {
		options = troika.NewTrainerOptions()
	}
	options.Loss = troika.LossMeanSquaredError
	trainer := troika.Must(newLinear(c).Attach(troika.CPUs(1), options))
	return trainer, newSample(c)
}

func newSample(c *troika.Context) *troika.Batch {
	inputs := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{3, 4}, 1, 2))
	targets := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{10}, 1, 1))
	return troika.Must(troika.NewBatch(inputs, targets))
}

// in returns a path in a folder of the test.
func in(t *testing.T, name string) string { return filepath.Join(t.TempDir(), name) }
