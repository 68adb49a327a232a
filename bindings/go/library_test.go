package troika_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"troika"
)

// describedFunctions returns the names of all functions of the C interface, and its version.
func describedFunctions(t *testing.T) (names []string, version string) {
	var described struct {
		Version   string
		Functions []struct{ Name string }
	}
	text, err := os.ReadFile("../interface/interface.json")
	if err == nil {
		err = json.Unmarshal(text, &described)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range described.Functions {
		names = append(names, function.Name)
	}
	return names, described.Version
}

func TestVersion(t *testing.T) {
	_, version := describedFunctions(t)
	if found := troika.Version(); found/10000 != 1 || !strings.Contains(troika.BuildInfo(), version) {
		t.Errorf("version %d, build info %q, wanted %s", found, troika.BuildInfo(), version)
	}
}

func TestZooNames(t *testing.T) {
	equal(t, "the zoo", troika.ZooNames(), []string{"d2l_lenet", "d2l_resnet18", "d2l_resnet18_stem7", "resnet9", "resnet18",
		"resnet34", "resnet50", "mlp", "char_lstm"})
}

// Every function of the interface is called by files that are written by hand, and every function
// that sets defaults by the generated one.
func TestEveryFunctionIsUsed(t *testing.T) {
	generated, written := map[string]bool{}, map[string]bool{}
	isCall := regexp.MustCompile(`\btroika_\w+\(`)
	for _, pattern := range []string{"*.go", "*.c"} {
		for _, path := range troika.Must(filepath.Glob(pattern)) {
			used := written
			if strings.HasPrefix(path, "interface_") {
				used = generated
			} else if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, call := range isCall.FindAllString(string(troika.Must(os.ReadFile(path))), -1) {
				used[strings.TrimSuffix(call, "(")] = true
			}
		}
	}
	names, _ := describedFunctions(t)
	if len(names) < 150 {
		t.Fatalf("the interface has %d functions, wanted all", len(names))
	}
	for _, name := range names {
		used := written
		if strings.HasSuffix(name, "_init") {
			used = generated
		}
		if !used[name] {
			t.Errorf("%s is not used", name)
		}
	}
}

// Every exported name has a comment, and comments have at most 100 columns.
func TestEveryNameHasAComment(t *testing.T) {
	files := token.NewFileSet()
	packages := troika.Must(parser.ParseDir(files, ".", func(info fs.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go")
	}, parser.ParseComments))
	var names int
	check := func(name, comment string) {
		names++
		if ast.IsExported(name) && !strings.HasPrefix(name, "troika") && comment == "" {
			t.Errorf("%s has no comment", name)
		}
	}
	described := doc.New(packages["troika"], "troika", 0)
	for _, f := range described.Funcs {
		check(f.Name, f.Doc)
	}
	for _, kind := range described.Types {
		check(kind.Name, kind.Doc)
		for _, f := range append(kind.Funcs, kind.Methods...) {
			check(f.Name, f.Doc)
		}
	}
	if names < 150 {
		t.Errorf("there are %d names, wanted all", names)
	}
	for path := range packages["troika"].Files {
		for i, line := range strings.Split(string(troika.Must(os.ReadFile(path))), "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if strings.HasPrefix(strings.TrimSpace(line), "//") && columns > 100 {
				t.Errorf("%s:%d has %d columns", path, i+1, columns)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	c := newContext(t)
	path := in(t, "linear.safetensors")
	troika.Check(newLinear(c).Save(path))
	text := troika.Must(troika.InspectFile(path))
	if !strings.Contains(text, "fc.weight F32 [1, 2]") || !strings.Contains(text, "fc.bias F32 [1]") {
		t.Errorf("the file is described as %q", text)
	}
	_, err := troika.InspectFile(path + "x")
	fails(t, err, troika.ErrNotFound, "linear.safetensorsx")
	_, err = troika.NewestFile(path)
	fails(t, err, troika.ErrNotFound, "linear")
	troika.Check(os.WriteFile(path, []byte("no weights"), 0o600))
	_, err = troika.InspectFile(path)
	fails(t, err, troika.ErrCorrupt, "linear.safetensors")
}

func TestErrors(t *testing.T) {
	c := newContext(t)
	_, err := troika.NewModel(c, "alexnet", nil)
	fails(t, err, troika.ErrNotFound, "d2l_lenet")
	var failed *troika.Error
	if !errors.As(err, &failed) || failed.Status != troika.StatusNotFound || failed.Message != err.Error() {
		t.Errorf("the error is %#v", err)
	}
	equal(t, "another status", errors.Is(err, troika.ErrBusy), false)
	equal(t, "its text", troika.ErrBusy.Error(), "ErrBusy")
	equal(t, "the cause", errors.Unwrap(err), nil)

	_, err = troika.NewModel(c, "mlp\x00", nil)
	fails(t, err, troika.ErrInvalidArgument, `name is "mlp\x00" with a NUL at byte 3, need a text without`)
	fails(t, newLinear(c).Save("a\x00b"), troika.ErrInvalidArgument, `path is "a\x00b"`)
	training := troika.NewTrainerOptions()
	training.RecomputeLayers = "\x00"
	_, err = newLinear(c).Attach(troika.CPUs(1), training)
	fails(t, err, troika.ErrInvalidArgument, "RecomputeLayers is")
	options := troika.NewModelOptions()
	options.Classes = 0
	_, err = troika.NewModel(c, "mlp", options)
	fails(t, err, troika.ErrInvalidArgument, "classes is 0")

	value := errors.New("mine")
	equal(t, "the panic of Check", panics(t, func() { troika.Check(value) }), error(value))
	equal(t, "the panic of Must", panics(t, func() { troika.Must(1, value) }), error(value))
}

func TestNamesOfEnums(t *testing.T) {
	equal(t, "an unknown status", troika.Status(99).String(), "unknown status")
	equal(t, "an unknown loss", troika.Loss(99).String(), "Loss(99)")
	for _, name := range []struct {
		found  interface{ String() string }
		wanted string
	}{
		{troika.LogLevelDebug, "Debug"}, {troika.DeviceKindCUDA, "CUDA"}, {troika.InitializerXavierUniform, "XavierUniform"},
		{troika.DtypeF8E5M2, "F8E5M2"}, {troika.LossMeanSquaredError, "MeanSquaredError"}, {troika.ReductionSum, "Sum"},
		{troika.OptimizerRMSprop, "RMSprop"}, {troika.OptionFrozen, "Frozen"}, {troika.ScheduleOneCycle, "OneCycle"},
		{troika.PrecisionBF16, "BF16"}, {troika.LayerScheduleGPipe, "GPipe"}, {troika.CompressionNone, "None"},
		{troika.StatusOK, "OK"}, {troika.StatusStepSkipped, "StepSkipped"}, {troika.StatusInvalidArgument, "InvalidArgument"},
	} {
		equal(t, "a name", name.found.String(), name.wanted)
	}
}

func TestArgmax(t *testing.T) {
	nan := float32(0)
	nan /= nan
	equal(t, "the largest", troika.Argmax([]float32{nan, -2, 5, 1, nan}), 2)
	equal(t, "none", troika.Argmax([]float32{nan}), -1)
}
