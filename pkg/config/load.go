// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"example.org/desktop-assistant/pkg/xdg"
)

// maxFile bounds the file in bytes; a configuration with every key is 8 kB.
const maxFile = 256 << 10

// Path returns where the file is looked for when none is named:
// $XDG_CONFIG_HOME/desktop-assistant/config.toml, else below ~/.config; empty
// when there is no home folder.
func Path() string {
	dir, err := xdg.Config()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "config.toml")
}

// Load reads the file at path over the defaults. An empty path means the one
// of Path, and then a missing file is no fault. Whatever is wrong is returned
// as one or more *Error (see Faults), and the Config is then of no use.
func Load(path string) (Config, error) {
	named := path != ""
	if !named {
		dir, err := xdg.Config()
		if err != nil {
			return Config{}, &Error{Text: err.Error(), Hint: "set HOME or name the file with -config", cause: err}
		}
		path = filepath.Join(dir, "config.toml")
	}
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return Default(), nil
	}
	if err != nil {
		return Config{}, err
	}
	return Decode(path, data)
}

// read returns the content of a file or an *Error.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or a pipe would be waited for
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, unreadable(path, err)
	} else if info.Mode().Type() == fs.ModeNamedPipe {
		return nil, unreadable(path, errors.New("is a pipe"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(data) > maxFile {
		return nil, &Error{File: path, Text: fmt.Sprintf("the file is larger than %d bytes", maxFile), Hint: "is it the right file?"}
	}
	return data, nil
}

func unreadable(path string, err error) *Error {
	e := &Error{File: path, Text: "cannot be read: " + err.Error(), Hint: "look what it is and who may read it: ls -l " + path, cause: err}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		e.Text = "cannot be read: " + p.Err.Error()
	}
	if errors.Is(err, fs.ErrNotExist) {
		e.Hint = "leave the name out to use " + Path()
	}
	return e
}

// Decode lays a document over the defaults, as [Load] does with a file; file is
// its name in faults.
func Decode(file string, data []byte) (Config, error) {
	root, err := parseTree(data)
	if err != nil {
		for _, f := range Faults(err) {
			f.File = file
		}
		return Config{}, err
	}
	c := Default()
	c.File = file
	d := &decoder{file: file, places: map[string]position{}}
	d.config(root, &c)
	for _, f := range c.check() {
		// Of two faults at one place the second follows from the first.
		if at := d.place(f.name); !d.faulty(at) {
			d.fault(at, f.hint, "%s", f.text)
		}
	}
	if len(d.faults) > 0 {
		return Config{}, join(d.sorted())
	}
	_, hasCard := d.places["card"]
	_, hasGate := d.places["mic.gate"]
	c.cardGate = hasCard && !hasGate && c.Card != ""
	d.normalise(&c)
	d.warnPending(&c)
	return c, nil
}

// normalise makes the weights of each blend add up to 1, with a warning where
// they did not: the weights of the voices are a mean, not a volume.
func (d *decoder) normalise(c *Config) {
	const tolerance = 1e-6 // what is lost in adding a few decimal fractions
	for _, key := range sortedKeys(c.Voice) {
		blend := c.Voice[key].Blend
		sum := 0.0
		for _, name := range sortedKeys(blend) {
			sum += blend[name]
		}
		if math.Abs(sum-1) <= tolerance {
			continue
		}
		for name := range blend {
			blend[name] /= sum
		}
		name := joinKey("voice", key) + ".blend"
		at := d.place(name)
		w := Error{File: d.file, Line: at.line, Col: at.col,
			Text: fmt.Sprintf("the weights of %s add up to %.4g, each was divided by that", name, sum)}
		c.Warnings = append(c.Warnings, w.Error())
	}
}
