package troika

/*
#include "callbacks.h"
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"
)

// A Dataset has samples and their targets. It never changes. Any goroutine may use it at any time.
type Dataset struct {
	object[C.troika_dataset]
	readers []*reader // that reading it calls
}

// createDataset wraps the dataset that a function creates. Reading it calls the readers of the
// datasets that the call uses.
func createDataset(function func(c *call, out *C.troika_dataset) C.troika_status, objects ...user) (*Dataset, error) {
	var out C.troika_dataset
	var readers []*reader
	shared, err := create(func(c *call) C.troika_status {
		status := function(c, &out)
		for _, object := range c.users {
			if part, ok := object.(*Dataset); ok {
				readers = append(readers, part.readers...)
			}
		}
		return status
	}, objects...)
	if err != nil {
		return nil, err
	}
	return newDataset(out, shared, readers), nil
}

func newDataset(handle C.troika_dataset, shared *contextState, readers []*reader) *Dataset {
	dataset := &Dataset{readers: readers}
	dataset.init(handle, "dataset", func(h C.troika_dataset) { C.troika_dataset_destroy(h) }, shared)
	return closeWhenCollected(dataset)
}

// Close gives up the dataset. Loaders and other datasets keep it alive.
func (d *Dataset) Close() error { return closeUnlessNil(d) }

// OpenIDX reads images and labels from two IDX files, the format of MNIST, plain or gzipped.
// Samples are f32 [c, h, w]. nil options are the defaults. Errors: ErrNotFound, ErrIO, ErrCorrupt,
// ErrInvalidArgument, ErrOutOfMemory. Any goroutine.
func OpenIDX(context *Context, images, labels string, options *DatasetOptions) (*Dataset, error) {
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_open_idx(context.handle, c.text("images", images), c.text("labels", labels),
			options.toC(c), out, &c.error)
	}, context)
}

// OpenDirectory reads the files of a split, "train" or "test", from a directory. The directory has
// the IDX files of MNIST or one of its relatives, or the binary files of CIFAR. nil options are the
// defaults. Errors: those of OpenIDX. Any goroutine.
func OpenDirectory(context *Context, directory, split string, options *DatasetOptions) (*Dataset, error) {
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_open_directory(context.handle, c.text("directory", directory), c.text("split", split),
			options.toC(c), out, &c.error)
	}, context)
}

// samplesIn returns the number of samples of a shape in an array.
func samplesIn(inputs int, dims []int64) (int64, error) {
	size := product(dims)
	if size < 1 || int64(inputs)%size != 0 {
		return 0, refuse("inputs have %d elements, need a multiple of the elements of a sample %v", inputs, dims)
	}
	return int64(inputs) / size, nil
}

// NewLabelDataset creates a dataset from arrays, which are copied: inputs [n, dims...] and one
// class per sample. Errors: ErrInvalidArgument, ErrOutOfMemory. Any goroutine.
func NewLabelDataset(context *Context, inputs []float32, labels []int32, dims ...int64) (*Dataset, error) {
	n, err := samplesIn(len(inputs), dims)
	if err == nil && int64(len(labels)) != n {
		err = refuse("labels have %d elements, need one for each of %d samples", len(labels), n)
	}
	if err != nil {
		return nil, err
	}
	shape := dimsToC(dims)
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_create_arrays(context.handle, first[C.float](inputs), &shape[0], length(c, "dims", len(dims)),
			C.int64_t(n), first[C.int32_t](labels), nil, 0, out, &c.error)
	}, context)
}

// NewValueDataset creates a dataset from arrays, which are copied: inputs [n, dims...] and
// values [n, valueSize]. Errors: ErrInvalidArgument, ErrOutOfMemory. Any goroutine.
func NewValueDataset(context *Context, inputs, values []float32, valueSize int64, dims ...int64) (*Dataset, error) {
	n, err := samplesIn(len(inputs), dims)
	if err == nil && (valueSize < 1 || product([]int64{n, valueSize}) != int64(len(values))) {
		err = refuse("values have %d elements, need %d for each of %d samples", len(values), valueSize, n)
	}
	if err != nil {
		return nil, err
	}
	shape := dimsToC(dims)
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_create_arrays(context.handle, first[C.float](inputs), &shape[0], length(c, "dims", len(dims)),
			C.int64_t(n), nil, first[C.float](values), C.int64_t(valueSize), out, &c.error)
	}, context)
}

// NewDatasetFrom creates a dataset from arrays of any type: inputs [n, arrays.Dims...], and targets
// [n, arrays.TargetSize], which are labels if T is an integer, and values otherwise. Samples are
// converted when a batch is read. Without targets the dataset serves only to predict. Arrays are
// copied unless arrays.Release is set. Errors: ErrInvalidArgument (the message names the field),
// ErrOutOfMemory. Any goroutine.
func NewDatasetFrom[I, T Element](context *Context, inputs []I, targets []T, arrays *Arrays) (*Dataset, error) {
	if arrays == nil {
		return nil, refuse("arrays is nil, need at least its Dims")
	}
	n, err := samplesIn(len(inputs), arrays.Dims)
	if err == nil && targets != nil && product([]int64{n, arrays.TargetSize}) != int64(len(targets)) {
		err = refuse("targets have %d elements, need %d for each of %d samples", len(targets), arrays.TargetSize, n)
	}
	if err != nil {
		return nil, err
	}
	return newDatasetFrom(context, n, inputs, targets, arrays)
}

func newDatasetFrom[I, T Element](context *Context, n int64, inputs []I, targets []T, arrays *Arrays) (*Dataset, error) {
	inputBytes, _ := memory(inputs)
	targetBytes, _ := memory(targets)
	var handle cgo.Handle
	dataset, err := createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		if arrays.Release != nil {
			handle = cgo.NewHandle(&borrowed{arrays.Release, context.shared})
		}
		p := arrays.toC(c)
		p.dtype, p.n = C.int32_t(DtypeOf[I]()), C.int64_t(n)
		if targets == nil {
			return C.troika_go_create_from(context.handle, *p, unsafe.Pointer(&inputBytes[0]), nil, C.uintptr_t(handle), out,
				&c.error)
		}
		p.target_dtype = C.int32_t(DtypeOf[T]())
		return C.troika_go_create_from(context.handle, *p, unsafe.Pointer(&inputBytes[0]), unsafe.Pointer(&targetBytes[0]),
			C.uintptr_t(handle), out, &c.error)
	}, context)
	if err != nil && handle != 0 {
		handle.Delete()
	}
	return dataset, err
}

// NewSyntheticDataset creates a dataset for tests and benchmarks: n samples f32 [dims...] in [-1,
// 1), each around the centre of its label. Sample i has the label i modulo classes. Errors:
// ErrInvalidArgument, ErrOutOfMemory. Any goroutine.
func NewSyntheticDataset(context *Context, n, classes int64, seed uint64, dims ...int64) (*Dataset, error) {
	shape := dimsToC(dims)
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_create_synthetic(context.handle, &shape[0], length(c, "dims", len(dims)), C.int64_t(n),
			C.int64_t(classes), C.uint64_t(seed), out, &c.error)
	}, context)
}

// NewTokenStreamDataset creates a dataset for a language model from one stream of tokens, which is
// copied. The stream is cut into windows of steps tokens; the label of a token is the token after
// it. Errors: ErrInvalidArgument, ErrOutOfMemory. Any goroutine.
func NewTokenStreamDataset[T uint8 | int32](context *Context, tokens []T, steps int64) (*Dataset, error) {
	bytes, _ := memory(tokens)
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_create_token_stream(context.handle, unsafe.Pointer(&bytes[0]), C.int32_t(DtypeOf[T]()),
			C.int64_t(len(tokens)), C.int64_t(steps), out, &c.error)
	}, context)
}

// NewTokenDataset creates a dataset from tokens [n, steps] and labels [n, labelSize], which are
// copied. labelSize is 1, or steps. A label may also be ignoreIndex; Unset means no such label.
// Errors: ErrInvalidArgument, ErrOutOfMemory. Any goroutine.
func NewTokenDataset[T uint8 | int32](context *Context, tokens []T, steps int64, labels []int32, labelSize,
	ignoreIndex int64) (*Dataset, error) {
	n, err := samplesIn(len(tokens), []int64{steps})
	if err == nil && product([]int64{n, labelSize}) != int64(len(labels)) {
		err = refuse("labels have %d elements, need %d for each of %d samples", len(labels), labelSize, n)
	}
	if err != nil {
		return nil, err
	}
	bytes, _ := memory(tokens)
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_create_tokens(context.handle, unsafe.Pointer(&bytes[0]), C.int32_t(DtypeOf[T]()), C.int64_t(n),
			C.int64_t(steps), first[C.int32_t](labels), C.int64_t(labelSize), C.int64_t(ignoreIndex), out, &c.error)
	}, context)
}

// A ReadRequest asks for samples. Its slices are the library's memory, and end with the call.
type ReadRequest struct {
	N       int64     // Samples to write, at least 1.
	Indices []int64   // Indices of these samples; nil for a stream.
	Epoch   int64     // A stream: the loader's epoch.
	First   int64     // A stream: samples of the epoch that come before these. 0 begins the epoch, also again.
	Inputs  []float32 // To be written: [N, dims...]; nil for tokens.
	Tokens  []int32   // To be written: [N, dims...]; nil for other samples.
	Labels  []int32   // To be written: [N, LabelSize]; nil without labels.
	Values  []float32 // To be written: [N, ValueSize]; nil without values.
}

// A ReadFunc writes samples and returns their number: request.N, or fewer at the end of a stream,
// and 0 after it.
//
// An error ends the call that waits for the samples, and is returned by it; a panic continues
// there. Stop ends the call with StatusStopped. The loader is then at the same batch, and asks
// again when the next call wants it.
//
// It is called on a thread of a loader, ahead of the batches that are needed, or by the goroutine
// that uses a loader without prefetch. Several loaders call it at once. It must not use the loader
// that waits for it, except to close it.
type ReadFunc func(request *ReadRequest) (int64, error)

// NewCallbackDataset creates a dataset that source.Read reads. Errors: ErrInvalidArgument (the
// message names the field), ErrOutOfMemory. Any goroutine.
func NewCallbackDataset(context *Context, source *Source) (*Dataset, error) {
	if source == nil || source.Read == nil {
		return nil, refuse("source has no function Read, need one")
	}
	r := &reader{
		read:       source.Read,
		inputs:     product(source.Dims),
		values:     source.ValueSize,
		isOfTokens: source.Dtype == DtypeI32,
	}
	if source.Classes > 0 {
		r.labels = source.LabelSize
	}
	handle := cgo.NewHandle(r)
	dataset, err := createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_go_create_callback(context.handle, *source.toC(c), C.uintptr_t(handle), out, &c.error)
	}, context)
	if err != nil {
		handle.Delete()
		return nil, err
	}
	dataset.readers = []*reader{r}
	return dataset, nil
}

// Subset creates a dataset of the samples at indices, in that order. No sample is copied. Errors:
// ErrInvalidArgument (an index outside the dataset, a stream), ErrOutOfMemory. Any goroutine.
func (d *Dataset) Subset(indices []int64) (*Dataset, error) {
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_subset(d.handle, first[C.int64_t](indices), C.int64_t(len(indices)), out, &c.error)
	}, d)
}

// Weigh creates a dataset of the samples with weights in losses, one for each, for trainers with
// SampleWeights. No sample is copied. Errors: ErrInvalidArgument (another number of weights, a
// weight below 0 or not finite, a stream), ErrOutOfMemory. Any goroutine.
func (d *Dataset) Weigh(weights []float32) (*Dataset, error) {
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		return C.troika_dataset_weigh(d.handle, first[C.float](weights), C.int64_t(len(weights)), out, &c.error)
	}, d)
}

// Split cuts a dataset into parts of the given sizes. With shuffle, samples are drawn in an order
// that depends only on seed. No sample is copied. Errors: ErrInvalidArgument, ErrOutOfMemory. Any
// goroutine.
func (d *Dataset) Split(sizes []int64, shuffle bool, seed uint64) ([]*Dataset, error) {
	out := make([]C.troika_dataset, len(sizes)+1)
	err := do(func(c *call) C.troika_status {
		return C.troika_dataset_split(d.handle, first[C.int64_t](sizes), length(c, "sizes", len(sizes)), flag(shuffle),
			C.uint64_t(seed), &out[0], &c.error)
	}, d)
	if err != nil {
		return nil, err
	}
	parts := make([]*Dataset, len(sizes))
	for i := range parts {
		parts[i] = newDataset(out[i], d.shared, d.readers)
	}
	return parts, nil
}

// ConcatDatasets creates a dataset of the samples of several, one after another. No sample is
// copied. Errors: ErrInvalidArgument (none, forms that differ, a stream), ErrOutOfMemory. Any
// goroutine.
func ConcatDatasets(datasets ...*Dataset) (*Dataset, error) {
	return createDataset(func(c *call, out *C.troika_dataset) C.troika_status {
		handles := make([]C.troika_dataset, len(datasets)+1)
		for i, dataset := range datasets {
			c.use(dataset)
			handles[i] = dataset.handle
		}
		return C.troika_dataset_concat(&handles[0], length(c, "datasets", len(datasets)), out, &c.error)
	})
}

// Describe returns the number of samples, their shape and type, and the classes.
func (d *Dataset) Describe() (DatasetInfo, error) {
	info := defaultDatasetInfo
	err := do(func(c *call) C.troika_status { return C.troika_dataset_describe(d.handle, &info, &c.error) }, d)
	return datasetInfoOf(&info), err
}

// A Loader makes batches of a dataset, epoch after epoch. It takes one call at a time; a second
// call returns ErrBusy, also while a trainer uses the loader.
type Loader struct {
	object[C.troika_loader]
	readers []*reader
	batches atomic.Int64 // that Next returned
}

// NewLoader creates a loader of batches of batch samples, for all devices together, at the first
// batch of epoch 0. nil options are the defaults. Errors: ErrInvalidArgument (the message names the
// field), ErrOutOfMemory. Any goroutine.
func NewLoader(dataset *Dataset, batch int64, options *LoaderOptions) (*Loader, error) {
	if options == nil {
		options = NewLoaderOptions()
	}
	if err := checkWeights(dataset, options.Weights); err != nil {
		return nil, err
	}
	var out C.troika_loader
	err := do(func(c *call) C.troika_status {
		p := options.toC(c)
		p.batch = C.int64_t(batch)
		p.weights = array[C.double](c, options.Weights)
		return C.troika_loader_create(dataset.handle, p, &out, &c.error)
	}, dataset)
	if err != nil {
		return nil, err
	}
	loader := &Loader{readers: dataset.readers}
	loader.init(out, "loader", func(h C.troika_loader) { C.troika_loader_destroy(h) }, dataset.shared)
	return closeWhenCollected(loader), nil
}

// checkWeights refuses weights that are not one per sample: the library reads as many. It refuses a
// stream itself.
func checkWeights(dataset *Dataset, weights []float64) error {
	if weights == nil {
		return nil
	}
	info, err := dataset.Describe()
	if err == nil && info.N >= 0 && int64(len(weights)) != info.N {
		err = refuse("Weights has %d elements, need one for each of %d samples", len(weights), info.N)
	}
	return err
}

// Close gives up the loader, and waits for its thread, which may be in a callback.
func (l *Loader) Close() error { return closeUnlessNil(l) }

// Next returns the next batch of the epoch, and io.EOF after the last one; then the next epoch
// begins. The batch is valid until the next call on the loader. If a callback of the dataset fails,
// Next returns its error or continues its panic, and the loader keeps its position. Errors:
// ErrBusy, ErrCallback, Stop.
func (l *Loader) Next() (*Batch, error) {
	var out C.troika_batch
	status, err := run(func(c *call) C.troika_status { return C.troika_loader_next(l.handle, &out, &c.error) }, l)
	switch {
	case err != nil:
		return nil, failureOf(l, err)
	case status == StatusEndOfData:
		return nil, io.EOF
	case status == StatusStopped:
		return nil, Stop
	}
	batch := &Batch{loader: l, number: l.batches.Add(1)}
	batch.init(out, "batch", func(C.troika_batch) {}, l.shared)
	return batch, nil
}

// Epoch returns an iterator over the remaining batches of the epoch:
//
//	epoch := loader.Epoch()
//	for epoch.Next() {
//		result, err := trainer.Step(epoch.Batch())
//	}
//	err := epoch.Err()
func (l *Loader) Epoch() *Epoch { return &Epoch{loader: l} }

// An Epoch iterates over batches. One goroutine may use it.
type Epoch struct {
	loader *Loader
	batch  *Batch
	err    error
}

// Next advances to the next batch. It returns false after the last one and after an error.
func (e *Epoch) Next() bool {
	if e.err == nil {
		e.batch, e.err = e.loader.Next()
	}
	return e.err == nil
}

// Batch returns the batch that Next advanced to, and nil after the last one.
func (e *Epoch) Batch() *Batch { return e.batch }

// Err returns the error that ended the epoch, and nil for its end. Errors: those of Loader.Next.
func (e *Epoch) Err() error {
	if e.err == io.EOF {
		return nil
	}
	return e.err
}

// Tell returns the position of the next batch. Errors: ErrBusy.
func (l *Loader) Tell() (LoaderPosition, error) {
	position := defaultLoaderPosition
	err := do(func(c *call) C.troika_status { return C.troika_loader_tell(l.handle, &position, &c.error) }, l)
	return loaderPositionOf(&position), err
}

// Seek moves to a position, to go on in the middle of an epoch. Errors: ErrInvalidArgument (a
// position of another loader, or beyond the epoch), ErrBusy.
func (l *Loader) Seek(position LoaderPosition) error {
	return do(func(c *call) C.troika_status {
		p := allocate[C.troika_loader_position](c, 1)
		position.fill(c, p)
		return C.troika_loader_seek(l.handle, p, &c.error)
	}, l)
}

// A Batch has inputs and targets. Several goroutines may read it. A batch of a loader is valid
// until the next call on the loader; Copy keeps it for longer.
type Batch struct {
	object[C.troika_batch]
	loader *Loader // that lends the batch, or nil
	number int64   // of the batch among those of the loader
}

// begin keeps the loader of the batch alive too.
func (b *Batch) begin() error {
	if b.loader == nil {
		return b.object.begin()
	}
	if err := b.loader.begin(); err != nil {
		return err
	}
	err := b.object.begin()
	// The library uses its handles of batches again after a while, so it finds most earlier
	// batches.
	if err == nil && b.number != b.loader.batches.Load() {
		b.object.end()
		err = refuse("batch is one that its loader moved past; ask for the next")
	}
	if err != nil {
		b.loader.end()
	}
	return err
}

func (b *Batch) end() {
	b.object.end()
	if b.loader != nil {
		b.loader.end()
	}
}

func newBatch(handle C.troika_batch, shared *contextState) *Batch {
	batch := new(Batch)
	batch.init(handle, "batch", func(h C.troika_batch) { C.troika_batch_destroy(h) }, shared)
	return closeWhenCollected(batch)
}

// NewBatch creates a batch from tensors, which are copied: inputs f32 or tokens i32 [n, ...], and
// targets i32, i64 or u8 [n, ...] or f32 [n, k]. targets may be nil, for prediction and
// ForwardOptions.OwnLoss. Errors: ErrInvalidArgument, ErrOutOfMemory. Reads both tensors.
func NewBatch(inputs, targets *Tensor) (*Batch, error) {
	return createBatch(inputs, targets, func(c *call, targets C.troika_tensor, out *C.troika_batch) C.troika_status {
		return C.troika_batch_create(inputs.handle, targets, out, &c.error)
	})
}

// NewWeightedBatch creates a batch whose samples have weights f32 [n] in losses, for trainers with
// SampleWeights. Errors: those of NewBatch, ErrInvalidArgument (weights). Reads the tensors.
func NewWeightedBatch(inputs, targets, weights *Tensor) (*Batch, error) {
	return createBatch(inputs, targets, func(c *call, targets C.troika_tensor, out *C.troika_batch) C.troika_status {
		return C.troika_batch_create_weighted(inputs.handle, targets, weights.handle, out, &c.error)
	}, weights)
}

func createBatch(
	inputs, targets *Tensor, create func(c *call, targets C.troika_tensor, out *C.troika_batch) C.troika_status,
	others ...user,
) (*Batch, error) {
	var out C.troika_batch
	err := do(func(c *call) C.troika_status {
		var handle C.troika_tensor
		if targets != nil {
			c.use(targets)
			handle = targets.handle
		}
		return create(c, handle, &out)
	}, append([]user{inputs}, others...)...)
	if err != nil {
		return nil, err
	}
	return newBatch(out, inputs.shared), nil
}

// Close gives up the batch. The loader of a batch that is lent goes on.
func (b *Batch) Close() error { return closeUnlessNil(b) }

// Copy copies a batch, such as one of a loader that the program wants to keep. Errors:
// ErrInvalidArgument (a batch that its loader moved past), ErrOutOfMemory.
func (b *Batch) Copy() (*Batch, error) {
	var out C.troika_batch
	if err := do(func(c *call) C.troika_status { return C.troika_batch_copy(b.handle, &out, &c.error) }, b); err != nil {
		return nil, err
	}
	return newBatch(out, b.shared), nil
}

// Describe returns the shapes of inputs and targets. Errors: ErrInvalidArgument (a batch that its
// loader moved past).
func (b *Batch) Describe() (BatchInfo, error) {
	info := defaultBatchInfo
	err := do(func(c *call) C.troika_status { return C.troika_batch_describe(b.handle, &info, &c.error) }, b)
	return batchInfoOf(&info), err
}

// batchData copies memory of a batch.
func batchData[T any](b *Batch, lend func(info *C.troika_batch_info) []T) (data []T, err error) {
	info := defaultBatchInfo
	err = do(func(c *call) C.troika_status {
		status := C.troika_batch_describe(b.handle, &info, &c.error)
		if status == C.TROIKA_OK {
			data = append([]T(nil), lend(&info)...)
		}
		return status
	}, b)
	return data, err
}

func elementsOf(info *C.troika_batch_info) int64 {
	return product(numbers[int64](info.dims[:info.rank]))
}

// Inputs returns a copy of the inputs, row-major; nil if they are tokens.
func (b *Batch) Inputs() ([]float32, error) {
	return batchData(b, func(info *C.troika_batch_info) []float32 {
		return view[float32](info.inputs, elementsOf(info))
	})
}

// Tokens returns a copy of the inputs, row-major; nil if they are no tokens.
func (b *Batch) Tokens() ([]int32, error) {
	return batchData(b, func(info *C.troika_batch_info) []int32 {
		return view[int32](info.tokens, elementsOf(info))
	})
}

// Labels returns a copy of the labels [n, LabelSize]; nil without labels.
func (b *Batch) Labels() ([]int32, error) {
	return batchData(b, func(info *C.troika_batch_info) []int32 {
		return view[int32](info.labels, int64(info.n*info.label_size))
	})
}

// Weights returns a copy of the weights of the samples [n]; nil without weights: 1 each.
func (b *Batch) Weights() ([]float32, error) {
	return batchData(b, func(info *C.troika_batch_info) []float32 {
		return view[float32](info.weights, int64(info.n))
	})
}

// Values returns a copy of the values [n, ValueSize]; nil without values.
func (b *Batch) Values() ([]float32, error) {
	return batchData(b, func(info *C.troika_batch_info) []float32 {
		return view[float32](info.values, int64(info.n*info.value_size))
	})
}
