// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/desktop-assistant/proto"
)

func fill(s *Store, id string, n int) {
	for i := range n {
		s.Record(id, Exchange{Question: fmt.Sprint("q", i), Answer: fmt.Sprint("a", i), Language: "en"})
	}
}

func TestHistoryKeepsPairs(t *testing.T) {
	s := New(0)
	id := s.Current("local")
	fill(s, id, 7)
	for _, c := range []struct {
		messages, first, n int
	}{{0, 0, 0}, {1, 0, 0}, {2, 6, 1}, {5, 5, 2}, {6, 4, 3}, {14, 0, 7}, {20, 0, 7}} {
		got := s.History(id, c.messages)
		if len(got) != c.n || c.n > 0 && got[0].Question != fmt.Sprint("q", c.first) {
			t.Errorf("History(%d) = %v, want %d from q%d", c.messages, got, c.n, c.first)
		}
	}
	if got := s.History("nope", 20); got != nil {
		t.Errorf("history of an unknown session: %v", got)
	}
}

func TestCurrentOfDevice(t *testing.T) {
	s := New(0)
	first := s.Current("local")
	if again := s.Current("local"); again != first {
		t.Errorf("current changed from %s to %s", first, again)
	}
	if other := s.Current("kitchen"); other == first {
		t.Error("two devices share a session")
	}
	second := s.Begin("local")
	if !second.Current || second.ID == first || s.Current("local") != second.ID {
		t.Errorf("begin gave %+v", second)
	}
	back, err := s.Resume("local", first)
	if err != nil || back.ID != first || s.Current("local") != first {
		t.Errorf("resume gave %+v, %v", back, err)
	}
	if _, err := s.Resume("local", "nope"); !errors.Is(err, &proto.Error{Code: proto.CodeNotFound}) || proto.HintOf(err) == "" {
		t.Errorf("resume of an unknown session: %v", err)
	}
}

func TestIdleBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(time.Hour)
		first := s.Current("local")
		time.Sleep(59 * time.Minute)
		if s.Current("local") != first {
			t.Fatal("a session in use was left")
		}
		time.Sleep(61 * time.Minute)
		if s.Current("local") == first {
			t.Error("an idle session was continued")
		}
	})
}

func TestListNewestFirst(t *testing.T) {
	s := New(0)
	a := s.Begin("local").ID
	fill(s, a, 2)
	b := s.Begin("local").ID
	s.Record(b, Exchange{Question: strings.Repeat("x", 100), Answer: "y"})
	list := s.List("local")
	if len(list) != 2 || list[0].ID != b || !list[0].Current || list[1].ID != a || list[1].Current {
		t.Fatalf("list %+v", list)
	}
	if list[1].Title != "q0" || list[1].Messages != 4 || len([]rune(list[0].Title)) != 60 {
		t.Errorf("list %+v", list)
	}
}

func TestBounds(t *testing.T) {
	s := New(0)
	first := s.Current("local")
	for range maxSessions {
		s.Begin("local")
	}
	if s.Has(first) || len(s.List("local")) != maxSessions {
		t.Error("the oldest session was kept")
	}
	s.Record(first, Exchange{Question: "q", Answer: "a"}) // gone: no effect, no panic
	id := s.Current("local")
	fill(s, id, maxExchanges+3)
	if n := len(s.History(id, 10*maxExchanges)); n != maxExchanges {
		t.Errorf("%d exchanges kept", n)
	}
	if s.Language(id) != "en" || s.Language("nope") != "" {
		t.Error("language of the session")
	}
}

func TestSkills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(time.Hour)
		if id := s.Going("local"); id != "" || s.Skills(id) != nil || s.LoadSkill(id, "poet") || s.UnloadSkill(id, "poet") {
			t.Error("there is no session yet")
		}
		id := s.Current("local")
		if !s.LoadSkill(id, "smith") || !s.LoadSkill(id, "poet") || s.LoadSkill(id, "smith") {
			t.Error("load")
		}
		if list := s.Skills(id); s.Going("local") != id || !slices.Equal(list, []string{"smith", "poet"}) {
			t.Errorf("loaded %q", list)
		}
		if !s.UnloadSkill(id, "smith") || s.UnloadSkill(id, "smith") || !slices.Equal(s.Skills(id), []string{"poet"}) {
			t.Errorf("left %q", s.Skills(id))
		}
		other := s.Begin("local").ID
		if len(s.Skills(other)) > 0 {
			t.Error("skills go over into another session")
		}
		if _, err := s.Resume("local", id); err != nil || !slices.Equal(s.Skills(s.Going("local")), []string{"poet"}) {
			t.Errorf("resumed with %q, %v", s.Skills(id), err)
		}
		time.Sleep(2 * time.Hour)
		if s.Going("local") != "" {
			t.Error("idle for too long and going on")
		}
	})
}

func TestTrim(t *testing.T) {
	s := New(0)
	id := s.Current("local")
	for _, q := range []string{"a", "b", "c"} {
		s.Record(id, Exchange{Question: q, Answer: "yes"})
	}
	s.Trim(id, 5)
	s.Trim("gone", 0)
	if h := s.History(id, 10); len(h) != 3 {
		t.Errorf("kept %+v", h)
	}
	s.Trim(id, 1)
	if h := s.History(id, 10); len(h) != 1 || h[0].Question != "c" {
		t.Errorf("kept %+v", h)
	}
	s.Trim(id, 0)
	if h := s.History(id, 10); len(h) != 0 {
		t.Errorf("kept %+v", h)
	}
}
