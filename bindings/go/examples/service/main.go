// Service trains a network and predicts with it, at the same time, over HTTP:
//
//	POST /train    starts an epoch in the background, or the rest of one that was stopped.
//	GET  /status   reports step, loss, images per second, and whether an epoch runs.
//	POST /predict  {"image": [784 numbers]} answers {"class": 3, "scores": [...], "step": 40}.
//	POST /stop     ends the epoch after the batch in progress.
//
// A prediction never waits for training: the weights that it uses are a copy, which is replaced
// every few steps.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"troika"
)

var (
	address = flag.String("address", "127.0.0.1:8080", "where to listen; port 0 takes a free one")
	data    = flag.String("data", "", "a directory of IDX files; without one, images are synthetic")
	devices = flag.Int("devices", 1, "CPU devices that train")
	batch   = flag.Int64("batch", 64, "samples of a step")
	publish = flag.Int64("publish", 20, "steps after which predictions get newer weights")
)

// A service trains with one model and predicts with another.
type service struct {
	trainer  *troika.Trainer
	loader   *troika.Loader
	trained  *troika.Model // shares the trainer's parameters
	serving  *troika.Model // for predictions
	incoming *troika.Model // a clone of serving: what it loads, serving has at once
	status   atomic.Pointer[status]

	mutex sync.Mutex
	stop  context.CancelFunc // of the epoch in the background, or nil
}

type status struct {
	Step      int64   `json:"step"`
	Loss      float64 `json:"loss"`
	ImagesPer float64 `json:"images_per_second"`
	Published int64   `json:"published_step"`
	Running   bool    `json:"running"`
	Error     string  `json:"error,omitempty"`
}

func newService() (*service, error) {
	options := troika.NewContextOptions()
	options.PredictThreads = 1 // many callers at once
	c, err := troika.NewContext(options)
	if err != nil {
		return nil, err
	}
	dataset, err := openDataset(c)
	if err != nil {
		return nil, err
	}
	s := new(service)
	s.status.Store(new(status))
	shuffled := troika.NewLoaderOptions()
	shuffled.Shuffle = true
	if s.loader, err = troika.NewLoader(dataset, *batch, shuffled); err != nil {
		return nil, err
	}
	if s.trained, err = troika.NewModel(c, "d2l_lenet", nil); err != nil {
		return nil, err
	}
	settings := troika.NewTrainerOptions()
	settings.LearningRate, settings.Momentum = 0.05, 0.9
	if s.trainer, err = s.trained.Attach(troika.CPUs(*devices), settings); err != nil {
		return nil, err
	}
	weights, err := s.trained.SaveMemory()
	if err != nil {
		return nil, err
	}
	if s.serving, err = troika.OpenModelMemory(c, weights); err != nil {
		return nil, err
	}
	s.incoming, err = s.serving.Clone()
	return s, err
}

func openDataset(c *troika.Context) (*troika.Dataset, error) {
	if *data == "" {
		return troika.NewSyntheticDataset(c, 4000, 10, 0, 1, 28, 28)
	}
	return troika.OpenDirectory(c, *data, "train", nil)
}

// train runs the rest of the epoch, and publishes the weights every few steps and at the end.
func (s *service) train(ctx context.Context) error {
	for {
		metrics, stopped := s.trainer.TrainBatches(ctx, s.loader, *publish)
		if stopped != nil && !errors.Is(stopped, context.Canceled) {
			return stopped
		}
		if err := s.publish(metrics); err != nil {
			return err
		}
		if metrics.Status != troika.StatusOK {
			return nil
		}
	}
}

// publish copies the trained weights to the model that predicts. Each prediction has all old
// weights or all new ones.
func (s *service) publish(metrics troika.Metrics) error {
	weights, err := s.trained.SaveMemory()
	if err != nil {
		return err
	}
	if _, err := s.incoming.LoadMemory(weights, nil); err != nil {
		return err
	}
	info, err := s.trainer.Describe()
	if err != nil {
		return err
	}
	now := *s.status.Load()
	now.Step, now.Published = info.Step, info.Step
	if metrics.Samples > 0 {
		now.Loss, now.ImagesPer = metrics.Loss, float64(metrics.Samples)/metrics.Seconds
	}
	s.status.Store(&now)
	return nil
}

// run trains in the background until the epoch ends or ctx does.
func (s *service) run(ctx context.Context) {
	err := s.train(ctx)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.stop = nil
	if now := *s.status.Load(); err != nil {
		now.Error = err.Error()
		s.status.Store(&now)
	}
}

func (s *service) handleTrain(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stop != nil {
		http.Error(w, "an epoch is running", http.StatusConflict)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go s.run(ctx)
	w.WriteHeader(http.StatusAccepted)
}

func (s *service) handleStop(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

func (s *service) handleStatus(w http.ResponseWriter, r *http.Request) {
	now := *s.status.Load()
	s.mutex.Lock()
	now.Running = s.stop != nil
	s.mutex.Unlock()
	answer(w, now)
}

func (s *service) handlePredict(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Image []float32 `json:"image"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	step := s.status.Load().Published
	scores, err := troika.Predict(s.serving, troika.CPU(0), request.Image)
	if errors.Is(err, troika.ErrInvalidArgument) {
		http.Error(w, err.Error(), http.StatusBadRequest)
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	} else {
		answer(w, map[string]any{"class": troika.Argmax(scores), "scores": scores, "step": step})
	}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Print(err)
	}
}

// only serves one method of HTTP.
func only(method string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			http.Error(w, "need "+method, http.StatusMethodNotAllowed)
			return
		}
		handler(w, r)
	}
}

func main() {
	flag.Parse()
	s, err := newService()
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/train", only(http.MethodPost, s.handleTrain))
	http.HandleFunc("/stop", only(http.MethodPost, s.handleStop))
	http.HandleFunc("/predict", only(http.MethodPost, s.handlePredict))
	http.HandleFunc("/status", only(http.MethodGet, s.handleStatus))
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
