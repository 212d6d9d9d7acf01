// SPDX-License-Identifier: Apache-2.0

package adapter

import "testing"

// own are cases of our own in the form of the handed ones: what else the kinds
// arguments, errors, loading, lookup, output, running and templating hold.
var own = map[string]string{
	"arguments/number":                          `{"call":{"tool":"x","arguments":"3"},"expect":{"result":"error: arguments are not valid JSON"}}`,
	"arguments/empty":                           `{"call":{"tool":"x","arguments":""},"expect":{"result":"error: arguments are not valid JSON"}}`,
	"arguments/comment":                         `{"call":{"tool":"x","arguments":"{} // a"},"expect":{"result":"error: arguments are not valid JSON"}}`,
	"arguments/two keys that differ by case":    `{"call":{"tool":"x","arguments":"{\"a\":\"1\",\"A\":\"2\"}"},"expect":{"result":"<1><>"}}`,
	"arguments/unknown tool before bad JSON":    `{"call":{"tool":"nope","arguments":"{bad"},"expect":{"result":"error: no tool named nope"}}`,
	"arguments/tool with a path":                `{"call":{"tool":"../tools/x","arguments":"{}"},"expect":{"result":"error: no tool named ../tools/x"}}`,
	"arguments/tool of nothing":                 `{"call":{"tool":"","arguments":"{}"},"expect":{"result_prefix":"error: no tool named"}}`,
	"arguments/tool with escapes":               `{"call":{"tool":"x\u001b[31m\n","arguments":"{}"},"expect":{"result":"error: no tool named x"}}`,
	"arguments/tool of another case":            `{"call":{"tool":"X","arguments":"{}"},"expect":{"result":"error: no tool named X"}}`,
	"templating/big and small numbers":          `{"call":{"tool":"x","arguments":"{\"a\":1000000000,\"b\":0.10}"},"expect":{"result":"<1000000000><0.10>"}}`,
	"templating/shell and expansions":           `{"call":{"tool":"x","arguments":"{\"a\":\"$(id) $HOME ~ *\",\"b\":\"a\\nb\\tc\"}"},"expect":{"result":"<$(id) $HOME ~ *><a\nb\tc>"}}`,
	"templating/option and file":                `{"call":{"tool":"x","arguments":"{\"a\":\"-n\",\"b\":\"@/etc/passwd\"}"},"expect":{"result":"<-n><@/etc/passwd>"}}`,
	"templating/object as written":              `{"call":{"tool":"x","arguments":"{\"a\":{\"k\": [1, 2.0]},\"b\":false}"},"expect":{"result":"<{\"k\": [1, 2.0]}><false>"}}`,
	"templating/words stay together":            `{"call":{"tool":"x","arguments":"{\"a\":\"one two\",\"b\":\"\"}"},"expect":{"result":"<one two><>"}}`,
	"templating/too much":                       `{"call":{"tool":"x","arguments":"{\"a\":\"<repeat:v:131072>\"}"},"expect":{"result":"error: cannot run x.sh: its arguments are too long"}}`,
	"errors/carriage returns":                   `{"files":{"tools/x.sh":"#!/bin/sh\nprintf ' 10%%\\r 100%%\\r\\noops\\r\\n\\r\\n' >&2; exit 1\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: oops"}}`,
	"errors/no newline":                         `{"files":{"tools/x.sh":"#!/bin/sh\nprintf 'first\\nlast' >&2; exit 2\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: last"}}`,
	"errors/blank":                              `{"files":{"tools/x.sh":"#!/bin/sh\nprintf ' \\n\\t\\n' >&2; exit 9\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: exit status 9"}}`,
	"errors/one long line":                      `{"files":{"tools/x.sh":"#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' e >&2; exit 1\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result_prefix":"error: eee","max_result_runes":2000}}`,
	"errors/signal":                             `{"files":{"tools/x.sh":"#!/bin/sh\nkill -TERM $$\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: ended by signal 15"}}`,
	"errors/the whole group":                    `{"files":{"tools/x.sh":"#!/bin/sh\nsleep <mark> & kill -KILL 0\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: ended by signal 9","no_process_left":true}}`,
	"errors/no interpreter of that line ending": `{"files":{"tools/x.sh":"#!/bin/sh\r\necho hi\r\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result_prefix":"error: cannot run x.sh"}}`,
	"errors/empty program":                      `{"files":{"tools/x.sh":""},"call":{"tool":"x","arguments":"{}"},"expect":{"result_prefix":"error: cannot run x.sh"}}`,
	"errors/not executable":                     `{"modes":{"tools/x.sh":"644"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: cannot run x.sh: it is not executable"}}`,
	"lookup/absolute":                           `{"files":{"tools/y.toml":"description = \"D.\"\ncommand = [\"<case>/bin/p\"]\n","bin/p":"#!/bin/sh\necho abs\n"},"call":{"tool":"y","arguments":"{}"},"expect":{"result":"abs"}}`,
	"lookup/below the tools folder":             `{"files":{"tools/y.toml":"description = \"D.\"\ncommand = [\"sub/p\"]\n","tools/sub/p":"#!/bin/sh\necho sub\n","sub/p":"#!/bin/sh\necho wrong\n"},"call":{"tool":"y","arguments":"{}"},"expect":{"result":"sub"}}`,
	"lookup/above the tools folder":             `{"files":{"tools/y.toml":"description = \"D.\"\ncommand = [\"../p\"]\n","p":"#!/bin/sh\necho wrong\n"},"call":{"tool":"y","arguments":"{}"},"expect":{"result_prefix":"error: cannot run ../p"}}`,
	"lookup/link":                               `{"files":{"tools/y.toml":"description = \"D.\"\ncommand = [\"p\"]\n","tools/p":{"symlink":"../bin/q"},"bin/q":"#!/bin/sh\necho linked\n"},"call":{"tool":"y","arguments":"{}"},"expect":{"result":"linked"}}`,
	"lookup/pipe":                               `{"files":{"tools/y.toml":"description = \"D.\"\ncommand = [\"p\"]\n","tools/p":{"fifo":true}},"call":{"tool":"y","arguments":"{}"},"expect":{"result_prefix":"error: cannot run p"}}`,
	"lookup/working directory":                  `{"files":{"tools/y.toml":"description = \"D.\"\ncommand = [\"p\"]\n","p":"#!/bin/sh\necho wrong\n"},"env":{"PATH":".:/usr/bin:/bin"},"call":{"tool":"y","arguments":"{}"},"expect":{"result_prefix":"error: cannot run p"}}`,
	"output/mark of the byte order and marks":   `{"files":{"tools/x.sh":"#!/bin/sh\nprintf 'e\\314\\201 \\360\\237\\221\\215\\n'\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"e\u0301 👍"}}`,
	"output/cut after trimming":                 `{"files":{"tools/x.sh":"#!/bin/sh\nprintf '\\n\\n%02500d\\n' 7\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"min_result_runes":2000,"max_result_runes":2000,"result_prefix":"000"}}`,
	"output/characters, not bytes":              `{"files":{"tools/x.sh":"#!/bin/sh\nawk 'BEGIN{for(i=0;i<3000;i++)printf \"\\360\\237\\221\\215\"}'\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"min_result_runes":2000,"max_result_runes":2000}}`,
	"output/only blanks":                        `{"files":{"tools/x.sh":"#!/bin/sh\nprintf ' \\n\\t \\r\\n'\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":""}}`,
	"output/closed early":                       `{"files":{"tools/x.sh":"#!/bin/sh\necho said; exec 1>&- 2>&-; sleep 0.2\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"said"}}`,
	"running/input is empty":                    `{"files":{"tools/x.sh":"#!/bin/sh\ncat; read a || echo none\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"none"}}`,
	"running/stopped":                           `{"files":{"tools/x.toml":"description = \"D.\"\ncommand = [\"x.sh\"]\ntimeout = 0.3\n","tools/x.sh":"#!/bin/sh\nsleep <mark> & kill -STOP $$\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"error: timed out","no_process_left":true,"no_zombies":true}}`,
	"running/silent daemon":                     `{"files":{"tools/x.sh":"#!/bin/sh\nsetsid sleep <mark> >/dev/null 2>&1 </dev/null &\necho done\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"done","no_process_left":true,"no_zombies":true}}`,
	"running/fork in a chain":                   `{"files":{"tools/x.toml":"description = \"D.\"\ncommand = [\"x.sh\"]\ntimeout = 0.5\n","tools/x.sh":"#!/bin/sh\n[ -n \"$1\" ] || set -- 0\n[ \"$1\" -gt 40 ] && exec sleep <mark>\nsetsid \"$0\" $(($1 + 1)) &\nexit\n"},"call":{"tool":"x","arguments":"{}"},"expect":{"result":"","no_process_left":true,"no_zombies":true}}`,
	"running/many calls":                        `{"files":{"tools/x.sh":"#!/bin/sh\n( true & ) ; ( setsid true & ); echo ok\n"},"repeat":20,"call":{"tool":"x","arguments":"{}"},"expect":{"result":"ok","no_zombies":true}}`,
	"loading/pipe":                              `{"files":{"tools/p.toml":{"fifo":true}},"expect":{"load_error_contains":["p.toml"],"tools_exactly":["x"]}}`,
	"loading/link to nothing":                   `{"files":{"tools/p.toml":{"symlink":"nowhere"}},"expect":{"load_error_contains":["p.toml"],"tools_exactly":["x"]}}`,
	"loading/folder":                            `{"files":{"tools/p.toml/y":""},"expect":{"load_error_contains":["p.toml"],"tools_exactly":["x"]}}`,
	"loading/empty":                             `{"files":{"tools/p.toml":""},"expect":{"load_error_contains":["p.toml"],"tools_exactly":["x"]}}`,
	"loading/hidden and others":                 `{"files":{"tools/.p.toml":"","tools/p.toml~":"","tools/p.TOML":"","tools/sub/q.toml":""},"expect":{"tools_exactly":["x"]}}`,
	"loading/odd names":                         `{"files":{"tools/a b.toml":"description = \"D.\"\ncommand = [\"true\"]\n","tools/a.b.toml":"description = \"D.\"\ncommand = [\"true\"]\n","tools/A-1_z.toml":"description = \"D.\"\ncommand = [\"true\"]\n"},"expect":{"load_error_contains":["a b.toml","a.b.toml"],"tools_exactly":["x","A-1_z"]}}`,
	"loading/not UTF-8":                         `{"files":{"tools/p.toml":{"b64":"ZGVzY3JpcHRpb24gPSAi/yIK"}},"expect":{"load_error_contains":["p.toml:1"],"tools_exactly":["x"]}}`,
	"loading/same key twice":                    `{"files":{"tools/p.toml":"description = \"D.\"\ncommand = [\"true\"]\ncommand = [\"false\"]\n"},"expect":{"load_error_contains":["p.toml:3"],"tools_exactly":["x"]}}`,
	"loading/misspelt key":                      `{"files":{"tools/p.toml":"description = \"D.\"\ncommand = [\"true\"]\ntimout = 3\n"},"expect":{"load_error_contains":["p.toml:3","timout","timeout"],"tools_exactly":["x","p"]}}`,
	"loading/timeouts":                          `{"files":{"tools/p.toml":"description = \"D.\"\ncommand = [\"true\"]\ntimeout = \"5\"\n","tools/q.toml":"description = \"D.\"\ncommand = [\"true\"]\ntimeout = 0\n","tools/r.toml":"description = \"D.\"\ncommand = [\"true\"]\ntimeout = inf\n"},"expect":{"load_error_contains":["p.toml","q.toml","r.toml"],"tools_exactly":["x"]}}`,
}

// plain is the tool x of cases that have none.
const plain = `"tools/x.toml":"description = \"D.\"\ncommand = [\"x.sh\", \"{a}\", \"{b}\"]\n[params.a]\n[params.b]\n","tools/x.sh":"#!/bin/sh\nprintf '<%s><%s>' \"$1\" \"$2\"\n"`

func TestOwnCases(t *testing.T) {
	for name, text := range own {
		t.Run(name, func(t *testing.T) { runCase(t, []byte(text), []byte(`{"files":{`+plain+`}}`)) })
	}
}
