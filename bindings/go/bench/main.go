// Bench measures the binding: bench [SAMPLES]
//
// It prints the nanoseconds of a trivial call, and of the description of a tensor. It then prints
// the images per second of LeNet with batches of 16 on one device: by TrainEpoch, and by a loop of
// steps. The best of five runs counts.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"troika"
)

const (
	runs  = 5
	calls = 200_000
)

// best returns the shortest time of a few runs, in seconds.
func best(run func()) float64 {
	shortest := time.Duration(1<<63 - 1)
	for i := 0; i < runs; i++ {
		begin := time.Now()
		run()
		if elapsed := time.Since(begin); elapsed < shortest {
			shortest = elapsed
		}
	}
	return shortest.Seconds()
}

func main() {
	samples := int64(8000)
	if len(os.Args) > 1 {
		samples = troika.Must(strconv.ParseInt(os.Args[1], 10, 64))
	}
	fmt.Printf("call ns %.0f\n", 1e9/calls*best(func() {
		for i := 0; i < calls; i++ {
			troika.Version()
		}
	}))
	c := troika.Must(troika.NewContext(nil))
	tensor := troika.Must(troika.NewTensor(c, troika.CPU(0), []float32{1}, 1))
	fmt.Printf("describe ns %.0f\n", 1e9/calls*best(func() {
		for i := 0; i < calls; i++ {
			troika.Must(tensor.Describe())
		}
	}))

	dataset := troika.Must(troika.NewSyntheticDataset(c, samples, 10, 0, 1, 28, 28))
	loader := troika.Must(troika.NewLoader(dataset, 16, nil))
	model := troika.Must(troika.NewModel(c, "d2l_lenet", nil))
	trainer := troika.Must(model.Attach(troika.CPUs(1), nil))
	troika.Must(trainer.TrainBatches(context.Background(), loader, 1)) // compiles the plan
	troika.Must(trainer.TrainEpoch(context.Background(), loader))
	fmt.Printf("epoch images/s %.0f\n", float64(samples)/best(func() {
		troika.Must(trainer.TrainEpoch(context.Background(), loader))
	}))
	fmt.Printf("steps images/s %.0f\n", float64(samples)/best(func() {
		epoch := loader.Epoch()
		for epoch.Next() {
			troika.Must(trainer.Step(epoch.Batch()))
		}
		troika.Check(epoch.Err())
	}))
}
