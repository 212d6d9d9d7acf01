// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A File is an onnxruntime library that was found and not opened yet.
type File struct {
	Path    string
	Version string // "1.27.0"; "" when the file does not say
}

// firstReporting is the first version that reports over the network.
var firstReporting = [2]int{1, 29}

// oldest is the first version whose interface the binding can use: it asks for
// number 24 of it.
var oldest = [2]int{1, 24}

// Reports says whether the library is one that reports to its maker over the
// network, unless it is told not to, as Load does.
func (f File) Reports() bool {
	v, ok := parseVersion(f.Version)
	return ok && !before(v, firstReporting)
}

// Find looks for the library: at configured when that is not empty, else where the
// environment says, else in the folders given, else where the system keeps its
// libraries. What a person named is never replaced by another. The error is an
// [ErrUnavailable] that names every place.
func Find(configured string, folders ...string) (File, error) {
	if configured == "" {
		configured = os.Getenv(Variable)
	}
	if configured != "" {
		return named(configured)
	}
	var tried []string
	for _, dir := range append(slices.Clone(folders), systemFolders()...) {
		f, why := inFolder(dir)
		if f.Path != "" {
			return f, nil
		}
		if why != "" {
			tried = append(tried, why)
		}
	}
	if len(tried) == 0 {
		tried = append(folders, "the system's libraries")
		return File{}, fmt.Errorf("%w: there is no libonnxruntime.so in %s", ErrUnavailable, strings.Join(tried, ", "))
	}
	return File{}, fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(tried, "; "))
}

func named(path string) (File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, fmt.Errorf("%w: there is no file %q", ErrUnavailable, path)
	case err != nil:
		return File{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case info.IsDir():
		f, why := inFolder(path)
		if f.Path == "" {
			return File{}, fmt.Errorf("%w: %s", ErrUnavailable, cmp.Or(why, fmt.Sprintf("no libonnxruntime.so in %q", path)))
		}
		return f, nil
	}
	version, err := versionOf(path)
	if err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return File{Path: path, Version: version}, nil
}

// inFolder takes the newest library of a folder that may be used without being
// asked for, or says why none of those there can be.
func inFolder(dir string) (best File, why string) {
	list, _ := filepath.Glob(filepath.Join(dir, "libonnxruntime.so*")) // the pattern is a good one
	for _, path := range list {
		version, err := versionOf(path)
		v, known := parseVersion(version)
		f := File{Path: path, Version: version}
		switch {
		case err != nil:
			why = err.Error()
		case f.Reports():
			why = fmt.Sprintf("%s is version %s, which reports to its maker: name it to use it all the same", path, version)
		case known && before(v, oldest):
			why = fmt.Sprintf("%s is version %s, older than %d.%d", path, version, oldest[0], oldest[1])
		case best.Path == "" || newer(version, best.Version):
			best = f
		}
	}
	return best, why
}

// versionOf reads the version that the library's symbols carry, like VERS_1.27.0.
func versionOf(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path) // to open a pipe would wait for someone who writes
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s is no library: %w", path, err)
	}
	defer f.Close()
	if f.Machine != machine() {
		return "", fmt.Errorf("%s is a library for %s", path, strings.TrimPrefix(f.Machine.String(), "EM_"))
	}
	versions, err := f.DynamicVersions()
	if err != nil {
		return "", nil // one without versions: onnxruntime itself will say
	}
	for _, v := range versions {
		if version, ok := strings.CutPrefix(v.Name, "VERS_"); ok {
			return version, nil
		}
	}
	return "", nil
}

func machine() elf.Machine {
	switch runtime.GOARCH {
	case "arm64":
		return elf.EM_AARCH64
	case "arm":
		return elf.EM_ARM
	case "riscv64":
		return elf.EM_RISCV
	}
	return elf.EM_X86_64
}

// systemFolders are where distributions and administrators put libraries.
func systemFolders() []string {
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	list := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	list = slices.DeleteFunc(list, func(dir string) bool { return !filepath.IsAbs(dir) })
	list = append(list, "/usr/local/lib")
	if triplet != "" {
		list = append(list, "/usr/lib/"+triplet)
	}
	return append(list, "/usr/lib64", "/usr/lib")
}

func parseVersion(text string) (v [2]int, ok bool) {
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return [2]int{a, b}, err1 == nil && err2 == nil
}

func before(a, b [2]int) bool { return slices.Compare(a[:], b[:]) < 0 }

func newer(a, b string) bool {
	x, _ := parseVersion(a)
	y, _ := parseVersion(b)
	return before(y, x)
}
