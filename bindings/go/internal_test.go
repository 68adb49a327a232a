package troika

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOtherVersionsAreRefused(t *testing.T) {
	for _, library := range []int32{10100, 10105, 10200} {
		if err := checkVersion(library, 10100); err != nil {
			t.Errorf("%d: %v", library, err)
		}
	}
	for _, library := range []int32{10000, 10099, 20100} {
		if err := checkVersion(library, 10100); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "need 1.1") {
			t.Errorf("%d: %v", library, err)
		}
	}
}

func TestMessagesHaveOneLine(t *testing.T) {
	if found := line("a\nb\x7fc\u2028d\xffe"); found != "a b c d\uFFFDe" {
		t.Errorf("the line is %q", found)
	}
	if found := line(strings.Repeat("é", 600)); len(found) > 1019 || !utf8.ValidString(found) || len(found) < 1017 {
		t.Errorf("the line has %d bytes", len(found))
	}
	if line("") == "" {
		t.Error("there is no line")
	}
}

func TestProductOfAShape(t *testing.T) {
	for _, shape := range []struct {
		dims   []int64
		wanted int64
	}{{nil, 1}, {[]int64{2, 3}, 6}, {[]int64{2, 0}, 0}, {[]int64{2, -1}, -1}, {[]int64{1 << 40, 1 << 40}, -1}} {
		if found := product(shape.dims); found != shape.wanted {
			t.Errorf("the product of %v is %d", shape.dims, found)
		}
	}
}

func TestForgottenFailures(t *testing.T) {
	s := new(reader)
	for i := 0; i <= mostFailures; i++ {
		s.keep(&failure{message: strings.Repeat("x", i)})
	}
	if s.take("") != nil || s.take("x") == nil || s.take("x") != nil || len(s.failed) != mostFailures-1 {
		t.Errorf("there are %d failures", len(s.failed))
	}
	other := &Error{Status: StatusCallback, Message: "other"}
	if err := failureOf(&Loader{readers: []*reader{s}}, other); err != error(other) {
		t.Errorf("the error is %v", err)
	}
}
