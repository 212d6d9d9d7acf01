// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestParams(t *testing.T) {
	schema := `{"type":"object","required":["room","days"],"properties":{
		"room":{"type":"string","enum":["hall","kitchen"]},
		"days":{"type":"integer","enum":[1,2.50,true]},
		"odd":{"type":["string","null"],"enum":["a"]},
		"free":{"type":"string","description":"any"},
		"none":7}}`
	want := map[string]Param{
		"room": {Type: "string", Enum: []string{"hall", "kitchen"}, Required: true},
		"days": {Type: "integer", Enum: []string{"1", "2.50", "true"}, Required: true},
		"odd":  {},
		"free": {Type: "string"},
		"none": {},
	}
	if got := Params(json.RawMessage(schema)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{``, `[]`, `{"properties":[]}`, `{`} {
		if got := Params(json.RawMessage(bad)); got != nil {
			t.Errorf("%q has %+v", bad, got)
		}
	}
}
