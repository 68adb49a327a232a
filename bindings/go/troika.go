package troika

/*
#include <troika/troika.h>
*/
import "C"

import "fmt"

// Version returns the version of the library that is loaded: 10203 is 1.2.3. Any goroutine.
func Version() int32 { return int32(C.troika_version()) }

// BuildInfo returns one line that says how the library was built. Any goroutine.
func BuildInfo() string { return C.GoString(C.troika_build_info()) }

// checkVersion compares the library that is loaded with the headers that this package was made
// from.
func checkVersion(library, headers int32) error {
	if library/10000 == headers/10000 && library >= headers/100*100 {
		return nil
	}
	return &Error{Status: StatusUnsupported, Message: fmt.Sprintf("libtroika: version is %s, need %d.%d or a later %d.x",
		versionText(library), headers/10000, headers/100%100, headers/10000)}
}

func versionText(version int32) string {
	return fmt.Sprintf("%d.%d.%d", version/10000, version/100%100, version%100)
}

// ZooNames returns the names of the models that NewModel builds. Any goroutine.
func ZooNames() []string {
	var names []string
	for i := C.int32_t(0); ; i++ {
		name := C.troika_zoo_name(i)
		if name == nil {
			return names
		}
		names = append(names, C.GoString(name))
	}
}

// InspectFile returns the contents of a safetensors file as text: a line for each entry of the
// metadata, then a line for each tensor. Errors: ErrNotFound, ErrIO, ErrCorrupt. Any goroutine.
func InspectFile(path string) (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_file_inspect(c.text("path", path), b.first, b.capacity, &b.size, &c.error)
	})
}

// NewestFile returns the newest of the files that Trainer.SaveWith kept for path. Errors:
// ErrNotFound (there is none), ErrIO. Any goroutine.
func NewestFile(path string) (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_file_newest(c.text("path", path), b.first, b.capacity, &b.size, &c.error)
	})
}
