package troika_test

import (
	"strings"
	"sync"
	"testing"

	"troika"
)

func TestDefaultsAreTheLibrarys(t *testing.T) {
	context := troika.NewContextOptions()
	equal(t, "the log level", context.LogLevel, troika.LogLevel(troika.Unset))
	if context.CacheFolder != nil || context.UseEnvironment || context.CPUThreads != troika.Unset {
		t.Errorf("the options of a context are %+v", *context)
	}
	trainer := troika.NewTrainerOptions()
	equal(t, "the learning rate", trainer.LearningRate, 0.1)
	equal(t, "the loss", trainer.Loss, troika.LossCrossEntropy)
	equal(t, "the schedule", trainer.Schedule, troika.ScheduleConstant)
	equal(t, "beta1", trainer.Beta1, float64(troika.Unset))
	equal(t, "the mesh", trainer.Mesh, troika.Mesh{Layer: 1, Channel: 1})
	equal(t, "the bucket", trainer.BucketBytes, int64(1<<20))
	equal(t, "the stride", troika.NewConv2dOptions().Stride, [2]int64{1, 1})
	equal(t, "prefetch", troika.NewLoaderOptions().Prefetch, int32(2))
	equal(t, "a group's rate", troika.NewParameterGroup().LearningRate, -1.0)
	equal(t, "the deadline", troika.NewGroupOptions().DeadlineMs, int32(120000))
	equal(t, "the memory", troika.NewPlanOptions().MemoryBytes, int64(141e9))
	equal(t, "std", troika.NewDatasetOptions().Std, 1.0)
	equal(t, "the target size", troika.NewArrays().TargetSize, int64(1))
	equal(t, "labels", troika.NewSource().LabelSize, int64(1))
	equal(t, "loading", *troika.NewLoadOptions(), troika.LoadOptions{})
	equal(t, "saving", *troika.NewSaveOptions(), troika.SaveOptions{})
	equal(t, "forward", *troika.NewForwardOptions(), troika.ForwardOptions{})
	equal(t, "a pool's stride", troika.NewPool2dOptions().Stride, [2]int64{troika.Unset, troika.Unset})
}

func TestContext(t *testing.T) {
	options := troika.NewContextOptions()
	folder := t.TempDir()
	options.Backends, options.CacheFolder, options.CPUThreads = "cpu", &folder, 2
	c := troika.Must(troika.NewContext(options))
	defer c.Close()
	if text := troika.Must(c.DescribeBackends()); !strings.HasPrefix(text, "cpu") {
		t.Errorf("the backends are %q", text)
	}
	options.CPUThreads = 0
	_, err := troika.NewContext(options)
	fails(t, err, troika.ErrInvalidArgument, "cpu_threads is 0")
	options.Log = func(troika.LogLevel, string, string) {}
	_, err = troika.NewContext(options)
	fails(t, err, troika.ErrInvalidArgument, "cpu_threads is 0")
}

func TestDevices(t *testing.T) {
	c := newContext(t)
	if n := troika.Must(c.DeviceCount(troika.DeviceKindCPU)); n < 8 {
		t.Errorf("there are %d CPU devices", n)
	}
	_, err := c.DeviceCount(7)
	fails(t, err, troika.ErrInvalidArgument, "7")
	info := troika.Must(c.DescribeDevice(troika.CPU(0)))
	if info.Cores < 1 || info.MemoryBytes < 1<<20 || info.FreeBytes > info.MemoryBytes || info.Name == "" {
		t.Errorf("the device is %+v", info)
	}
	_, err = c.DescribeDevice(troika.CUDA(99))
	fails(t, err, troika.ErrDeviceUnavailable, "cuda:99")
	equal(t, "no GPU", troika.Must(c.TryDevice(99)), troika.CPU(0))
	_, err = c.TryDevice(-1)
	fails(t, err, troika.ErrInvalidArgument, "-1")
	if devices := troika.Must(c.Devices()); len(devices) < 1 || devices[0].Index != 0 {
		t.Errorf("the devices are %v", devices)
	}
	equal(t, "a device", troika.Must(troika.ParseDevice("cuda:3")), troika.CUDA(3))
	_, err = troika.ParseDevice("tpu")
	fails(t, err, troika.ErrInvalidArgument, "tpu")
	equal(t, "its text", troika.CPU(1).String(), "cpu:1")
	equal(t, "an unknown text", troika.Device{Kind: 7}.String(), "Device{7, 0}")
}

// A collector has the lines of a log.
type collector struct {
	mutex sync.Mutex
	lines []string
}

func (l *collector) log(level troika.LogLevel, topic, line string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.lines = append(l.lines, level.String()+" "+topic+" "+line)
}

func (l *collector) text() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Join(l.lines, "\n")
}

func TestLog(t *testing.T) {
	var lines collector
	options := troika.NewContextOptions()
	options.Log, options.LogLevel, options.LogTopics = lines.log, troika.LogLevelDebug, "plan=debug"
	c := troika.Must(troika.NewContext(options))
	defer c.Close()
	trainer, batch := newRegression(c, nil)
	troika.Must(trainer.Step(batch))
	if !strings.Contains(lines.text(), "Debug plan ") {
		t.Errorf("the log is %q", lines.text())
	}
}

func TestPanicOfALogContinuesInTheNextCall(t *testing.T) {
	options := troika.NewContextOptions()
	mine := &struct{ reason string }{"mine"}
	armed := true
	options.Log = func(troika.LogLevel, string, string) {
		if armed {
			armed = false
			panic(mine)
		}
	}
	options.LogLevel = troika.LogLevelDebug
	c := troika.Must(troika.NewContext(options))
	defer c.Close()
	found := panics(t, func() {
		trainer, batch := newRegression(c, nil)
		troika.Must(trainer.Step(batch))
		trainer.Describe()
	})
	equal(t, "the value of the panic", found, mine)
	troika.Must(c.DescribeDevice(troika.CPU(0)))
}

func TestPlans(t *testing.T) {
	c := newContext(t)
	model := troika.Must(troika.NewModel(c, "d2l_lenet", nil))
	options := troika.NewPlanOptions()
	options.Devices, options.Trainer = 4, troika.NewTrainerOptions()
	options.Trainer.Momentum = 0.9
	plan := troika.Must(model.EstimatePlan(options, &troika.Mesh{Data: 2, Layer: 2}))
	equal(t, "the mesh", plan.Mesh, troika.Mesh{Data: 2, Layer: 2, Channel: 1})
	if !plan.Fits || plan.Seconds <= 0 || plan.OptimizerBytes <= 0 || plan.Bubble <= 0 ||
		plan.TotalBytes != plan.ParameterBytes+plan.GradientBytes+plan.OptimizerBytes+plan.ActivationBytes {
		t.Errorf("the plan is %+v", plan)
	}
	equal(t, "all share the batch", troika.Must(model.EstimatePlan(options, nil)).Mesh, troika.Mesh{Data: 4, Layer: 1, Channel: 1})
	_, err := model.EstimatePlan(options, &troika.Mesh{Data: 3})
	fails(t, err, troika.ErrInvalidArgument, "mesh")

	chosen := troika.Must(model.ChoosePlan(options))
	equal(t, "its devices", chosen.Mesh.Data*chosen.Mesh.Layer*chosen.Mesh.Channel, int32(4))
	options.MemoryBytes = 1
	_, err = model.ChoosePlan(options)
	fails(t, err, troika.ErrNotFound, "")
}
