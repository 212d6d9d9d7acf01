// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/desktop-assistant/pkg/intent"
	"example.org/desktop-assistant/proto"
)

const (
	// longTimeout is when silence gets long: the default of most tools is shorter.
	longTimeout = DefaultTimeout
	// longDescription is what every single question pays for, in characters.
	longDescription = 800
)

// LintDir gives advice on the tools of a folder that can be used: what works,
// but is likely to go wrong or to be unsafe with what a model puts in. Each
// piece is a warning with file, line, what and why, and a hint what to type.
func LintDir(dir string) []Problem {
	var all []Problem
	for _, t := range LoadDir(dir).Tools {
		if data, err := readFile(t.File); err == nil { // else it changed just now
			all = append(all, Lint(t.File, data)...)
		}
	}
	return all
}

// Lint is [LintDir] for the text of one file.
func Lint(file string, data []byte) []Problem {
	t, _ := Decode(file, data)
	if t == nil {
		return nil
	}
	d := parseDocument(file, data)
	l := linter{document: d, tool: t}
	l.descriptions()
	l.program()
	for i := 1; i < len(t.Command); i++ {
		l.element(i)
	}
	l.params()
	l.speech()
	l.rights()
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return a.Line - b.Line })
	return d.problems
}

type linter struct {
	*document
	tool *Tool
}

func (l linter) descriptions() {
	if n := utf8.RuneCountInString(l.tool.Description); n > longDescription {
		l.warn([]string{"description"}, "keep what the model needs to choose the tool, and move the rest to the params",
			"the description has %d characters, which the model reads at every question", n)
	}
	for _, p := range l.tool.Params {
		if p.Description == "" {
			l.warn([]string{"params", p.Name}, fmt.Sprintf("[params.%s] description = \"what it is, and what empty means\"", p.Name),
				"params.%s has no description: the model must guess what to put there", p.Name)
		}
	}
}

var (
	shells   = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"}
	wrappers = []string{"env", "nice", "ionice", "timeout", "stdbuf", "setsid", "nohup", "sudo", "doas", "busybox"}
	// codeFlags are the options of interpreters whose value is a program.
	codeFlags  = regexp.MustCompile(`^-[a-zA-Z]*[cerE]$|^--(eval|print|exec|command)$`)
	coders     = regexp.MustCompile(`^(python[0-9.]*|perl|ruby|node|nodejs|php|lua[0-9.]*|deno|R|Rscript)$`)
	dangerous  = []string{"rm", "rmdir", "shred", "dd", "shutdown", "reboot", "poweroff", "halt", "systemctl", "kill", "pkill", "killall", "sendmail", "mail", "mutt"}
	amount     = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
	secretName = regexp.MustCompile(`(?i)(^|_)(key|apikey|token|secret|password|passwd|pass)(_|$)`)
)

// program finds what the command really runs, past env, nice and the like.
func (l linter) program() {
	at := 0
	for at+1 < len(l.tool.Command) && slices.Contains(wrappers, filepath.Base(l.tool.Command[at])) {
		at++
		for at+1 < len(l.tool.Command) && skipped(l.tool.Command[at]) {
			at++
		}
	}
	name := filepath.Base(l.tool.Command[at])
	keys := []string{"command", strconv.Itoa(at)}
	switch {
	case slices.Contains(shells, name):
		l.code(at, "the shell of the command line")
		l.warn(keys, "put the lines into a script with #! beside the tool, and name that: command = [\"script.sh\", \"--\", \"{param}\"]",
			"%s in command: a shell reads values again, so that one may become a command of its own", name)
	case coders.MatchString(name):
		l.code(at, name)
	case slices.Contains(dangerous, name) && l.tool.Confirm == proto.ConfirmNever:
		l.warn(keys, "confirm = \"voice\"", "%s changes or ends something, and runs whenever the model says so", name)
	}
}

// skipped are the arguments of a wrapper itself: options, numbers, variables.
func skipped(argument string) bool {
	return strings.HasPrefix(argument, "-") || strings.Contains(argument, "=") || amount.MatchString(argument)
}

// code warns of a value inside the program text that an interpreter is given.
func (l linter) code(at int, interpreter string) {
	for i := at + 1; i+1 < len(l.tool.Command); i++ {
		text := l.tool.Command[i+1]
		if !codeFlags.MatchString(l.tool.Command[i]) {
			continue
		}
		if names := placeholders(text); len(names) > 0 {
			l.warn([]string{"command", strconv.Itoa(i + 1)}, "hand it over as an argument of its own, after the code, and read it from there",
				"{%s} is put into code for %s: a value can run anything", names[0], interpreter)
		}
		return
	}
}

var (
	alone = regexp.MustCompile(`^\{[A-Za-z_][A-Za-z0-9_-]{0,63}\}$`)
	// fileOptions are those of curl and its like whose value may name a file: @notes.
	fileOptions = []string{"-d", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "-F", "--form",
		"-T", "--upload-file", "-K", "--config", "-H", "--header"}
	optionLike = []string{"-", "-x", "-rf", "-o/tmp/x", "--output=/tmp/x", "--x"}
)

// element looks at one argument with placeholders.
func (l linter) element(i int) {
	text := l.tool.Command[i]
	names := placeholders(text)
	if len(names) == 0 {
		return
	}
	keys := []string{"command", strconv.Itoa(i)}
	curl := filepath.Base(l.tool.Command[0]) == "curl"
	option, value, joined := strings.Cut(text, "=")
	switch {
	case curl && slices.Contains(fileOptions, l.tool.Command[i-1]) && strings.HasPrefix(text, "{"),
		curl && joined && slices.Contains(fileOptions, option) && strings.HasPrefix(value, "{"):
		l.warn(keys, "write --data-raw for text, or --form-string \"name={"+names[0]+"}\"",
			"curl takes a value that begins with @ for the name of a file to send: {%s} could name one of yours", names[0])
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"):
		l.warn(keys, "let curl do it: \"--get\", \"--data-urlencode\", \"q={"+names[0]+"}\", and the address without it",
			"{%s} is put into an address as it is: a blank, & or # breaks it or adds to it", names[0])
	case alone.MatchString(text) && !slices.Contains(l.tool.Command[:i], "--") && l.canBeOption(names[0]):
		l.warn(keys, fmt.Sprintf("put \"--\" before it if the program knows that, or write it as \"--name={%s}\", or refuse such values: [params.%s] pattern = \"[^-].*\"", names[0], names[0]),
			"{%s} stands alone: a value such as -rf or --output=FILE is taken for an option", names[0])
	}
}

// canBeOption reports whether the rules of a param let a dash come first.
func (l linter) canBeOption(name string) bool {
	p, _ := l.tool.Param(name)
	if p.Enum != nil {
		return slices.ContainsFunc(p.Enum, func(v string) bool { return strings.HasPrefix(v, "-") })
	}
	return p.Pattern == nil || slices.ContainsFunc(optionLike, p.Pattern.MatchString)
}

// params warns of those that nothing uses.
func (l linter) params() {
	used := map[string]bool{}
	for _, element := range l.tool.Command {
		for _, name := range placeholders(element) {
			used[name] = true
		}
	}
	for _, p := range l.tool.Params {
		if !used[p.Name] {
			l.warn([]string{"params", p.Name}, fmt.Sprintf("put {%s} into command, or take [params.%s] out", p.Name, p.Name),
				"params.%s is used nowhere in command: what the model says there is lost", p.Name)
		}
	}
}

func (l linter) speech() {
	if l.tool.Timeout > longTimeout && len(l.tool.Announce) == 0 {
		l.warn([]string{"timeout"}, "announce.en = [\"One moment, I'm looking.\"]",
			"it may take %s and says nothing meanwhile", l.tool.Timeout.Round(100*time.Millisecond))
	}
	params := map[string]intent.Param{}
	for _, p := range l.tool.Params {
		params[p.Name] = intent.Param{Enum: p.Enum, Type: p.Type, Required: p.Required}
	}
	for _, language := range l.keys("sentences") {
		for i, sentence := range l.tool.Sentences[language] {
			_, err := intent.ParseTemplate(sentence, params)
			var at *intent.SyntaxError
			if errors.As(err, &at) {
				hint := at.Hint
				if hint == "" {
					hint = "(a|b) is one of several, [a] may be left out, {name} is a param"
				}
				l.warn([]string{"sentences", language, strconv.Itoa(i)}, hint,
					"sentences.%s: %q is never understood: column %d: %s", language, sentence, at.Column, at.Reason)
			}
		}
	}
	for _, language := range l.keys("reply") {
		if len(l.tool.Sentences[language]) == 0 {
			l.warn([]string{"reply", language}, fmt.Sprintf("sentences.%s = [\"what one says\"]", language),
				"reply.%s is never said: it answers sentences, and there are none in that language", language)
		}
	}
}

// rights warns of what hands out more than is needed.
func (l linter) rights() {
	if l.tool.InheritEnv {
		l.warn([]string{"inherit_env"}, "name what it needs: [env] NAME = \"value\"",
			"inherit_env gives the tool every variable of the assistant, passwords among them")
	}
	for _, name := range l.keys("env") {
		if secretName.MatchString(name) && l.tool.Env[name] != "" {
			l.warn([]string{"env", name}, fmt.Sprintf("keep it in a file that only you can read (chmod 600), and give its name: env.%s_FILE", name),
				"env.%s looks like a secret: whoever reads this file, or the environment of the process, has it", name)
		}
	}
	if l.tool.Sandbox != nil && slices.Contains(l.tool.Sandbox.Write, "~") {
		l.warn([]string{"sandbox", "write"}, "name the folders it writes to, such as \"~/.cache/"+l.tool.Name+"\"",
			"the sandbox lets it change your whole home, with what starts when you log in")
	}
}
