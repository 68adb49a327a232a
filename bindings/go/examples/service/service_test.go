package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test starts itself as the service.
func TestMain(m *testing.M) {
	if os.Getenv("SERVICE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A client makes requests of a service that it started.
type client struct {
	t   *testing.T
	url string
}

func start(t *testing.T, arguments ...string) client {
	service := exec.Command(os.Args[0], append(arguments, "-address", "127.0.0.1:0")...)
	service.Env = append(os.Environ(), "SERVICE=1")
	service.Stderr = os.Stderr
	output, err := service.StdoutPipe()
	if err == nil {
		err = service.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Process.Kill()
		service.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return client{t, strings.TrimSpace(strings.TrimPrefix(line, "listening on "))}
}

// ask makes a request, and decodes its answer unless that is nil. It returns the status of HTTP.
func (c client) ask(method, path string, body, found any) int {
	content, err := json.Marshal(body)
	if err != nil {
		c.t.Error(err)
	}
	request, err := http.NewRequest(method, c.url+path, bytes.NewReader(content))
	if err != nil {
		c.t.Error(err)
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && found != nil {
		err = json.Unmarshal(text, found)
	}
	if err != nil {
		c.t.Errorf("%s %s: %v: %s", method, path, err, text)
	}
	return response.StatusCode
}

func (c client) status() (now status) {
	c.ask(http.MethodGet, "/status", nil, &now)
	return now
}

// until waits for a status.
func (c client) until(what string, isReached func(status) bool) status {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if now := c.status(); isReached(now) {
			return now
		}
	}
	c.t.Fatalf("%s: the status is %+v", what, c.status())
	return status{}
}

type prediction struct {
	Class  int
	Scores []float32
	Step   int64
}

func isIdle(now status) bool { return !now.Running }

func TestService(t *testing.T) {
	c := start(t, "-batch", "16", "-publish", "5", "-devices", "2")
	if now := c.status(); now != (status{}) {
		t.Errorf("the first status is %+v", now)
	}
	image := map[string]any{"image": make([]float32, 28*28)}
	var before prediction
	if code := c.ask(http.MethodPost, "/predict", image, &before); code != http.StatusOK || len(before.Scores) != 10 {
		t.Errorf("a prediction returned %d, %+v", code, before)
	}

	if code := c.ask(http.MethodPost, "/train", nil, nil); code != http.StatusAccepted {
		t.Errorf("training returned %d", code)
	}
	if code := c.ask(http.MethodPost, "/train", nil, nil); code != http.StatusConflict {
		t.Errorf("training twice returned %d", code)
	}
	// Many callers predict while the service trains.
	var callers sync.WaitGroup
	steps := make([]map[int64]string, 4)
	for i := range steps {
		callers.Add(1)
		steps[i] = map[int64]string{}
		go func(scores map[int64]string) {
			defer callers.Done()
			for c.status().Step < 50 {
				var found prediction
				if code := c.ask(http.MethodPost, "/predict", image, &found); code != http.StatusOK {
					t.Errorf("a prediction returned %d", code)
					return
				}
				scores[found.Step] = fmt.Sprint(found.Scores)
			}
		}(steps[i])
	}
	callers.Wait()
	newer := map[string]bool{}
	for _, scores := range steps {
		for _, text := range scores {
			newer[text] = true
		}
	}
	if len(newer) < 2 {
		t.Errorf("predictions used %d different weights", len(newer))
	}
	if now := c.status(); now.Published%5 != 0 || now.Published != now.Step || now.Loss <= 0 || now.ImagesPer <= 0 {
		t.Errorf("the status is %+v", now)
	}

	c.ask(http.MethodPost, "/stop", nil, nil)
	stopped := c.until("stopping", isIdle)
	if stopped.Step >= 250 || stopped.Error != "" {
		t.Errorf("the stopped status is %+v", stopped)
	}
	// The next epoch is the rest of this one.
	c.ask(http.MethodPost, "/train", nil, nil)
	if ended := c.until("the end of the epoch", func(now status) bool { return isIdle(now) && now.Step > stopped.Step }); ended.Step != 250 {
		t.Errorf("the status at the end is %+v", ended)
	}
	var after prediction
	c.ask(http.MethodPost, "/predict", image, &after)
	if after.Step != 250 || fmt.Sprint(after.Scores) == fmt.Sprint(before.Scores) {
		t.Errorf("the last prediction is %+v", after)
	}
}

func TestWrongRequests(t *testing.T) {
	c := start(t)
	for _, request := range []struct {
		method, path string
		body         any
		wanted       int
	}{
		{http.MethodGet, "/train", nil, http.StatusMethodNotAllowed},
		{http.MethodGet, "/nothing", nil, http.StatusNotFound},
		{http.MethodPost, "/predict", "no image", http.StatusBadRequest},
		{http.MethodPost, "/predict", map[string]any{"image": []float32{1, 2}}, http.StatusBadRequest},
		{http.MethodPost, "/stop", nil, http.StatusOK},
	} {
		if code := c.ask(request.method, request.path, request.body, nil); code != request.wanted {
			t.Errorf("%s %s returned %d, wanted %d", request.method, request.path, code, request.wanted)
		}
	}
}
