package troika_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"troika"
)

func TestStep(t *testing.T) {
	trainer, batch := newRegression(newContext(t), nil)
	result := troika.Must(trainer.Step(batch))
	equal(t, "the result", []any{result.Loss, result.Samples, result.Step, result.LearningRate, result.Status},
		[]any{2.25, int64(1), int64(1), 0.1, troika.StatusOK})
	equal(t, "the gradient", troika.Must(trainer.GetGradient("fc.weight")), []float32{9, 12})
	weight := troika.Must(trainer.GetParameter("fc.weight", troika.CPU(0)))
	near(t, "the first weight", float64(weight[0]), 1-0.9)
	near(t, "the second weight", float64(weight[1]), 2-1.2)
	equal(t, "the model's weight", troika.Must(troika.Must(trainer.Unwrap()).GetParameter("fc.weight")), weight)

	_, err := trainer.GetParameter("fc.weight", troika.CPU(1))
	fails(t, err, troika.ErrNotOnDevice, "cpu:1")
	_, err = trainer.GetParameter("none", troika.CPU(0))
	fails(t, err, troika.ErrNotFound, "none")
	_, err = trainer.GetGradient("none")
	fails(t, err, troika.ErrNotFound, "none")
	_, err = trainer.GetCounter("fc.bias", troika.CPU(0))
	fails(t, err, troika.ErrInvalidArgument, "fc.bias")

	troika.Check(trainer.RequestStop())
	equal(t, "a stop", troika.Must(trainer.Step(batch)).Status, troika.StatusStopped)
	troika.Check(trainer.RequestStop())
	troika.Check(trainer.ClearStop())
	equal(t, "no stop", troika.Must(trainer.Step(batch)).Step, int64(2))
}

func TestSkippedStep(t *testing.T) {
	c := newContext(t)
	options := troika.NewTrainerOptions()
	options.SkipNotFinite, options.Loss = true, troika.LossMeanSquaredError
	trainer := troika.Must(newLinear(c).Attach(troika.CPUs(1), options))
	inputs := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{3e38, 3e38}, 1, 2))
	targets := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{10}, 1, 1))
	result := troika.Must(trainer.Step(troika.Must(troika.NewBatch(inputs, targets))))
	equal(t, "the status", result.Status, troika.StatusStepSkipped)
	equal(t, "the weight", troika.Must(trainer.GetParameter("fc.weight", troika.CPU(0))), []float32{1, 2})
}

// The pieces of a step compute what the step computes, and accept other gradients in between.
func TestPieces(t *testing.T) {
	c := newContext(t)
	trainer, batch := newRegression(c, nil)
	options := troika.NewForwardOptions()
	options.InputGradient = true
	output, result, err := trainer.ForwardOutput(batch, options)
	troika.Check(err)
	equal(t, "the output", troika.Must(troika.Values[float32](output)), []float32{11.5})
	equal(t, "the loss", result.Loss, 2.25)
	troika.Check(trainer.Backward(nil))
	gradient := make([]float32, 2)
	troika.Check(trainer.GetInputGradient(gradient))
	equal(t, "the gradient of the inputs", gradient, []float32{3, 6})
	troika.Check(trainer.SetGradient("fc.weight", []float32{10, 20}))
	equal(t, "the step", troika.Must(trainer.Apply()).Step, int64(1))
	weight := troika.Must(trainer.GetParameter("fc.weight", troika.CPU(0)))
	near(t, "the first weight", float64(weight[0]), 1-0.1*10)
	near(t, "the second weight", float64(weight[1]), 2-0.1*20)

	options = troika.NewForwardOptions()
	options.OwnLoss = true
	equal(t, "the samples", troika.Must(trainer.Forward(batch, options)).Samples, int64(1))
	fails(t, trainer.Backward(nil), troika.ErrInvalidArgument, "gradient")
	own := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{2}, 1, 1))
	troika.Check(trainer.Backward(own))
	equal(t, "my gradient", troika.Must(trainer.GetGradient("fc.weight")), []float32{6, 8})
	fails(t, trainer.Backward(own), troika.ErrNotInitialized, "")
	fails(t, trainer.GetInputGradient(gradient), troika.ErrNotInitialized, "")
	fails(t, trainer.SetGradient("fc.weight", gradient[:1]), troika.ErrInvalidArgument, "fc.weight")
	troika.Must(trainer.Apply())
	_, err = trainer.Apply()
	fails(t, err, troika.ErrNotInitialized, "")

	troika.Check(trainer.RequestStop())
	output, result, err = trainer.ForwardOutput(batch, nil)
	if output != nil || err != nil || result.Status != troika.StatusStopped {
		t.Errorf("a stopped pass returned %v, %v, %v", output, result.Status, err)
	}
	other, _ := newRegression(c, nil)
	troika.Must(other.Step(batch))
	pieces, _ := newRegression(c, nil)
	troika.Must(pieces.Forward(batch, nil))
	troika.Check(pieces.Backward(nil))
	troika.Must(pieces.Apply())
	equal(t, "the bits of a step", troika.Must(pieces.GetParameter("fc.weight", troika.CPU(0))),
		troika.Must(other.GetParameter("fc.weight", troika.CPU(0))))
}

// Ways to train an epoch, all of which compute the same bits.
func TestEpochs(t *testing.T) {
	c := newContext(t)
	weights := func(trainer *troika.Trainer) []float32 {
		return troika.Must(trainer.GetParameter("fc1.weight", troika.CPU(0)))
	}
	trainer, loader := newTraining(c, 20)
	metrics := troika.Must(trainer.TrainEpoch(background, loader))
	equal(t, "samples", []any{metrics.Samples, metrics.Labels, metrics.Status}, []any{int64(20), int64(20), troika.StatusOK})
	wanted := weights(trainer)

	trainer, loader = newTraining(c, 20)
	epoch := loader.Epoch()
	for epoch.Next() {
		troika.Must(trainer.Step(epoch.Batch()))
	}
	troika.Check(epoch.Err())
	equal(t, "the bits of steps", weights(trainer), wanted)

	trainer, loader = newTraining(c, 20)
	equal(t, "the first batches", troika.Must(trainer.TrainBatches(background, loader, 2)).Status, troika.StatusOK)
	equal(t, "the end", troika.Must(trainer.TrainBatches(background, loader, 2)).Status, troika.StatusEndOfData)
	equal(t, "the bits of batches", weights(trainer), wanted)
	_, err := trainer.TrainBatches(background, loader, 0)
	fails(t, err, troika.ErrInvalidArgument, "batches is 0")

	trainer, loader = newTraining(c, 20, troika.CPUs(2)...)
	troika.Check(trainer.DivideLoader(loader))
	troika.Must(trainer.TrainEpoch(background, loader))
	troika.Check(trainer.CheckReplicas())
	for i, value := range weights(trainer) {
		near(t, "a weight of two devices", float64(value), float64(wanted[i]))
	}
	equal(t, "the devices", troika.Must(trainer.GetDevices()), []troika.Device{troika.CPU(0), troika.CPU(1)})
}

func TestEvaluationsAndPredictions(t *testing.T) {
	c := newContext(t)
	trainer, loader := newTraining(c, 20, troika.CPUs(2)...)
	for i := 0; i < 20; i++ {
		troika.Must(trainer.TrainEpoch(background, loader))
	}
	metrics := troika.Must(trainer.Evaluate(background, loader))
	if metrics.Accuracy < 0.9 || metrics.Accuracy != float64(metrics.Correct)/20 {
		t.Errorf("the accuracy is %v", metrics.Accuracy)
	}
	alone := troika.Must(trainer.EvaluateOn(background, troika.CPU(1), loader))
	near(t, "the loss on one device", alone.Loss, metrics.Loss)
	_, err := trainer.EvaluateOn(background, troika.CPU(2), loader)
	fails(t, err, troika.ErrNotOnDevice, "cpu:2")

	outputs := make([]float32, 20*4)
	n, status, err := trainer.PredictLoader(background, loader, outputs)
	equal(t, "samples", []any{n, status, err}, []any{int64(20), troika.StatusOK, nil})
	correct := int64(0)
	for i := 0; i < 20; i++ {
		if troika.Argmax(outputs[4*i:4*i+4]) == i%4 {
			correct++
		}
	}
	equal(t, "correct samples", correct, metrics.Correct)
	_, _, err = trainer.PredictLoader(background, loader, outputs[:4])
	fails(t, err, troika.ErrInvalidArgument, "16")

	troika.Check(loader.Seek(troika.LoaderPosition{}))
	batch := troika.Must(troika.Must(loader.Next()).Copy())
	result := troika.Must(trainer.EvaluateBatch(batch))
	equal(t, "samples of the batch", result.Samples, int64(8))
	some := make([]float32, 8*4)
	troika.Check(trainer.PredictBatch(batch, some))
	fails(t, trainer.PredictBatch(batch, some[:4]), troika.ErrInvalidArgument, "16")
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), troika.Must(batch.Inputs()), 8, 1, 4, 4))
	equal(t, "the output of a tensor", troika.Must(troika.Values[float32](troika.Must(trainer.Predict(tensor)))), some)
	for i := range some {
		near(t, "an output", float64(some[i]), float64(outputs[i]))
	}
}

// Options keep all their fields on the way to the library and back.
func TestOptionsOfTrainers(t *testing.T) {
	c := newContext(t)
	options := troika.NewTrainerOptions()
	options.LearningRate, options.Optimizer, options.WeightDecay = 0.5, troika.OptimizerAdamW, 0.01
	options.Schedule, options.ScheduleMilestones = troika.ScheduleMultiStep, []int64{1, 3}
	options.AverageDecay, options.MaxGradientNorm, options.CollectTrace = 0.9, 1, true
	group := troika.NewParameterGroup()
	group.Pattern, group.LearningRate = "*.bias", 0.25
	frozen := troika.NewParameterGroup()
	frozen.Pattern, frozen.Frozen = "fc1.*", true
	options.Groups = []troika.ParameterGroup{frozen, group}
	trainer := troika.Must(newMLP(c).Attach(troika.CPUs(1), options))
	wanted := *options
	wanted.Beta1, wanted.Beta2, wanted.Eps, wanted.LossScale, wanted.Mesh.Data = 0.9, 0.999, 1e-8, 0, 1
	found := *troika.Must(trainer.GetOptions())
	if found.LossScale == 1 {
		wanted.LossScale = 1
	}
	equal(t, "the options", found, wanted)
	again := troika.Must(newMLP(c).Attach(troika.CPUs(1), &found))
	equal(t, "options of another trainer", *troika.Must(again.GetOptions()), wanted)
	equal(t, "trained parameters", troika.Must(trainer.Describe()).TrainedEntries, int32(2))

	loader := troika.Must(troika.NewLoader(newImages(c, 8), 8, nil))
	troika.Must(trainer.TrainEpoch(background, loader))
	near(t, "the scheduled rate", troika.Must(trainer.GetLearningRate(-1)), 0.05)
	near(t, "a group's rate", troika.Must(trainer.GetLearningRate(1)), 0.025)
	troika.Check(trainer.SetLearningRate(1, 0.4))
	near(t, "its new rate", troika.Must(trainer.GetLearningRate(1)), 0.04)
	fails(t, trainer.SetLearningRate(-1, -1), troika.ErrInvalidArgument, "-1")
	_, err := trainer.GetLearningRate(2)
	fails(t, err, troika.ErrInvalidArgument, "2")
	troika.Check(trainer.SetOption(0, troika.OptionFrozen, 0))
	equal(t, "thawed", troika.Must(trainer.GetOption(0, troika.OptionFrozen)), 0.0)
	fails(t, trainer.SetOption(-1, troika.OptionTrust, 1), troika.ErrInvalidArgument, "")
	_, err = trainer.GetOption(-1, troika.OptionTrust)
	fails(t, err, troika.ErrInvalidArgument, "")
	fails(t, trainer.ReportMetric(1), troika.ErrInvalidArgument, "")

	options = troika.NewTrainerOptions()
	options.Schedule, options.SchedulePatience = troika.SchedulePlateau, 0
	plateau, _ := newRegression(c, options)
	troika.Check(plateau.ReportMetric(1))
	troika.Check(plateau.ReportMetric(2))
	near(t, "the rate on a plateau", troika.Must(plateau.GetLearningRate(-1)), 0.01)

	options.Schedule, options.ScheduleTable = troika.ScheduleTable, []float64{0.5, 2}
	table, _ := newRegression(c, options)
	near(t, "the rate of a table", troika.Must(table.GetLearningRate(-1)), 0.05)

	options.Momentum = 2
	_, err = newLinear(c).Attach(troika.CPUs(1), options)
	fails(t, err, troika.ErrInvalidArgument, "momentum is 2")
	_, err = newLinear(c).Attach(nil, nil)
	fails(t, err, troika.ErrInvalidArgument, "device_count is 0")
	options.LayerCuts = "a\x00b"
	_, err = newLinear(c).Attach(troika.CPUs(1), options)
	fails(t, err, troika.ErrInvalidArgument, "NUL")
}

func TestDescriptionsOfTrainers(t *testing.T) {
	c := newContext(t)
	options := troika.NewTrainerOptions()
	options.CollectTrace = true
	trainer, batch := newRegression(c, options)
	_, err := trainer.Trace()
	fails(t, err, troika.ErrNotInitialized, "trace")
	troika.Must(trainer.Step(batch))
	info := troika.Must(trainer.Describe())
	equal(t, "the trainer", []any{info.DeviceCount, info.Step, info.TrainedElements, info.IsUsable, info.Mesh.Data},
		[]any{int32(1), int64(1), int64(3), true, int32(1)})
	memory := troika.Must(trainer.Memory(0))
	equal(t, "memory", []any{memory.Plans, memory.ParameterBytes >= 12}, []any{int32(1), true})
	_, err = trainer.Memory(1)
	fails(t, err, troika.ErrNotFound, "1")
	if text := troika.Must(trainer.Trace()); !strings.HasPrefix(text, "0 ") {
		t.Errorf("the trace is %q", text)
	}
	path := in(t, "trace.json")
	troika.Check(trainer.SaveTrace(path))
	var trace struct{ TraceEvents []any }
	troika.Check(json.Unmarshal(troika.Must(os.ReadFile(path)), &trace))
	equal(t, "events in the file", len(trace.TraceEvents) > 2, true)

	text, status, err := trainer.Explain(4)
	if err != nil || status != troika.StatusOK || !strings.Contains(text, "linear") {
		t.Errorf("the plan is %q, status %v, error %v", text, status, err)
	}
	_, _, err = trainer.Explain(0)
	fails(t, err, troika.ErrInvalidArgument, "0")
	var described struct{ Model any }
	troika.Check(json.Unmarshal([]byte(troika.Must(trainer.ToJSON())), &described))
	equal(t, "a model in JSON", described.Model != nil, true)
}

func TestStates(t *testing.T) {
	c := newContext(t)
	path := in(t, "state.safetensors")
	trainer, loader := newTraining(c, 20)
	troika.Must(trainer.TrainBatches(background, loader, 1))
	troika.Check(trainer.Save(path))
	loss := troika.Must(trainer.TrainEpoch(background, loader)).Loss

	resumed, other := newTraining(c, 20)
	position := troika.Must(resumed.Load(path))
	equal(t, "the position", position, troika.LoaderPosition{Batch: 1, Batches: 3})
	troika.Check(other.Seek(position))
	equal(t, "the same loss", troika.Must(resumed.TrainEpoch(background, other)).Loss, loss)
	troika.Must(resumed.Load(path))
	shuffled := troika.NewLoaderOptions()
	shuffled.Shuffle = true
	other = troika.Must(troika.NewLoader(newImages(c, 20), 8, shuffled))
	troika.Check(other.Seek(position))
	_, err := resumed.Step(troika.Must(other.Next()))
	fails(t, err, troika.ErrInvalidArgument, "order")
	troika.Check(resumed.LoadInAnyOrder(path))
	equal(t, "any order", troika.Must(resumed.Step(troika.Must(other.Next()))).Step, int64(2))
	troika.Must(resumed.Load(path))
	troika.Check(other.Seek(troika.LoaderPosition{}))
	equal(t, "a loader that is not moved", troika.Must(resumed.Step(troika.Must(other.Next()))).Step, int64(2))

	options := troika.NewSaveOptions()
	options.Keep, options.InBackground = 1, true
	troika.Check(trainer.SaveWith(path, options))
	troika.Check(trainer.WaitSave())
	newest := troika.Must(troika.NewestFile(path))
	equal(t, "the newest file", strings.HasSuffix(newest, "state-000000000003.safetensors"), true)
	troika.Must(troika.OpenModel(c, newest))
	options.Keep = -1
	fails(t, trainer.SaveWith(path, options), troika.ErrInvalidArgument, "keep is -1")
	fails(t, trainer.Save("/nowhere/state"), troika.ErrIO, "/nowhere/state")
	fails(t, trainer.SaveAverage(path), troika.ErrInvalidArgument, "average_decay")
	_, err = trainer.Load(path + "x")
	fails(t, err, troika.ErrNotFound, "state.safetensorsx")
	regression, _ := newRegression(c, nil)
	_, err = regression.Load(path)
	fails(t, err, troika.ErrMismatch, "")

	settings := troika.NewTrainerOptions()
	settings.AverageDecay = 0.5
	averaged, batch := newRegression(c, settings)
	troika.Must(averaged.Step(batch))
	troika.Check(averaged.SaveAverage(path))
	average := troika.Must(troika.Must(troika.OpenModel(c, path)).GetParameter("fc.weight"))
	near(t, "the average", float64(average[0]), 1-0.45)
}

func TestCountersOfTrainers(t *testing.T) {
	c := newContext(t)
	m := troika.Must(troika.NewEmptyModel(c, "net"))
	x := troika.Must(m.AddInput("x", 1, 2, 2))
	x = troika.Must(m.AddBatchNorm2d("norm", x, 1e-5, 0.1))
	troika.Check(m.SetOutput(troika.Must(m.AddFlatten("flatten", x))))
	trainer := troika.Must(m.Attach(troika.CPUs(1), nil))
	dataset := troika.Must(troika.NewSyntheticDataset(c, 8, 4, 0, 1, 2, 2))
	troika.Must(trainer.TrainEpoch(background, troika.Must(troika.NewLoader(dataset, 4, nil))))
	equal(t, "batches", troika.Must(trainer.GetCounter("norm.num_batches_tracked", troika.CPU(0))), int64(2))
}

func TestDetachedTrainer(t *testing.T) {
	c := newContext(t)
	m := newLinear(c)
	options := troika.NewTrainerOptions()
	options.Loss = troika.LossMeanSquaredError
	first := troika.Must(m.Attach(troika.CPUs(1), options))
	troika.Must(m.Attach(troika.CPUs(1), options))
	_, err := first.Step(newSample(c))
	fails(t, err, troika.ErrDetached, "")
	_, err = first.Unwrap()
	fails(t, err, troika.ErrDetached, "")
}
