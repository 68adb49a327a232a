package troika_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"troika"
)

// zeros returns the zero values of the arguments of a function. A variadic one has one value.
func zeros(function reflect.Type) []reflect.Value {
	var arguments []reflect.Value
	for i := 0; i < function.NumIn(); i++ {
		kind := function.In(i)
		if function.IsVariadic() && i == function.NumIn()-1 {
			kind = kind.Elem()
		}
		arguments = append(arguments, reflect.Zero(kind))
	}
	return arguments
}

// errorOf returns the last result of a call, which is nil if it is no error.
func errorOf(results []reflect.Value) error {
	err, _ := results[len(results)-1].Interface().(error)
	return err
}

// Every method of nil and of a zero value returns an error that says so.
func TestMethodsRefuseNil(t *testing.T) {
	var methods int
	for name, object := range map[string]io.Closer{
		"context": new(troika.Context), "dataset": new(troika.Dataset), "loader": new(troika.Loader), "batch": new(troika.Batch),
		"model": new(troika.Model), "trainer": new(troika.Trainer), "pending": new(troika.Pending), "tensor": new(troika.Tensor),
		"gradients": new(troika.Gradients), "group": new(troika.Group), "dlpack": new(troika.DLPack),
	} {
		for _, receiver := range []reflect.Value{reflect.Zero(reflect.TypeOf(object)), reflect.ValueOf(object)} {
			wanted := name + " is a zero value, need one that this package made"
			if receiver.IsNil() {
				wanted = name + " is nil, need one"
			}
			for i := 0; i < receiver.NumMethod(); i++ {
				method := receiver.Method(i)
				arguments := zeros(method.Type())
				for i, argument := range arguments {
					if argument.Type() == reflect.TypeOf(&background).Elem() {
						arguments[i] = reflect.ValueOf(background)
					}
				}
				results := method.Call(arguments)
				methods++
				switch receiver.Type().Method(i).Name {
				case "Close":
					equal(t, "closing a "+name, errorOf(results), nil)
				case "String":
					equal(t, "the text", results[0].String(), wanted)
				case "Done":
					<-results[0].Interface().(<-chan struct{})
				case "Epoch":
					epoch := results[0].Interface().(*troika.Epoch)
					equal(t, "a batch", epoch.Next(), false)
					fails(t, epoch.Err(), troika.ErrInvalidArgument, wanted)
				default:
					fails(t, errorOf(results), troika.ErrInvalidArgument, wanted)
				}
			}
		}
	}
	if methods < 300 {
		t.Errorf("there are %d methods, wanted all of nil and of zero values", methods)
	}
}

// No argument that is nil, 0 or "" makes a method panic, and none has an error of several lines.
func TestMethodsWithZeroArguments(t *testing.T) {
	c := newContext(t)
	trainer, loader := newTraining(c, 8)
	batch := troika.Must(loader.Next())
	tensor := newNumbers(c, []float32{1, 2}, 2)
	for _, object := range []io.Closer{
		newImages(c, 8), newMLP(c), tensor, batch, troika.Must(troika.NewGradients(c)), troika.Must(troika.NewGroup(c, nil)),
		troika.Must(tensor.ToDLPack()), troika.Must(trainer.StepAsync(batch, nil)), trainer, loader, c,
	} {
		value := reflect.ValueOf(object)
		for i := 0; i < value.NumMethod(); i++ {
			name := value.Type().Method(i).Name
			if name == "Close" || name == "Done" {
				continue
			}
			err := errorOf(value.Method(i).Call(zeros(value.Method(i).Type())))
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error of %s has several lines: %v", name, err)
			}
		}
	}
}

// Every function that takes an object refuses nil.
func TestFunctionsRefuseNil(t *testing.T) {
	functions := map[string]any{
		"AllReduce": troika.AllReduce, "ConcatDatasets": troika.ConcatDatasets, "ConcatTensors": troika.ConcatTensors,
		"FromHost": troika.FromHost[float32], "NewArangeTensor": troika.NewArangeTensor, "NewBatch": troika.NewBatch,
		"NewCallbackDataset": func(context *troika.Context) (*troika.Dataset, error) {
			return troika.NewCallbackDataset(context, &troika.Source{Read: func(*troika.ReadRequest) (int64, error) { return 0, nil }})
		},
		"NewDatasetFrom": func(context *troika.Context) (*troika.Dataset, error) {
			return troika.NewDatasetFrom(context, []float32{1}, []int32{1}, &troika.Arrays{TargetSize: 1, Release: func() {}})
		},
		"NewEmptyModel": troika.NewEmptyModel, "NewFullTensor": troika.NewFullTensor, "NewGradients": troika.NewGradients,
		"NewGroup": troika.NewGroup, "NewLabelDataset": func(context *troika.Context) (*troika.Dataset, error) {
			return troika.NewLabelDataset(context, []float32{1}, []int32{1})
		},
		"NewLoader": troika.NewLoader, "NewModel": troika.NewModel, "NewNormalTensor": troika.NewNormalTensor,
		"NewSyntheticDataset": troika.NewSyntheticDataset, "NewTensor": troika.NewTensor[float32],
		"NewTokenDataset": func(context *troika.Context) (*troika.Dataset, error) {
			return troika.NewTokenDataset(context, []int32{1}, 1, []int32{1}, 1, 0)
		},
		"NewTokenStreamDataset": troika.NewTokenStreamDataset[int32], "NewUniformTensor": troika.NewUniformTensor,
		"NewValueDataset": func(context *troika.Context) (*troika.Dataset, error) {
			return troika.NewValueDataset(context, []float32{1}, []float32{1}, 1)
		},
		"NewWeightedBatch": troika.NewWeightedBatch, "OpenDirectory": troika.OpenDirectory, "OpenIDX": troika.OpenIDX,
		"OpenModel": troika.OpenModel, "OpenModelMemory": troika.OpenModelMemory, "Predict": troika.Predict[float32],
		"PredictInto": troika.PredictInto[float32], "TensorFromDLPack": troika.TensorFromDLPack, "ToHost": troika.ToHost[float32],
		"Values": troika.Values[float32],
	}
	takesAnObject := regexp.MustCompile(
		`(?m)^func ([A-Z]\w*)[\[(][^{]*[*](?:Context|Dataset|Loader|Batch|Model|Trainer|Tensor|DLPack)\b[^{]*[,)] [^{]*\{$`)
	found := map[string]bool{}
	for _, path := range troika.Must(filepath.Glob("*.go")) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, match := range takesAnObject.FindAllStringSubmatch(string(troika.Must(os.ReadFile(path))), -1) {
			found[match[1]] = true
		}
	}
	for name := range found {
		if functions[name] == nil && name != "NewContext" {
			t.Errorf("%s is not tried", name)
		}
	}
	for name, function := range functions {
		value := reflect.ValueOf(function)
		err := errorOf(value.Call(zeros(value.Type())))
		if fails(t, err, troika.ErrInvalidArgument, " is nil, need one"); t.Failed() {
			t.Fatalf("that was %s", name)
		}
	}
}

func TestNilAmongObjects(t *testing.T) {
	c := newContext(t)
	trainer, loader := newTraining(c, 8)
	tensor := newNumbers(c, []float32{1}, 1)
	fails(t, third(troika.ConcatDatasets(newImages(c, 8), nil)), troika.ErrInvalidArgument, "dataset is nil")
	fails(t, third(troika.ConcatTensors(0, tensor, nil)), troika.ErrInvalidArgument, "tensor is nil")
	fails(t, third(troika.NewBatch(nil, tensor)), troika.ErrInvalidArgument, "tensor is nil")
	fails(t, third(trainer.TrainEpoch(background, new(troika.Loader))), troika.ErrInvalidArgument, "loader is a zero value")
	options := troika.NewTrainerOptions()
	options.Group = new(troika.Group)
	fails(t, third(newLinear(c).Attach(troika.CPUs(1), options)), troika.ErrInvalidArgument, "group is a zero value")
	var none context.Context
	fails(t, third(trainer.TrainEpoch(none, loader)), troika.ErrInvalidArgument, "ctx is nil")
	pending := troika.Must(trainer.StepAsync(troika.Must(loader.Next()), nil))
	fails(t, third(pending.Wait(none)), troika.ErrInvalidArgument, "ctx is nil")
	troika.Must(pending.Wait(background))
	pack := troika.NewDLPack(nil, false)
	fails(t, third(pack.Take()), troika.ErrInvalidArgument, "dlpack is a zero value")
	equal(t, "closing it", pack.Close(), nil)
}
