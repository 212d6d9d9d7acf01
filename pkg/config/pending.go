// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"strings"
)

// pending are the keys and tables that are read and checked, but on which
// nothing acts yet. Whoever builds what they are for removes them here.
var pending = []string{
	"model.speculate",
	"session.mode", "session.keep_days",
	"mic.echo_cancel", "mic.patience", "mic.vad_model", "mic.wake_model", "mic.wake_threshold",
	"stt.speculate",
	"whisper.model", "whisper.device",
	"privacy.keep_audio",
	"telemetry",
}

// warnPending names what the file asks for in vain, so that nobody waits for
// it to happen.
func (d *decoder) warnPending(c *Config) {
	asked, standard := flatten(*c), flatten(Default())
	for _, key := range sortedKeys(asked) {
		at, written := d.places[key]
		if !written || !isPending(key) || reflect.DeepEqual(asked[key], standard[key]) {
			continue
		}
		w := Error{File: d.file, Line: at.line, Col: at.col, Text: fmt.Sprintf("%s is not built yet and changes nothing", key)}
		c.Warnings = append(c.Warnings, w.Error())
	}
}

func isPending(key string) bool {
	for _, p := range pending {
		if key == p || strings.HasPrefix(key, p+".") {
			return true
		}
	}
	return false
}

// flatten gives the values of all fixed keys by full name.
func flatten(c Config) map[string]any {
	all := map[string]any{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			key := fieldKey(v.Type().Field(i))
			if key == "" {
				continue
			}
			name := joinKey(path, key)
			if v.Field(i).Kind() == reflect.Struct {
				walk(v.Field(i), name)
				continue
			}
			all[name] = v.Field(i).Interface()
		}
	}
	walk(reflect.ValueOf(c), "")
	return all
}
