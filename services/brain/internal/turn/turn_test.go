// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"example.org/desktop-assistant/proto"
	"example.org/desktop-assistant/services/brain/internal/model"
	"example.org/desktop-assistant/services/brain/internal/session"
)

var (
	now = proto.ToolSpec{Name: "now", Sentences: map[string][]string{"en": {"what time is it", "(tell|give) me the time"}},
		Reply: map[string]string{"en": "It is {output}."}, TimeoutMS: 10000}
	search = proto.ToolSpec{Name: "search", Announce: map[string][]string{"en": {"Let me look that up."}, "it": {"Cerco."}},
		TimeoutMS: 10000, External: true, Parallel: true}
	weather = proto.ToolSpec{Name: "weather", TimeoutMS: 12000}
)

func TestSpokenAnswer(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{says("Hello ", "there. How", " are you?")}
		end := w.ask("hello")
		w.want("say0(Hello there.) say1(How are you?) spoken")
		if end.Heard != "Hello there. How are you?" {
			t.Errorf("heard %q", end.Heard)
		}
		if end.Marks.FirstToken == nil || *end.Marks.FirstToken != 50 || *end.Marks.FirstSentence != 100 || *end.Marks.FirstSample != 100 {
			t.Errorf("marks %+v", end.Marks)
		}
		if len(w.mouth.ends) != 1 || w.mouth.ends[0].Count != 2 || w.mouth.said[0].Owner != "brain/test" {
			t.Errorf("speech %+v %+v", w.mouth.said, w.mouth.ends)
		}
		if h := w.book.History(w.spec.Session, 20); len(h) != 1 || h[0] != (session.Exchange{Question: "hello", Answer: "Hello there. How are you?", Language: "en"}) {
			t.Errorf("history %+v", h)
		}
	})
}

func TestShownAnswer(t *testing.T) {
	in(t, func(w *world) {
		w.spec.Speak = false
		w.model.scripts = []script{says("Shown. ", "😀")}
		end := w.ask("hello")
		w.want("say0(Shown. 😀) silent")
		if end.Heard != "Shown. 😀" || len(w.mouth.said) > 0 {
			t.Errorf("heard %q, said %v", end.Heard, w.mouth.said)
		}
	})
}

// What the model writes is text, not orders to a terminal.
func TestAnswerIsPlain(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{says("\x1b[1mHello\x00", " there.\u202e")}
		w.ask("hello")
		w.want("say0([1mHello there.) spoken")
	})
}

// A model that goes on for ever is cut off, and the turn still ends with all that
// was heard.
func TestAnswerWithoutEnd(t *testing.T) {
	for name, pieces := range map[string][]string{
		"one piece": {strings.Repeat("x", 8<<20)},
		"sentences": slices.Repeat([]string{"One more for you. "}, maxAnswer/10),
		"runes":     slices.Repeat([]string{"éèêë"}, maxAnswer/6),
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.spec.Speak = false
				w.model.scripts = []script{says(pieces...)}
				end := w.ask("hello")
				if end.End != proto.EndSilent || len(end.Heard) < maxAnswer*9/10 || len(end.Heard) > maxAnswer*11/10 || !utf8.ValidString(end.Heard) {
					t.Errorf("end %s, %d bytes", end.End, len(end.Heard))
				}
			})
		})
	}
}

func TestTextWithoutSoundGoesWithTheNext(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{says("---\n\nHere it is.\n")}
		w.ask("hello")
		if s := w.story(); !strings.Contains(s, "Here it is.") || len(w.mouth.said) != 1 || w.mouth.said[0].Index != 0 {
			t.Errorf("story %s", s)
		}
	})
}

// promise: tool call, announcement, tool, answer, in this order.
func TestToolIsAnnounced(t *testing.T) {
	in(t, func(w *world) {
		w.tools.specs, w.tools.took = []proto.ToolSpec{search}, map[string]time.Duration{"search": time.Second}
		w.model.scripts = []script{calls("", `search {"q":"x"}`), says("Found it.")}
		end := w.ask("look for x")
		w.want("announce0(Let me look that up.) say1(Found it.) spoken")
		if end.Heard != "Let me look that up. Found it." {
			t.Errorf("heard %q", end.Heard)
		}
		if m := end.Marks.Tools; len(m) != 1 || m[0].Name != "search" || m[0].End-m[0].Start != 1000 {
			t.Errorf("marks %+v", m)
		}
		if h := w.book.History(w.spec.Session, 20); h[0].Answer != "Found it." {
			t.Errorf("history %+v", h)
		}
		second := w.model.requests()[1].Messages
		if n := len(second); second[n-2].Role != model.RoleAssistant || second[n-1].Role != model.RoleTool ||
			second[n-1].Content != `search {"q":"x"}` || second[n-1].CallID != "id0" {
			t.Errorf("messages %+v", second)
		}
		if c := w.tools.calls[0]; c.Turn != "t1" || c.Asker != "brain/test" || c.Route != "local" || c.Limit != 0 || c.Call == "id0" {
			t.Errorf("call %+v", c)
		}
	})
}

func TestQuickToolIsNotAnnounced(t *testing.T) {
	in(t, func(w *world) {
		w.tools.specs, w.tools.took = []proto.ToolSpec{search}, map[string]time.Duration{"search": 200 * time.Millisecond}
		w.model.scripts = []script{calls("", "search"), calls("", "search"), says("Found it.")}
		w.ask("look for x")
		w.want("say0(Found it.) spoken")
	})
}

func TestAnnouncedOnceInTheLanguageOfTheQuestion(t *testing.T) {
	in(t, func(w *world) {
		w.env.Settings.AnnounceAfter = 0
		w.tools.specs, w.tools.took = []proto.ToolSpec{search}, map[string]time.Duration{"search": time.Second}
		w.model.scripts = []script{calls("", "search"), calls("", "search"), says("Ecco fatto, ho trovato la risposta.")}
		w.ask("quanto dista la luna dalla terra?")
		w.want("announce0(Cerco.) say1(Ecco fatto, ho trovato la risposta.) spoken")
	})
}

func TestCallsRunInOrderAndTogetherWhereAllowed(t *testing.T) {
	in(t, func(w *world) {
		w.spec.Speak = false
		w.tools.specs = []proto.ToolSpec{search, weather}
		w.tools.took = map[string]time.Duration{"search": time.Second, "weather": 2 * time.Second}
		w.model.scripts = []script{calls("", `weather {"n":1}`, `search {"n":2}`, `search {"n":3}`, `weather {"n":4}`), says("Done.")}
		w.ask("all of it")
		slices.Sort(w.tools.order[:3]) // these begin together
		want := "start search,start search,start weather,end search,end search,end weather,start weather,end weather"
		if got := strings.Join(w.tools.order, ","); got != want {
			t.Errorf("order\n got %s\nwant %s", got, want)
		}
		var results []string
		for _, m := range w.model.requests()[1].Messages {
			if m.Role == model.RoleTool {
				results = append(results, m.CallID+m.Content)
			}
		}
		if got := strings.Join(results, " "); got != `id0weather {"n":1} id1search {"n":2} id2search {"n":3} id3weather {"n":4}` {
			t.Errorf("results %s", got)
		}
	})
}

func TestLastRoundOffersNothing(t *testing.T) {
	in(t, func(w *world) {
		w.env.Settings.Rounds = 2
		w.tools.specs = []proto.ToolSpec{now}
		w.model.scripts = []script{calls("", "now"), calls("", "now"), says("Enough.")}
		w.ask("loop")
		reqs := w.model.requests()
		if len(reqs) != 3 || len(reqs[1].Tools) != 1 || reqs[2].Tools != nil {
			t.Fatalf("%d requests", len(reqs))
		}
		last := reqs[2].Messages[len(reqs[2].Messages)-1]
		before := reqs[1].Messages[len(reqs[1].Messages)-1]
		if last.Role != model.RoleTool || !strings.Contains(last.Content, "No more tools") || strings.Contains(before.Content, "No more tools") {
			t.Errorf("last message %+v", last)
		}
		w.want("say0(Enough.) spoken")
	})
}

func TestCallsThatNeverRun(t *testing.T) {
	in(t, func(w *world) {
		w.spec.Speak = false
		w.tools.specs = []proto.ToolSpec{now, weather}
		w.model.scripts = []script{calls("", "fly", `now {"x":`), says("I can't.")}
		w.ask("fly to the moon")
		w.want("called(fly) finished(fly error: no tool named fly, use one of: now, weather) " +
			`called(now) finished(now error: arguments are not valid JSON: {"x":) ` +
			"say0(I can't.) silent")
		if len(w.tools.order) > 0 {
			t.Errorf("ran %v", w.tools.order)
		}
	})
}

func TestExternalRouteOffersOnlyWhatMayBeShown(t *testing.T) {
	in(t, func(w *world) {
		w.env.Settings.Route = "external"
		w.tools.specs = []proto.ToolSpec{now, search}
		w.model.scripts = []script{calls("", "now", "search"), says("No.")}
		w.ask("hi")
		if s, ok := w.all()[0].(proto.TurnStarted); !ok || s.Route != "external" || len(w.tools.calls) != 1 || w.tools.calls[0].Route != "external" {
			t.Errorf("started %+v, calls %+v", s, w.tools.calls)
		}
		r := w.model.requests()[0]
		if len(r.Tools) != 1 || r.Tools[0].Name != "search" || !strings.Contains(w.story(), "no tool named now") {
			t.Errorf("tools %+v, %s", r.Tools, w.story())
		}
	})
}

func TestOpeningMessages(t *testing.T) {
	in(t, func(w *world) {
		w.book.Record(w.spec.Session, session.Exchange{Question: "q1", Answer: "a1"})
		w.tools.specs = []proto.ToolSpec{search}
		w.model.scripts = []script{says("Hi.")}
		w.ask("q2")
		m := w.model.requests()[0].Messages
		if len(m) != 4 || m[0].Content != "Be brief.\nToday is Saturday 2000-01-01." || m[1].Content != "q1" || m[2].Content != "a1" || m[3].Content != "q2" {
			t.Errorf("messages %+v", m)
		}
	})
	in(t, func(w *world) {
		w.tools.specs = []proto.ToolSpec{now}
		w.model.scripts = []script{says("Hi.")}
		w.ask("q")
		if m := w.model.requests()[0].Messages; m[0].Content != "Be brief." {
			t.Errorf("a date without search: %+v", m[0])
		}
	})
}

func TestLocalIntents(t *testing.T) {
	for name, c := range map[string]struct {
		mode, question string
		result         proto.ToolResult
		gone           bool
		story          string
	}{
		"fallback":   {"fallback", "What time is it?", proto.ToolResult{OK: true, Result: "10:30"}, false, "say0(It is 10:30.) spoken"},
		"first":      {"first", "what time is it", proto.ToolResult{OK: true, Result: "10:30"}, false, "say0(It is 10:30.) spoken"},
		"off":        {"off", "what time is it", proto.ToolResult{}, false, "say0(I can't reach a chat server. Please start it, or check its address in the settings.) failed"},
		"no match":   {"fallback", "who was Ada", proto.ToolResult{}, false, "say0(I can't reach a chat server, but you can ask me for example: what time is it.) failed"},
		"tool fails": {"fallback", "what time is it", proto.ToolResult{Kind: proto.KindFailed, Result: "error: no clock"}, false, "say0(Sorry, that did not work: no clock.) failed"},
		"tool late":  {"fallback", "what time is it", proto.ToolResult{Kind: proto.KindTimeout, Result: "error: timed out"}, false, "say0(Sorry, that took too long.) failed"},
		"tool gone":  {"fallback", "what time is it", proto.ToolResult{}, true, "called(now) finished(now error: the tool runner is gone) say0(Sorry, the part that runs my tools is not there.) failed"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.env.Settings.Intents = c.mode
				w.tools.specs, w.tools.results, w.tools.gone = []proto.ToolSpec{now}, map[string]proto.ToolResult{"now": c.result}, c.gone
				end := w.ask(c.question)
				w.want(c.story)
				if c.mode == "first" && len(w.model.requests()) > 0 {
					t.Error("the model was asked")
				}
				if name == "no match" && (end.Error.Code != proto.CodeUnavailable || end.Error.Hint == "") {
					t.Errorf("error %+v", end.Error)
				}
			})
		})
	}
}

func TestLocalAnswerStaysLocal(t *testing.T) {
	in(t, func(w *world) {
		w.env.Settings.Route, w.env.Settings.Intents = "external", "first"
		w.tools.specs = []proto.ToolSpec{now}
		w.tools.results = map[string]proto.ToolResult{"now": {OK: true, Result: "secret"}}
		w.ask("what time is it")
		w.want("say0(It is secret.) spoken")
		if h := w.book.History(w.spec.Session, 2); h[0].Answer != notePrivate || w.tools.calls[0].Route != "local" {
			t.Errorf("history %+v, call %+v", h, w.tools.calls)
		}
	})
}

func TestModelFailures(t *testing.T) {
	const empty = "say0(The model gave me no answer. Please ask again.) failed"
	for name, c := range map[string]struct {
		scripts []script
		story   string
		asked   int
	}{
		"empty twice":    {[]script{fails(model.KindEmpty, model.RetryAgain), fails(model.KindEmpty, model.RetryAgain)}, empty, 2},
		"empty once":     {[]script{fails(model.KindEmpty, model.RetryAgain), says("Here.")}, "say0(Here.) spoken", 2},
		"no words":       {[]script{says("😀"), says("👍")}, empty, 2},
		"white space":    {[]script{says(" \n", "\n"), says("Here.")}, "say0(Here.) spoken", 2},
		"refused":        {[]script{fails(model.KindRefused, model.RetryNever)}, "say0(The chat server refused the question. The reason is in the log.) failed", 1},
		"key":            {[]script{fails(model.KindUnauthorized, model.RetryNever)}, "say0(The chat server does not accept the key. Please check it in the settings.) failed", 1},
		"stalled":        {[]script{fails(model.KindStalled, model.RetryNever)}, "say0(The chat server stopped answering. Please ask again.) failed", 1},
		"loading, ready": {[]script{fails(model.KindLoading, model.RetryLater), fails(model.KindLoading, model.RetryLater), says("Ready.")}, "announce0(The model is still loading, just a moment.) say1(Ready.) spoken", 3},
		"no tools":       {[]script{fails(model.KindNoTools, model.RetryBare), says("Bare.")}, "say0(Bare.) spoken", 2},
		"context":        {[]script{fails(model.KindContextFull, model.RetryShorter)}, "say0(Our conversation has become too long for the model. Please start a new one.) failed", 1},
		"broke off": {[]script{func(_ context.Context, emit func(string)) (model.Reply, error) {
			emit("One. Two. Thr")
			return model.Reply{}, &model.Error{Kind: model.KindInterrupted, Text: "cut"}
		}}, "say0(One.) say1(Two.) say2(Sorry, the answer broke off. Please ask again.) failed", 1},
		"calls in the last round": {[]script{calls("Well. ", "now"), calls("So be it.", "now")}, "say0(Well.) say1(So be it.) spoken", 2},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.env.Settings.Rounds = 1
				w.tools.specs = []proto.ToolSpec{now}
				w.model.scripts = c.scripts
				w.ask("hello")
				w.want(c.story)
				if n := len(w.model.requests()); n != c.asked {
					t.Errorf("asked %d times", n)
				}
				if name == "no tools" && w.model.requests()[1].Tools != nil {
					t.Error("tools were offered again")
				}
				if name == "broke off" && w.book.History(w.spec.Session, 2)[0].Answer != "One. Two." {
					t.Errorf("history %+v", w.book.History(w.spec.Session, 2))
				}
				if name == "refused" && w.book.History(w.spec.Session, 2)[0].Answer != noteNone {
					t.Errorf("history %+v", w.book.History(w.spec.Session, 2))
				}
			})
		})
	}
}

func TestLoadingForEver(t *testing.T) {
	in(t, func(w *world) {
		for range 200 {
			w.model.scripts = append(w.model.scripts, fails(model.KindLoading, model.RetryLater))
		}
		end := w.ask("hello")
		w.want("announce0(The model is still loading, just a moment.) say1(The model is not loaded yet. Please try again in a while.) failed")
		if end.Error.Code != proto.CodeUnavailable || end.Marks.Total < 120_000 || end.Marks.Total > 125_000 {
			t.Errorf("end %+v", end)
		}
	})
}

func TestLongHistoryIsShortened(t *testing.T) {
	in(t, func(w *world) {
		for range 5 {
			w.book.Record(w.spec.Session, session.Exchange{Question: "q", Answer: "a"})
		}
		w.model.scripts = []script{fails(model.KindContextFull, model.RetryShorter), says("Short.")}
		w.ask("hello")
		if r := w.model.requests(); len(r) != 2 || len(r[0].Messages) != 12 || len(r[1].Messages) != 6 || r[1].Messages[1].Role != model.RoleUser {
			t.Errorf("requests %+v", r)
		}
	})
}

// A context that is too full all the same is asked for once more, not twice.
func TestShortenedOnce(t *testing.T) {
	in(t, func(w *world) {
		for range 5 {
			w.book.Record(w.spec.Session, session.Exchange{Question: "q", Answer: "a"})
		}
		w.model.scripts = []script{fails(model.KindContextFull, model.RetryShorter), fails(model.KindContextFull, model.RetryShorter), says("Never.")}
		w.ask("hello")
		w.want("say0(Our conversation has become too long for the model. Please start a new one.) failed")
		if n := len(w.model.requests()); n != 2 {
			t.Errorf("asked %d times", n)
		}
		// The next turn has less to send: half of what was refused last, and the
		// note of this turn.
		if h := w.book.History(w.spec.Session, 100); len(h) != 2 || h[1].Question != "hello" {
			t.Errorf("left %+v", h)
		}
	})
}

func TestOneMoment(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{func(ctx context.Context, emit func(string)) (model.Reply, error) {
			time.Sleep(10 * time.Second)
			return says("Late.")(ctx, emit)
		}}
		w.ask("hello")
		w.want("announce0(One moment.) say1(Late.) spoken")
	})
}

// slow answers after a while.
func slow(d time.Duration, next script) script {
	return func(ctx context.Context, emit func(string)) (model.Reply, error) {
		time.Sleep(d)
		return next(ctx, emit)
	}
}

// "One moment" is said of every request that is slow, but once a turn, in the
// language of the question, and not while something else explains the silence.
func TestOneMomentOnceATurn(t *testing.T) {
	late := 4*time.Second + 100*time.Millisecond
	for name, c := range map[string]struct {
		scripts []script
		story   string
	}{
		"in time":        {[]script{slow(3900*time.Millisecond, says("Ecco."))}, "say0(Ecco.) spoken"},
		"the answer":     {[]script{slow(late, says("Ecco."))}, "announce0(Un momento.) say1(Ecco.) spoken"},
		"after a tool":   {[]script{calls("", "weather"), slow(late, says("Ecco."))}, "announce0(Un momento.) say1(Ecco.) spoken"},
		"twice":          {[]script{slow(late, calls("", "now")), slow(late, says("Ecco."))}, "announce0(Un momento.) say1(Ecco.) spoken"},
		"the tool":       {[]script{calls("", "weather"), says("Ecco.")}, "say0(Ecco.) spoken"},
		"asked again":    {[]script{slow(3*time.Second, fails(model.KindEmpty, model.RetryAgain)), slow(3*time.Second, says("Ecco."))}, "announce0(Un momento.) say1(Ecco.) spoken"},
		"busy, then not": {[]script{fails(model.KindBusy, model.RetryLater), slow(2*late, says("Ecco."))}, "announce0(Un momento.) say1(Ecco.) spoken"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tools.specs, w.tools.took = []proto.ToolSpec{now, weather}, map[string]time.Duration{"weather": 10 * time.Second}
				w.model.scripts = c.scripts
				w.start().Ask("che tempo fa?", "it")
				w.end()
				w.want(c.story)
			})
		})
	}
}

// The built-in tools have a budget that failures count against, as toolrunner
// keeps it; when it is spent none of them is offered any more.
func TestBudgetOfBuiltInTools(t *testing.T) {
	file := proto.ToolSpec{Name: "read_file", Native: true, Parallel: true, TimeoutMS: 10000}
	for limit, want := range map[int]string{1: "now read_file, now, now", 2: "now read_file, now read_file, now", 0: "now read_file, now read_file, now read_file"} {
		in(t, func(w *world) {
			w.spec.Speak = false
			w.tools.specs, w.tools.limit = []proto.ToolSpec{now, file}, limit
			w.tools.results = map[string]proto.ToolResult{"read_file": {Kind: proto.KindNotAllowed, Result: "error: no more"}}
			w.model.scripts = []script{calls("", "read_file {", "now", "fly"), calls("", "read_file"), says("Well.")}
			w.ask("look")
			var offers []string
			for _, req := range w.model.requests() {
				var names []string
				for _, tool := range req.Tools {
					names = append(names, tool.Name)
				}
				offers = append(offers, strings.Join(names, " "))
			}
			if got := strings.Join(offers, ", "); got != want {
				t.Errorf("limit %d: offered %s, want %s", limit, got, want)
			}
			for _, c := range w.tools.calls {
				if c.Limit != limit {
					t.Errorf("call %+v", c)
				}
			}
			if m := w.model.requests()[1].Messages; m[len(m)-3].Content != "error: no more" {
				t.Errorf("a refusal is no result: %+v", m)
			}
		})
	}
}

// Which tools there are is fixed when a turn starts, where it is known then.
func TestToolsAreFixedAtTheStart(t *testing.T) {
	for known, want := range map[bool]int{true: 1, false: 2} {
		in(t, func(w *world) {
			w.tools.specs, w.tools.known = []proto.ToolSpec{now}, known
			w.model.scripts = []script{says("Yes.")}
			turn := w.spoken(proto.TriggerKey)
			synctest.Wait()
			w.tools.specs = []proto.ToolSpec{now, weather}
			turn.Event(proto.UtteranceEnded{Reason: proto.UtteranceReleased})
			turn.Ask("is it", "en")
			w.end()
			if n := len(w.model.requests()[0].Tools); n != want {
				t.Errorf("known %v: %d tools", known, n)
			}
		})
	}
}

// The first sentence goes by the language of the question, each later one by the
// sentence before it, and each has its own voice.
func TestVoiceBySentence(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{says("OK. ", "In inglese si chiede in questo modo. ", "Where is the nearest station? ", "The train leaves at nine in the morning. ", "Ok.")}
		w.start().Ask("come si dice in inglese?", "it")
		w.end()
		var langs []string
		for _, s := range w.mouth.said {
			langs = append(langs, s.Language)
		}
		if got := strings.Join(langs, " "); got != "it it en en en" {
			t.Errorf("languages %s of %s", got, w.story())
		}
	})
}

func TestPanicFailsTheTurn(t *testing.T) {
	in(t, func(w *world) {
		w.model.scripts = []script{func(context.Context, func(string)) (model.Reply, error) { panic("boom") }}
		end := w.ask("hello")
		w.want("say0(Sorry, something went wrong inside me. Please ask again.) failed")
		if end.Error.Code != proto.CodeInternal {
			t.Errorf("error %+v", end.Error)
		}
	})
	in(t, func(w *world) {
		w.env.Phrase = func([]string) string { panic("boom") }
		w.tools.specs, w.tools.took = []proto.ToolSpec{search}, map[string]time.Duration{"search": time.Second}
		w.model.scripts = []script{calls("", "search"), says("Never.")}
		end := w.ask("hello")
		if end.Error == nil || end.Error.Code != proto.CodeInternal || len(w.notices) != 1 {
			t.Errorf("end %+v, notices %v", end, w.notices)
		}
	})
}

func TestWaitsForTheTurnBefore(t *testing.T) {
	in(t, func(w *world) {
		before := &Turn{over: make(chan struct{})}
		w.model.scripts = []script{says("Second.")}
		w.start().Ask("hello", "en", before)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(w.model.requests()); n > 0 {
			t.Error("answered before the turn before was over")
		}
		w.book.Record(w.spec.Session, session.Exchange{Question: "first", Answer: "cut"})
		close(before.over)
		w.end()
		if m := w.model.requests()[0].Messages; len(m) != 4 || m[2].Content != "cut" {
			t.Errorf("messages %+v", m)
		}
	})
}
