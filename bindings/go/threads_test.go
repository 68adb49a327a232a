package troika_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"troika"
)

// together runs a function in several goroutines.
func together(n int, function func(i int)) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			defer all.Done()
			function(i)
		}(i)
	}
	all.Wait()
}

func TestThreadsPredictTogether(t *testing.T) {
	c := newContext(t)
	m := newLinear(c)
	clone := troika.Must(m.Clone())
	data := troika.Must(m.SaveMemory())
	together(8, func(i int) {
		for j := 0; j < 20; j++ {
			if i == 0 { // newer values, through a clone
				troika.Must(clone.LoadMemory(data, nil))
				continue
			}
			x := float32(i*20 + j)
			equal(t, "a prediction", troika.Must(troika.Predict(m, troika.CPU(0), []float32{x, x})), []float32{3*x + 0.5})
		}
	})
}

func TestThreadsMeetABusyTrainer(t *testing.T) {
	trainer, loader := newTraining(newContext(t), 80)
	var once sync.Once
	entered, left := make(chan struct{}), make(chan struct{})
	troika.Check(trainer.SetProgress(func(troika.Progress) error {
		once.Do(func() {
			close(entered)
			<-left
		})
		return nil
	}))
	go func() {
		defer close(left)
		<-entered
		together(4, func(int) {
			_, err := trainer.Describe()
			fails(t, err, troika.ErrBusy, "trainer")
			_, err = trainer.TrainEpoch(background, loader)
			fails(t, err, troika.ErrBusy, "")
			_, err = loader.Next()
			fails(t, err, troika.ErrBusy, "loader")
			_, err = trainer.Unwrap()
			fails(t, err, troika.ErrBusy, "")
			equal(t, "a setting", errors.Is(trainer.SetProgress(nil), troika.ErrBusy), true)
		})
		troika.Check(trainer.RequestStop())
	}()
	metrics := troika.Must(trainer.TrainEpoch(background, loader))
	equal(t, "the stopped epoch", []any{metrics.Samples, metrics.Status}, []any{int64(8), troika.StatusStopped})
}

func TestThreadsCloseTogether(t *testing.T) {
	c := newContext(t)
	for i := 0; i < 20; i++ {
		m := newLinear(c)
		together(4, func(i int) {
			if i == 0 {
				m.Close()
				return
			}
			for {
				scores, err := troika.Predict(m, troika.CPU(0), []float32{3, 4})
				if err != nil {
					fails(t, err, troika.ErrClosed, "model is closed")
					return
				}
				equal(t, "a prediction", scores, []float32{11.5})
			}
		})
	}
}

func TestThreadsWithObjectsOfTheirOwn(t *testing.T) {
	together(3, func(i int) {
		c := troika.Must(troika.NewContext(nil))
		defer c.Close()
		trainer, loader := newTraining(c, 20)
		equal(t, "samples", troika.Must(trainer.TrainEpoch(background, loader)).Samples, int64(20))
	})
}

// Two ranks in one process, each in a goroutine of its own.
func TestGroups(t *testing.T) {
	path := "file://" + in(t, "rendezvous")
	together(2, func(rank int) {
		c := troika.Must(troika.NewContext(nil))
		defer c.Close()
		options := troika.NewGroupOptions()
		options.Rank, options.Processes, options.Rendezvous, options.DeadlineMs = int32(rank), 2, path, 20000
		g := troika.Must(troika.NewGroup(c, options))
		defer g.Close()
		info := troika.Must(g.Describe())
		equal(t, "the place", []any{info.Rank, info.Processes, info.Nodes}, []any{int32(rank), int32(2), int32(1)})
		troika.Check(g.Barrier())

		values := func(tensor *troika.Tensor) []int32 { return troika.Must(troika.Values[int32](tensor)) }
		tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []int32{int32(rank), 10}, 2))
		troika.Check(g.AllReduce(tensor))
		equal(t, "the sum", values(tensor), []int32{1, 20})
		troika.Check(troika.FromHost(tensor, []int32{int32(rank), 7}))
		equal(t, "all", values(troika.Must(g.AllGather(tensor))), []int32{0, 7, 1, 7})
		equal(t, "my row", values(troika.Must(g.ReduceScatter(tensor))), []int32{[]int32{1, 14}[rank]})
		troika.Check(g.Broadcast(tensor, 1))
		equal(t, "that of rank 1", values(tensor), []int32{1, 7})
		if rank == 0 {
			troika.Check(troika.FromHost(tensor, []int32{5, 6}))
			troika.Check(g.Send(tensor, 1))
		} else {
			troika.Check(g.Receive(tensor, 0))
			equal(t, "the message", values(tensor), []int32{5, 6})
		}
		fails(t, g.Broadcast(tensor, 2), troika.ErrInvalidArgument, "2")

		settings := troika.NewTrainerOptions()
		settings.Group = g
		trainer := troika.Must(newMLP(c).Attach(troika.CPUs(1), settings))
		shuffled := troika.NewLoaderOptions()
		shuffled.Group = g
		loader := troika.Must(troika.NewLoader(newImages(c, 16), 8, shuffled))
		equal(t, "my share of a batch", troika.Must(troika.Must(loader.Next()).Describe()).N, int64(4))
		whole := troika.Must(troika.NewLoader(newImages(c, 16), 8, nil))
		equal(t, "samples of both", troika.Must(trainer.TrainEpoch(background, whole)).Samples, int64(16))
		troika.Check(trainer.CheckReplicas())
		equal(t, "the group of the options", troika.Must(trainer.GetOptions()).Group, g)
	})
}

func TestGroupAlone(t *testing.T) {
	g := troika.Must(troika.NewGroup(newContext(t), nil))
	equal(t, "the place", troika.Must(g.Describe()), troika.GroupInfo{Processes: 1, LocalProcesses: 1, Nodes: 1})
	options := troika.NewGroupOptions()
	options.Rank = 3
	_, err := troika.NewGroup(newContext(t), options)
	fails(t, err, troika.ErrInvalidArgument, "processes")
}

func TestThreadsWaitForAStep(t *testing.T) {
	trainer, batch := newRegression(newContext(t), nil)
	pending := troika.Must(trainer.StepAsync(batch, func(troika.StepResult, error) { time.Sleep(5 * time.Millisecond) }))
	together(4, func(int) {
		equal(t, "the loss", troika.Must(pending.Wait(background)).Loss, 2.25)
	})
}
