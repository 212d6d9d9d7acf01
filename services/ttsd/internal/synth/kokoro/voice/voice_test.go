// SPDX-License-Identifier: Apache-2.0

package voice

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.org/desktop-assistant/pkg/testkit/onnxtest"
	"example.org/desktop-assistant/proto"
)

// raw is a voice whose numbers are all v, but the first of each row, which is the
// row's number.
func raw(v float32) []byte {
	b := make([]byte, 0, fileSize)
	for i := range tableSize {
		n := v
		if i%StyleSize == 0 {
			n = float32(i/StyleSize) / 100
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(n))
	}
	return b
}

// array puts a description in front.
func array(header string, data []byte) []byte {
	header += "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(out, header...), data...)
}

const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (510, 1, 256), }"

func archive(t *testing.T, members map[string][]byte, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(members[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The same two voices in every form there is.
func TestForms(t *testing.T) {
	t.Parallel()
	a, b := raw(0.25), raw(0.75)
	folder := t.TempDir()
	for name, v := range map[string][]byte{"if_sara.bin": a, "af_bella.bin": b, "README.md": nil, "odd name.bin": nil} {
		if err := os.WriteFile(filepath.Join(folder, name), v, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	arrays := map[string][]byte{"if_sara.npy": array(header, a), "af_bella.npy": array(header, b)}
	long := map[string][]byte{
		"if_sara.npy":  array(strings.Replace(header, "510, 1", "511, 1", 1), append(slices.Clone(a), make([]byte, 1024)...)),
		"af_bella.npy": array(strings.Replace(header, "510, 1, 256", "510, 256", 1), b),
	}
	for form, path := range map[string]string{
		"folder":          folder,
		"archive":         file(t, "voices-v1.0.bin", archive(t, arrays, zip.Store)),
		"packed archive":  file(t, "voices.npz", archive(t, arrays, zip.Deflate)),
		"odd shapes":      file(t, "voices.npz", archive(t, long, zip.Store)),
		"sherpa's bundle": file(t, "voices.bin", append(slices.Clone(a), b...)),
	} {
		s, err := Open(path, []string{"if_sara", "af_bella"})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got := s.Names(); !slices.Equal(got, []string{"af_bella", "if_sara"}) || s.Path() != path {
			t.Errorf("%s: voices %v", form, got)
		}
		table, err := s.Table(Blend{"if_sara": 4, "af_bella": 1}) // not normal
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		for n, row := range map[int]int{-3: 0, 0: 0, 1: 0, 2: 1, 250: 249, 510: 509, 511: 509, 9999: 509} {
			style := table.Row(n)
			if len(style) != StyleSize || math.Abs(float64(style[0])-float64(row)/100) > 1e-5 || math.Abs(float64(style[200])-0.35) > 1e-6 {
				t.Errorf("%s: style of %d symbols begins with %v, ends with %v", form, n, style[0], style[255])
			}
		}
	}
}

func TestBrokenVoices(t *testing.T) {
	t.Parallel()
	good := raw(0.5)
	whole := archive(t, map[string][]byte{"a.npy": array(header, good)}, zip.Store)
	nan := slices.Clone(good)
	binary.LittleEndian.PutUint32(nan[4000:], math.Float32bits(float32(math.NaN())))
	folder := func(name string, b []byte) string { return filepath.Dir(file(t, name, b)) }
	member := func(head string, data []byte) string {
		return file(t, "v.npz", archive(t, map[string][]byte{"a.npy": array(head, data)}, zip.Store))
	}
	pipe := filepath.Join(t.TempDir(), "voices.bin")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, words string }{
		"nothing":           {"/none/voices.bin", "there is no such file"},
		"empty folder":      {t.TempDir(), "no file like af_heart.bin"},
		"short file":        {folder("a.bin", good[:5000]), "it has 5000 bytes, and a voice has 522240"},
		"long file":         {folder("a.bin", append(slices.Clone(good), 1)), "it has 522241 bytes"},
		"no numbers":        {folder("a.bin", nan), "number 1000 is NaN"},
		"text":              {folder("a.bin", bytes.Repeat([]byte("text"), tableSize)), "not the numbers of a voice"},
		"cut archive":       {file(t, "v.npz", whole[:len(whole)-30]), "are no whole archive, it was cut off"},
		"half an archive":   {file(t, "v.npz", whole[:len(whole)/2]), "are no whole archive"},
		"another archive":   {file(t, "v.npz", archive(t, map[string][]byte{"x.txt": nil}, zip.Store)), `holds "x.txt", which is no voice`},
		"outside":           {file(t, "v.npz", archive(t, map[string][]byte{"../a.npy": nil}, zip.Store)), "which is no voice"},
		"empty archive":     {file(t, "v.npz", archive(t, nil, zip.Store)), ""},
		"bomb":              {file(t, "v.npz", archive(t, map[string][]byte{"a.npy": make([]byte, 8<<20)}, zip.Deflate)), "more than a voice"},
		"no array":          {file(t, "v.npz", archive(t, map[string][]byte{"a.npy": good}, zip.Store)), "voice a: it is no npy array"},
		"cut array":         {member(header, good[:9000]), "voice a: it ends too early: 9000 bytes of 522240"},
		"doubles":           {member(strings.Replace(header, "<f4", "<f8", 1), good), "want '<f4' (float32)"},
		"big endian":        {member(strings.Replace(header, "<f4", ">f4", 1), good), "want '<f4'"},
		"Fortran":           {member(strings.Replace(header, "False", "True", 1), good), "fortran_order"},
		"another shape":     {member(strings.Replace(header, "510", "51", 1), good), "its shape is [51 256], want (510, 1, 256)"},
		"odd shape":         {member(strings.Replace(header, "510", "-x", 1), good), "its shape is (-x, 1, 256)"},
		"one voice":         {file(t, "af_heart.bin", good), "name the folder it is in"},
		"odd size":          {file(t, "voices.bin", good[:5000]), "5000 bytes are no voices"},
		"another number":    {file(t, "voices.bin", append(slices.Clone(good), good...)), "it has 2 voices, and the model names 1"},
		"web page":          {file(t, "voices.bin", []byte("<!DOCTYPE html>")), "it is a web page"},
		"pointer":           {file(t, "voices.bin", []byte("version https://git-lfs.github.com/spec/v1\n")), "the pointer of Git LFS"},
		"a pipe":            {pipe, "it is neither a file nor a folder"},
		"nothing in a file": {file(t, "voices.bin", nil), "0 bytes are no voices"},
	} {
		s, err := Open(c.path, []string{"a"})
		if err == nil {
			_, err = s.Table(Blend{"a": 1})
		}
		var e *proto.Error
		if !errors.As(err, &e) || !strings.Contains(e.Text, c.words) || e.Hint == "" || !strings.Contains(e.Text, filepath.Dir(c.path)) {
			t.Errorf("%s: error is %v, want one that names the file and says %q", name, err, c.words)
		}
	}
	two := file(t, "voices.bin", append(slices.Clone(good), good...))
	for _, names := range [][]string{nil, {"a", "a"}, {"a", "../b"}} {
		if _, err := Open(two, names); err == nil {
			t.Errorf("a bundle with the names %q is taken", names)
		}
	}
}

func TestUnknownVoiceIsNamed(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Dir(file(t, "af_heart.bin", raw(1))), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Table(Blend{"af_hart": 1})
	var e *proto.Error
	if !errors.As(err, &e) || !strings.Contains(e.Text, `"af_hart"`) || !strings.Contains(e.Text, "known are af_heart") || e.Hint == "" {
		t.Errorf("error is %v", err)
	}
	for _, b := range []Blend{nil, {"af_heart": 0}, {"af_heart": -1}, {"af_heart": math.Inf(1)}, {"af_heart": math.NaN()}} {
		if _, err := s.Table(b); err == nil {
			t.Errorf("blend %v is taken", b)
		}
	}
}

// The voices of Kokoro's makers, as npm has them.
func TestRealVoices(t *testing.T) {
	t.Parallel()
	s, err := Open(onnxtest.Voices(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := s.Names()
	if len(names) != 54 {
		t.Errorf("%d voices, want 54", len(names))
	}
	norm := func(style []float32) float64 {
		sum := 0.0
		for _, v := range style {
			sum += float64(v) * float64(v)
		}
		return math.Sqrt(sum)
	}
	for _, name := range names {
		table, err := s.Table(Blend{name: 1})
		if err != nil {
			t.Fatal(err)
		}
		// Facts of the real voices: another length is hardly another style, but the
		// shortest are longer.
		if n := norm(table.Row(100)); n < 1.5 || n > 4 {
			t.Errorf("%s: a style of length %.2f for 100 symbols", name, n)
		}
		if n := norm(table.Row(1)); n < 3 || n > 15 {
			t.Errorf("%s: a style of length %.2f for one symbol", name, n)
		}
	}
	mixed, err := s.Table(Blend{"if_sara": 0.8, "af_bella": 0.2})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.Table(Blend{"if_sara": 1})
	b, _ := s.Table(Blend{"af_bella": 3})
	for i, v := range mixed.Row(60) {
		if want := 0.8*a.Row(60)[i] + 0.2*b.Row(60)[i]; math.Abs(float64(v-want)) > 1e-6 {
			t.Fatalf("number %d of the mixture is %v, want %v", i, v, want)
		}
	}
}

func TestParseBlend(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Blend{
		"if_sara":                      {"if_sara": 1},
		"if_sara,af_bella":             {"if_sara": 1, "af_bella": 1},
		"if_sara 0.8, af_bella 0.2":    {"if_sara": 0.8, "af_bella": 0.2},
		"if_sara*0.8+af_bella*0.2":     {"if_sara": 0.8, "af_bella": 0.2},
		"if_sara(2)+af_bella(1)":       {"if_sara": 2, "af_bella": 1},
		" if_sara = 0.8 ; af_bella:.2": {"if_sara": 0.8, "af_bella": 0.2},
		"a 1, a 2":                     {"a": 3},
	} {
		got, err := ParseBlend(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
		if again, err := ParseBlend(got.String()); err != nil || !maps.Equal(again, want) {
			t.Errorf("%q, written as %q, is %v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", " ", ",", "a b", "a 1 2", "a -1", "a 0", "a NaN", "a Inf", "../a", "a 1e99", "é 1", strings.Repeat("a,", 9) + "b 0x"} {
		if got, err := ParseBlend(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzParseBlend(f *testing.F) {
	f.Add("if_sara 0.8, af_bella(2)")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBlend(text)
		if err != nil {
			return
		}
		sum := 0.0
		for _, share := range b.normal() {
			sum += share
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("%q: the shares of %v have the sum %v", text, b.normal(), sum)
		}
	})
}

func FuzzDecodeArray(f *testing.F) {
	f.Add(array(header, raw(1)))
	f.Add(array("{}", nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if table, err := DecodeArray(b); err == nil && len(table) != tableSize {
			t.Errorf("a voice of %d numbers", len(table))
		}
	})
}

func FuzzDecodeRaw(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if table, err := DecodeRaw(b); err == nil && len(table) != tableSize {
			t.Errorf("a voice of %d numbers", len(table))
		}
	})
}

// An archive of any bytes gives voices or an error.
func FuzzArchive(f *testing.F) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if m, err := w.Create("a.npy"); err == nil {
		fmt.Fprint(m, "x")
	}
	w.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		names, err := members(r)
		if (len(names) > 0) != (err == nil) {
			t.Errorf("%q with %v", names, err)
		}
		for _, name := range names {
			if table, err := decodeMember(r, name+".npy"); err == nil && len(table) != tableSize {
				t.Errorf("a voice of %d numbers", len(table))
			}
		}
	})
}
