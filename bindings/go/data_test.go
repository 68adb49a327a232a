package troika_test

import (
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"troika"
)

// contents reads an epoch.
type contents struct {
	inputs []float32
	tokens []int32
	labels []int32
	values []float32
}

func read(loader *troika.Loader) (c contents) {
	epoch := loader.Epoch()
	for epoch.Next() {
		c.inputs = append(c.inputs, troika.Must(epoch.Batch().Inputs())...)
		c.tokens = append(c.tokens, troika.Must(epoch.Batch().Tokens())...)
		c.labels = append(c.labels, troika.Must(epoch.Batch().Labels())...)
		c.values = append(c.values, troika.Must(epoch.Batch().Values())...)
	}
	troika.Check(epoch.Err())
	return c
}

func readAll(dataset *troika.Dataset) contents {
	loader := troika.Must(troika.NewLoader(dataset, 2, nil))
	defer loader.Close()
	return read(loader)
}

func TestDatasetsOfArrays(t *testing.T) {
	c := newContext(t)
	inputs := []float32{1, 2, 3, 4, 5, 6}
	labels := troika.Must(troika.NewLabelDataset(c, inputs, []int32{0, 2, 1}, 2))
	equal(t, "labelled samples", readAll(labels), contents{inputs: inputs, labels: []int32{0, 2, 1}})
	info := troika.Must(labels.Describe())
	equal(t, "the dataset", info, troika.DatasetInfo{N: 3, Dims: []int64{2}, Classes: 3, LabelSize: 1, Dtype: troika.DtypeF32})

	values := troika.Must(troika.NewValueDataset(c, inputs, []float32{1, 2, 3, 4, 5, 6}, 2, 2))
	equal(t, "samples with values", readAll(values), contents{inputs: inputs, values: inputs})

	for _, err := range []error{
		second(troika.NewLabelDataset(c, inputs, []int32{0}, 2)),
		second(troika.NewLabelDataset(c, inputs, []int32{0}, 4)),
		second(troika.NewLabelDataset(c, inputs, []int32{0}, 0)),
		second(troika.NewLabelDataset(c, inputs, []int32{0, -1, 0}, 2)),
		second(troika.NewValueDataset(c, inputs, []float32{1}, 0, 2)),
		second(troika.NewValueDataset(c, inputs, []float32{1}, 1, 2)),
		second(troika.NewSyntheticDataset(c, -1, 10, 0, 2)),
	} {
		fails(t, err, troika.ErrInvalidArgument, "")
	}
}

func second(_ *troika.Dataset, err error) error { return err }

func TestDatasetsOfOtherTypes(t *testing.T) {
	c := newContext(t)
	arrays := troika.NewArrays()
	arrays.Dims, arrays.Mean, arrays.Std = []int64{2}, 0.5, 0.25
	bytes := troika.Must(troika.NewDatasetFrom(c, []uint8{0, 255, 255, 0}, []int64{1, 0}, arrays))
	equal(t, "bytes", readAll(bytes), contents{inputs: []float32{-2, 2, 2, -2}, labels: []int32{1, 0}})

	arrays = troika.NewArrays()
	arrays.Dims, arrays.TargetSize = []int64{1}, 2
	doubles := troika.Must(troika.NewDatasetFrom(c, []float64{7, 8}, []float64{1, 2, 3, 4}, arrays))
	equal(t, "doubles", readAll(doubles), contents{inputs: []float32{7, 8}, values: []float32{1, 2, 3, 4}})
	_, err := troika.NewDatasetFrom(c, []float64{7, 8}, []float64{1}, arrays)
	fails(t, err, troika.ErrInvalidArgument, "targets have 1 elements")

	arrays.TargetSize = 1
	none := troika.Must(troika.NewDatasetFrom[float32, int32](c, []float32{1, 2}, nil, arrays))
	equal(t, "no targets", readAll(none), contents{inputs: []float32{1, 2}})
	_, err = troika.NewDatasetFrom[float32, int32](c, nil, nil, nil)
	fails(t, err, troika.ErrInvalidArgument, "arrays is nil")
	_, err = troika.NewDatasetFrom[int8, int32](c, []int8{1}, nil, arrays)
	fails(t, err, troika.ErrInvalidArgument, "dtype")
}

// Memory that Go does not manage is read in place, and released with the dataset.
func TestBorrowedArrays(t *testing.T) {
	c := newContext(t)
	mapped := troika.Must(syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE))
	floats := unsafe.Slice((*float32)(unsafe.Pointer(&mapped[0])), 2)
	released := make(chan error, 1)
	arrays := troika.NewArrays()
	arrays.Dims = []int64{1}
	arrays.Release = func() { released <- syscall.Munmap(mapped) }
	dataset := troika.Must(troika.NewDatasetFrom[float32, int32](c, floats, nil, arrays))
	floats[0], floats[1] = 3, 4
	equal(t, "the samples", readAll(dataset).inputs, []float32{3, 4})
	dataset.Close()
	equal(t, "the release", <-released, nil)

	arrays.Std = 0
	_, err := troika.NewDatasetFrom[float32, int32](c, []float32{1}, nil, arrays)
	fails(t, err, troika.ErrInvalidArgument, "std is 0")
	equal(t, "releases of a failed call", len(released), 0)

	arrays.Std, arrays.Release = 1, func() { panic("mine") }
	troika.Must(troika.NewDatasetFrom[float32, int32](c, []float32{}, nil, arrays)).Close()
	equal(t, "the panic", panics(t, func() { c.Devices() }), "mine")
}

func TestTokens(t *testing.T) {
	c := newContext(t)
	stream := troika.Must(troika.NewTokenStreamDataset(c, []byte("abcdefg"), 3))
	equal(t, "a stream", readAll(stream), contents{
		tokens: []int32{'a', 'b', 'c', 'd', 'e', 'f'},
		labels: []int32{'b', 'c', 'd', 'e', 'f', 'g'},
	})
	tokens := troika.Must(troika.NewTokenDataset(c, []int32{5, 6, 7, 8}, 2, []int32{0, -1}, 1, -1))
	equal(t, "sequences", readAll(tokens), contents{tokens: []int32{5, 6, 7, 8}, labels: []int32{0, -1}})
	equal(t, "words", troika.Must(tokens.Describe()).Words, int64(9))
	_, err := troika.NewTokenDataset(c, []int32{5, 6, 7, 8}, 2, []int32{0}, 1, troika.Unset)
	fails(t, err, troika.ErrInvalidArgument, "labels have 1 elements")
}

func TestFilesOfImages(t *testing.T) {
	c := newContext(t)
	folder := t.TempDir()
	images := append([]byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}, 0, 255, 255, 0)
	labels := append([]byte{0, 0, 8, 1, 0, 0, 0, 2}, 1, 0)
	for _, name := range []string{"train", "t10k"} {
		troika.Check(os.WriteFile(folder+"/"+name+"-images-idx3-ubyte", images, 0o600))
		troika.Check(os.WriteFile(folder+"/"+name+"-labels-idx1-ubyte", labels, 0o600))
	}
	wanted := contents{inputs: []float32{0, 1, 1, 0}, labels: []int32{1, 0}}
	opened := troika.Must(troika.OpenIDX(c, folder+"/train-images-idx3-ubyte", folder+"/train-labels-idx1-ubyte", nil))
	equal(t, "two files", readAll(opened), wanted)
	equal(t, "a directory", readAll(troika.Must(troika.OpenDirectory(c, folder, "test", nil))), wanted)
	options := troika.NewDatasetOptions()
	options.Mean, options.Std = 1, 0.5
	normalised := troika.Must(troika.OpenDirectory(c, folder, "train", options))
	equal(t, "normalised", readAll(normalised).inputs, []float32{-2, 0, 0, -2})
	_, err := troika.OpenDirectory(c, folder, "other", nil)
	fails(t, err, troika.ErrInvalidArgument, "other")
	_, err = troika.OpenIDX(c, folder+"/none", folder+"/none", nil)
	fails(t, err, troika.ErrNotFound, "none")
}

func TestWeights(t *testing.T) {
	c := newContext(t)
	dataset := troika.Must(troika.NewLabelDataset(c, []float32{10, 11, 12, 13}, []int32{0, 1, 2, 3}, 1))
	weighted := troika.Must(dataset.Weigh([]float32{1, 0, 2.5, 3}))
	loader := troika.Must(troika.NewLoader(weighted, 3, nil))
	equal(t, "weights", troika.Must(troika.Must(loader.Next()).Weights()), []float32{1, 0, 2.5})
	_, err := dataset.Weigh([]float32{1})
	fails(t, err, troika.ErrInvalidArgument, "count is 1, need one weight for each of 4 samples")

	inputs := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{3, 4}, 1, 2))
	targets := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{10}, 1, 1))
	weights := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{0.5}, 1))
	batch := troika.Must(troika.NewWeightedBatch(inputs, targets, weights))
	equal(t, "the weight of a sample", troika.Must(batch.Weights()), []float32{0.5})
	equal(t, "no weights", len(troika.Must(newSample(c).Weights())), 0)
	_, err = troika.NewWeightedBatch(inputs, targets, inputs)
	fails(t, err, troika.ErrInvalidArgument, "need f32[1]")
	trainer, _ := newRegression(c, nil)
	_, err = trainer.Step(batch)
	fails(t, err, troika.ErrInvalidArgument, "sample_weights is 0")
}

func TestPartsOfDatasets(t *testing.T) {
	c := newContext(t)
	dataset := troika.Must(troika.NewLabelDataset(c, []float32{10, 11, 12, 13}, []int32{0, 1, 2, 3}, 1))
	subset := troika.Must(dataset.Subset([]int64{3, 0, 3}))
	equal(t, "a subset", readAll(subset).labels, []int32{3, 0, 3})
	equal(t, "an empty subset", troika.Must(troika.Must(dataset.Subset(nil)).Describe()).N, int64(0))
	parts := troika.Must(dataset.Split([]int64{1, 2}, false, 0))
	equal(t, "the second part", readAll(parts[1]).labels, []int32{1, 2})
	shuffled := troika.Must(dataset.Split([]int64{4}, true, 7))
	again := troika.Must(dataset.Split([]int64{4}, true, 7))
	equal(t, "the order of a seed", readAll(shuffled[0]), readAll(again[0]))
	both := troika.Must(troika.ConcatDatasets(parts[1], subset))
	equal(t, "a union", readAll(both).inputs, []float32{11, 12, 13, 10, 13})
	_, err := dataset.Subset([]int64{4})
	fails(t, err, troika.ErrInvalidArgument, "4")
	_, err = dataset.Split([]int64{5}, false, 0)
	fails(t, err, troika.ErrInvalidArgument, "")
	_, err = troika.ConcatDatasets()
	fails(t, err, troika.ErrInvalidArgument, "dataset_count is 0")
}

func TestLoaders(t *testing.T) {
	c := newContext(t)
	dataset := newImages(c, 5)
	loader := troika.Must(troika.NewLoader(dataset, 2, nil))
	position := troika.Must(loader.Tell())
	equal(t, "the position", position, troika.LoaderPosition{Batches: 3})
	var sizes []int64
	for {
		batch, err := loader.Next()
		if err == io.EOF {
			break
		}
		troika.Check(err)
		sizes = append(sizes, troika.Must(batch.Describe()).N)
	}
	equal(t, "sizes of batches", sizes, []int64{2, 2, 1})
	position = troika.Must(loader.Tell())
	equal(t, "the next epoch", position, troika.LoaderPosition{Epoch: 1, Batches: 3})
	position.Batch = 2
	troika.Check(loader.Seek(position))
	batch := troika.Must(loader.Next())
	equal(t, "the last batch", troika.Must(batch.Labels()), []int32{0})
	fails(t, loader.Seek(troika.LoaderPosition{Batch: 4}), troika.ErrInvalidArgument, "position->batch is 4")
	_, err := troika.NewLoader(dataset, 0, nil)
	fails(t, err, troika.ErrInvalidArgument, "options.batch is 0")

	options := troika.NewLoaderOptions()
	options.DropLast = true
	equal(t, "no small batch", len(read(troika.Must(troika.NewLoader(dataset, 2, options))).labels), 4)
	options.Shuffle, options.Seed = true, 5
	first := read(troika.Must(troika.NewLoader(dataset, 1, options)))
	equal(t, "the order of a seed", read(troika.Must(troika.NewLoader(dataset, 1, options))), first)

	options = troika.NewLoaderOptions()
	options.Weights, options.EpochSamples = []float64{0, 0, 1, 0, 0}, 3
	equal(t, "weighted samples", read(troika.Must(troika.NewLoader(dataset, 2, options))).labels, []int32{2, 2, 2})
	options.Weights = []float64{1}
	_, err = troika.NewLoader(dataset, 2, options)
	fails(t, err, troika.ErrInvalidArgument, "Weights has 1 elements, need one for each of 5 samples")
}

func TestAugmentedImages(t *testing.T) {
	c := newContext(t)
	options := troika.NewLoaderOptions()
	options.Flip, options.Crop, options.Seed = true, 2, 9
	images := newImages(c, 20)
	first := read(troika.Must(troika.NewLoader(images, 8, options)))
	equal(t, "the images of a seed", read(troika.Must(troika.NewLoader(images, 8, options))), first)
	if reflect.DeepEqual(first, read(troika.Must(troika.NewLoader(images, 8, nil)))) {
		t.Error("no image has changed")
	}
	options.Crop = 4
	_, err := troika.NewLoader(images, 8, options)
	fails(t, err, troika.ErrInvalidArgument, "crop is 4, need 0 to 3")
}

func TestBatchesOfALoader(t *testing.T) {
	c := newContext(t)
	loader := troika.Must(troika.NewLoader(newImages(c, 200), 1, nil))
	batch := troika.Must(loader.Next())
	info := troika.Must(batch.Describe())
	equal(t, "the batch", info, troika.BatchInfo{N: 1, Dims: []int64{1, 1, 4, 4}, LabelSize: 1})
	inputs := troika.Must(batch.Inputs())
	kept := troika.Must(batch.Copy())
	// The library has 64 handles for the batches of a loader.
	for i := 0; i < 64; i++ {
		next := troika.Must(loader.Next())
		equal(t, "the next label", troika.Must(next.Labels()), []int32{int32(i+1) % 4})
		_, err := batch.Inputs()
		fails(t, err, troika.ErrInvalidArgument, "moved past")
	}
	equal(t, "a copy", troika.Must(kept.Inputs()), inputs)

	last := troika.Must(loader.Next())
	equal(t, "closing a batch", last.Close(), nil)
	_, err := last.Labels()
	fails(t, err, troika.ErrClosed, "batch is closed")
	last = troika.Must(loader.Next())
	loader.Close()
	_, err = last.Labels()
	fails(t, err, troika.ErrClosed, "loader is closed")
	_, err = loader.Next()
	fails(t, err, troika.ErrClosed, "loader is closed")
}

func TestBatchesOfTensors(t *testing.T) {
	c := newContext(t)
	batch := newSample(c)
	equal(t, "inputs", troika.Must(batch.Inputs()), []float32{3, 4})
	equal(t, "values", troika.Must(batch.Values()), []float32{10})
	equal(t, "labels", len(troika.Must(batch.Labels())), 0)
	tokens := troika.Must(troika.NewTensor(c, troika.CPU(0), []int32{1, 2}, 1, 2))
	alone := troika.Must(troika.NewBatch(tokens, nil))
	equal(t, "tokens", troika.Must(alone.Tokens()), []int32{1, 2})
	equal(t, "no targets", troika.Must(alone.Describe()).LabelSize, int64(0))
	tokens.Close()
	_, err := troika.NewBatch(tokens, nil)
	fails(t, err, troika.ErrClosed, "tensor is closed")
	equal(t, "closing", alone.Close(), nil)
	_, err = alone.Copy()
	fails(t, err, troika.ErrClosed, "batch is closed")
}

// newSource returns samples whose input is their index, of 4 labels.
func newSource(c *troika.Context, n int64, reading func(*troika.ReadRequest) error) *troika.Dataset {
	source := troika.NewSource()
	source.Dims, source.N, source.Classes = []int64{1}, n, 4
	source.Read = func(r *troika.ReadRequest) (int64, error) {
		for i, index := range r.Indices {
			r.Inputs[i], r.Labels[i] = float32(index), int32(index%4)
		}
		if reading != nil {
			return r.N, reading(r)
		}
		return r.N, nil
	}
	return troika.Must(troika.NewCallbackDataset(c, source))
}

func TestSources(t *testing.T) {
	c := newContext(t)
	equal(t, "the samples", readAll(newSource(c, 5, nil)), contents{inputs: []float32{0, 1, 2, 3, 4}, labels: []int32{0, 1, 2, 3, 0}})

	source := troika.NewSource()
	source.Dims, source.N, source.Dtype, source.Words, source.ValueSize = []int64{2}, -1, troika.DtypeI32, 9, 1
	source.Read = func(r *troika.ReadRequest) (n int64, err error) {
		for ; n < r.N && r.First+n < 3; n++ {
			r.Tokens[2*n], r.Tokens[2*n+1], r.Values[n] = int32(r.First+n), int32(r.Epoch), 0.5
		}
		return n, nil
	}
	stream := troika.Must(troika.NewCallbackDataset(c, source))
	loader := troika.Must(troika.NewLoader(stream, 2, nil))
	equal(t, "a stream", read(loader), contents{tokens: []int32{0, 0, 1, 0, 2, 0}, values: []float32{0.5, 0.5, 0.5}})
	equal(t, "its next epoch", read(loader).tokens, []int32{0, 1, 1, 1, 2, 1})

	_, err := troika.NewCallbackDataset(c, nil)
	fails(t, err, troika.ErrInvalidArgument, "Read")
	source.Words = 0
	_, err = troika.NewCallbackDataset(c, source)
	fails(t, err, troika.ErrInvalidArgument, "words")
	source.Read = nil
	_, err = troika.NewCallbackDataset(c, source)
	fails(t, err, troika.ErrInvalidArgument, "Read")
}

// newClassifier attaches a linear layer that classifies the samples of newSource.
func newClassifier(c *troika.Context) *troika.Trainer {
	m := troika.Must(troika.NewEmptyModel(c, "classifier"))
	x := troika.Must(m.AddInput("x", 1))
	troika.Check(m.SetOutput(troika.Must(m.AddLinear("fc", x, 4, true))))
	return troika.Must(m.Attach(troika.CPUs(1), nil))
}

var errMine = errors.New("the disk\nis wet")

// newFailingLoader returns a loader of 4 samples in batches of 2. Its source calls a function
// instead of reading the second batch for the first time.
func newFailingLoader(c *troika.Context, prefetch int32, failing func() error) *troika.Loader {
	var once sync.Once
	dataset := newSource(c, 4, func(r *troika.ReadRequest) (err error) {
		if r.Indices[0] == 2 {
			once.Do(func() { err = failing() })
		}
		return err
	})
	options := troika.NewLoaderOptions()
	options.Prefetch = prefetch
	// The failures of a source are those of datasets that are made of it.
	return troika.Must(troika.NewLoader(troika.Must(dataset.Subset([]int64{0, 1, 2, 3})), 2, options))
}

func TestFailuresOfSources(t *testing.T) {
	for _, prefetch := range []int32{0, 2} {
		c := newContext(t)
		loader := newFailingLoader(c, prefetch, func() error { return errMine })
		troika.Must(loader.Next())
		_, err := loader.Next()
		fails(t, err, troika.ErrCallback, "the disk is wet")
		equal(t, "the same error", errors.Is(err, errMine), true)
		equal(t, "asking again", troika.Must(troika.Must(loader.Next()).Labels()), []int32{2, 3})

		mine := new(int)
		loader = newFailingLoader(c, prefetch, func() error { panic(mine) })
		troika.Must(loader.Next())
		equal(t, "the panic", panics(t, func() { loader.Next() }), mine)
		equal(t, "asking again", troika.Must(troika.Must(loader.Next()).Labels()), []int32{2, 3})

		loader = newFailingLoader(c, prefetch, func() error { return troika.Stop })
		epoch := loader.Epoch()
		equal(t, "the first batch", epoch.Next(), true)
		equal(t, "the second batch", []any{epoch.Next(), epoch.Batch(), epoch.Err()}, []any{false, (*troika.Batch)(nil), troika.Stop})
		equal(t, "asking again", troika.Must(troika.Must(loader.Next()).Labels()), []int32{2, 3})

		loader = newFailingLoader(c, prefetch, func() error { return errMine })
		metrics, err := newClassifier(c).TrainEpoch(background, loader)
		equal(t, "a failed epoch", []any{errors.Is(err, errMine), metrics.Status}, []any{true, troika.StatusCallback})
		equal(t, "its rest", troika.Must(newClassifier(c).TrainEpoch(background, loader)).Samples, int64(2))

		loader = newFailingLoader(c, prefetch, func() error { panic(mine) })
		equal(t, "the panic", panics(t, func() { newClassifier(c).Evaluate(background, loader) }), mine)

		loader = newFailingLoader(c, prefetch, func() error { return troika.Stop })
		metrics = troika.Must(newClassifier(c).TrainEpoch(background, loader))
		equal(t, "a stopped epoch", []any{metrics.Samples, metrics.Status}, []any{int64(2), troika.StatusStopped})
	}
}

func TestWrongSamplesOfSources(t *testing.T) {
	c := newContext(t)
	loader := troika.Must(troika.NewLoader(newSource(c, 4, func(r *troika.ReadRequest) error {
		r.Labels[0] = 9
		return nil
	}), 2, nil))
	_, err := loader.Next()
	fails(t, err, troika.ErrCallback, "label 9")
}
