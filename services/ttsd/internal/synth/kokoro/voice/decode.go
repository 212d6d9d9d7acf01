// SPDX-License-Identifier: Apache-2.0

package voice

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxVoices bounds an archive; there are 54 voices.
	maxVoices = 1024
	// maxHeader bounds the description in front of an array.
	maxHeader = 4096
	// extraRows is how many more rows than Rows an array may have: some tools add
	// one of zeros.
	extraRows = 2
	maxArray  = fileSize + extraRows*StyleSize*4 + maxHeader
)

// DecodeRaw reads a voice of little-endian float32.
func DecodeRaw(b []byte) (Table, error) {
	if len(b) != fileSize {
		return nil, fmt.Errorf("it has %d bytes, and a voice has %d", len(b), fileSize)
	}
	t := make(Table, tableSize)
	for i := range t {
		t[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return t, finite(t)
}

// readAll reads a file that has size bytes; of a longer one, one byte more.
func readAll(path string, size int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, size+1))
}

// openArchive reads the directory of an npz file.
func openArchive(path string) (*Set, error) {
	names, err := namesOf(path)
	if err != nil {
		return nil, err
	}
	return &Set{path: path, names: names, read: func(name string) (Table, error) {
		f, err := zip.OpenReader(path)
		if err != nil {
			return nil, fault(path, "%v", err)
		}
		defer f.Close()
		t, err := decodeMember(&f.Reader, name+".npy")
		if err != nil {
			return nil, fault(path, "voice %s: %v", name, err)
		}
		return t, nil
	}}, nil
}

func namesOf(path string) ([]string, error) {
	f, err := zip.OpenReader(path)
	if err != nil {
		size := int64(0)
		if info, err := os.Stat(path); err == nil {
			size = info.Size()
		}
		return nil, fault(path, "its %d bytes are no whole archive, it was cut off or damaged: %v", size, err)
	}
	defer f.Close()
	names, err := members(&f.Reader)
	if err != nil {
		return nil, fault(path, "%v", err)
	}
	return names, nil
}

// members lists the voices of an archive, sorted.
func members(r *zip.Reader) ([]string, error) {
	var names []string
	for _, f := range r.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		switch {
		case !ok || !validName(name):
			return nil, fmt.Errorf("it holds %.60q, which is no voice", f.Name)
		case f.UncompressedSize64 > maxArray:
			return nil, fmt.Errorf("%s has %d bytes, more than a voice", f.Name, f.UncompressedSize64)
		case len(names) == maxVoices:
			return nil, fmt.Errorf("it holds more than %d voices", maxVoices)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) == 0 || len(slices.Compact(slices.Clone(names))) != len(names) {
		return nil, errors.New("it holds no voices, or one twice")
	}
	return names, nil
}

func decodeMember(r *zip.Reader, name string) (Table, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxArray+1))
	if err != nil {
		return nil, err
	}
	return DecodeArray(b)
}

// DecodeArray reads a voice out of a npy file: format 1 to 3, little-endian float32
// in the order of C, shape (510, 1, 256) or (510, 256).
func DecodeArray(b []byte) (Table, error) {
	header, data, err := cutHeader(b)
	if err != nil {
		return nil, err
	}
	if kind := member(header, "descr"); kind != "'<f4'" && kind != "\"<f4\"" {
		return nil, fmt.Errorf("its numbers are of kind %.20s, want '<f4' (float32)", kind)
	}
	if order := member(header, "fortran_order"); order != "False" {
		return nil, fmt.Errorf("its fortran_order is %.20q, want False", order)
	}
	shape, err := dimensions(member(header, "shape"))
	if err != nil {
		return nil, err
	}
	if len(shape) == 3 && shape[1] == 1 {
		shape = []int{shape[0], shape[2]}
	}
	if len(shape) != 2 || shape[1] != StyleSize || shape[0] < Rows || shape[0] > Rows+extraRows {
		return nil, fmt.Errorf("its shape is %v, want (%d, 1, %d)", shape, Rows, StyleSize)
	}
	if want := shape[0] * StyleSize * 4; len(data) < want {
		return nil, fmt.Errorf("it ends too early: %d bytes of %d", len(data), want)
	}
	return DecodeRaw(data[:fileSize])
}

// cutHeader parts the description, a Python dictionary, from the numbers.
func cutHeader(b []byte) (header string, data []byte, err error) {
	if len(b) < 12 || string(b[:6]) != "\x93NUMPY" {
		return "", nil, errors.New("it is no npy array")
	}
	length, at := int(binary.LittleEndian.Uint16(b[8:])), 10
	if b[6] > 1 {
		length, at = int(min(binary.LittleEndian.Uint32(b[8:]), math.MaxInt32)), 12
	}
	if b[6] < 1 || b[6] > 3 || length > maxHeader || at+length > len(b) {
		return "", nil, errors.New("its header makes no sense")
	}
	return string(b[at : at+length]), b[at+length:], nil
}

// member finds the text of a value: up to the next comma, or with its parentheses.
func member(header, key string) string {
	for _, quote := range []string{"'", `"`} {
		_, rest, ok := strings.Cut(header, quote+key+quote+":")
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "(") {
			inside, _, _ := strings.Cut(rest[1:], ")")
			return inside
		}
		value, _, _ := strings.Cut(rest, ",")
		return strings.TrimRight(strings.TrimSpace(value), " }\n")
	}
	return ""
}

func dimensions(text string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1<<20 || len(list) == 8 {
			return nil, fmt.Errorf("its shape is (%.40s)", text)
		}
		list = append(list, n)
	}
	return list, nil
}
