package layout

import (
	"encoding/json"
	"os"
	"testing"
)

// described are the structs as the description of the interface has them.
type described struct {
	Structs []struct {
		Name   string
		Size   uintptr
		Fields []struct {
			Name         string
			Offset, Size uintptr
		}
	}
}

func TestStructsAreAsDescribed(t *testing.T) {
	var interfaces described
	text, err := os.ReadFile("../../../interface/interface.json")
	if err == nil {
		err = json.Unmarshal(text, &interfaces)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Struct{}
	for _, s := range Structs() {
		found[s.Name] = s
	}
	if len(interfaces.Structs) < 30 || len(found) != len(interfaces.Structs) {
		t.Fatalf("there are %d structs, wanted %d", len(found), len(interfaces.Structs))
	}
	for _, wanted := range interfaces.Structs {
		s := found[wanted.Name]
		if s.Size != wanted.Size || s.Initial != wanted.Size || len(s.Fields) != len(wanted.Fields) {
			t.Errorf("%s has %d bytes, %d of them set, and %d fields, wanted %d bytes and %d fields", wanted.Name, s.Size,
				s.Initial, len(s.Fields), wanted.Size, len(wanted.Fields))
			continue
		}
		for i, field := range wanted.Fields {
			if s.Fields[i] != (Field{field.Name, field.Offset, field.Size}) {
				t.Errorf("%s.%s is %+v, wanted %+v", wanted.Name, field.Name, s.Fields[i], field)
			}
		}
	}
}
