// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/desktop-assistant/pkg/testkit/bustest"
	"example.org/desktop-assistant/pkg/testkit/soundtest"
	"example.org/desktop-assistant/proto"
)

// A wire speaks the client protocol of NATS itself, so that it can send what no
// client of ours would.
type wire struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	next int
}

// dialWire connects to the port that busd opens for natscli.
func (s *stack) dialWire() *wire {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "config/nats/context/desktop-assistant.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	nats := decode[struct{ URL, User, Password string }](s.t, text)
	password, err := os.ReadFile(strings.TrimPrefix(nats.Password, "file://"))
	if err != nil {
		s.t.Fatal(err)
	}
	address, err := url.Parse(nats.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(waitLimit)); err != nil {
		s.t.Fatal(err)
	}
	w := &wire{t: s.t, conn: conn, in: bufio.NewReader(conn)}
	w.send(fmt.Sprintf("CONNECT {\"verbose\":false,\"headers\":true,\"user\":%q,\"pass\":%q}\r\nSUB _INBOX_wire.* 1\r\n",
		nats.User, strings.TrimSpace(string(password))), nil)
	return w
}

func (w *wire) send(head string, body []byte) {
	w.t.Helper()
	if _, err := w.conn.Write(append([]byte(head), body...)); err != nil {
		w.t.Fatalf("the bus took no more: %v", err)
	}
}

// publish sends a message; header is empty or a whole header block.
func (w *wire) publish(subject, reply, header string, body []byte) {
	w.t.Helper()
	if reply != "" {
		subject += " " + reply
	}
	body = append(slices.Clone(body), "\r\n"...)
	if header == "" {
		w.send(fmt.Sprintf("PUB %s %d\r\n", subject, len(body)-2), body)
		return
	}
	w.send(fmt.Sprintf("HPUB %s %d %d\r\n%s", subject, len(header), len(header)+len(body)-2, header), body)
}

// request publishes and waits for the first reply: its headers and body.
func (w *wire) request(subject, header string, body []byte) (head, reply string) {
	w.t.Helper()
	w.next++
	inbox := "_INBOX_wire." + strconv.Itoa(w.next)
	w.publish(subject, inbox, header, body)
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			w.t.Fatalf("nothing answered on %s: %v", subject, err)
		}
		fields := strings.Fields(line)
		switch fields[0] {
		case "PING":
			w.send("PONG\r\n", nil)
		case "-ERR":
			w.t.Fatalf("the bus says %s", line)
		case "MSG", "HMSG":
			total, split := number(w.t, fields[len(fields)-1]), 0
			if fields[0] == "HMSG" {
				split = number(w.t, fields[len(fields)-2])
			}
			message := make([]byte, total+2)
			if _, err := io.ReadFull(w.in, message); err != nil {
				w.t.Fatal(err)
			}
			if fields[1] == inbox { // an earlier one may have been answered twice
				return string(message[:split]), string(message[split:total])
			}
		}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// endpoints lists the subjects that the daemons answer, as they say themselves.
func (w *wire) endpoints() []string {
	w.t.Helper()
	var list []string
	for _, daemon := range proto.Daemons() {
		_, reply := w.request("$SRV.INFO."+daemon, "", nil)
		for _, e := range decode[struct{ Endpoints []struct{ Subject string } }](w.t, []byte(reply)).Endpoints {
			list = append(list, e.Subject)
		}
	}
	return list
}

// garbage is what no message of ours looks like.
func garbage() [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	list := [][]byte{
		nil, []byte("{"), []byte("null\x00"), []byte("[]"), []byte("7"), []byte(`"text"`), []byte("\xff\xfe{}"),
		[]byte(`{"turn":7,"index":"x","text":[],"lease":"long","speak":"yes","id":{}}`),
		[]byte(`{"v":2,"type":"turn.ended","data":{}}`), []byte(`{"v":1,"type":"","data":{}}`), []byte(`{"v":1e999}`),
		[]byte(strings.Repeat("[", 20000)), []byte(strings.Repeat(`{"data":`, 5000)),
	}
	for _, size := range []int{1, 7, 512, 64 << 10} {
		bytes := make([]byte, size)
		for i := range bytes {
			bytes[i] = byte(rng.Uint32())
		}
		list = append(list, bytes)
	}
	return list
}

// oddities are envelopes with data that its type does not have.
func oddities(typ string) [][]byte {
	var list [][]byte
	for _, data := range []string{"7", `"x"`, "[1]", "null", `{"turn":1,"index":{},"problems":3,"text":false,"error":"no","pid":[]}`} {
		list = append(list, fmt.Appendf(nil, `{"v":1,"type":%q,"id":"x","turn":"a.b.>*","dev":"local","seq":-1,"ts":"never","data":%s}`, typ, data))
	}
	return list
}

// TestGarbage: whatever is published on any subject, nothing dies, it is
// counted, every request is answered, and the next turn works.
func TestGarbage(t *testing.T) {
	t.Parallel()
	rig := soundtest.Start(t)
	s := start(t, newHome(t, "", rig.Env()...))
	pids := s.pids()
	before := s.counts()
	w := s.dialWire()
	answered := w.endpoints()
	for _, want := range []string{"da.cmd.local.turn.ask", "da.cmd.local.mic.start", "da.cmd.local.speech.say", "da.cmd.local.sttd.status", "da.tool.run.now"} {
		if !slices.Contains(answered, want) {
			t.Errorf("%s is not among the subjects that are answered: %q", want, answered)
		}
	}
	subjects := []string{"da.evt.local.x", "da.evt.local.a.b.c.d", "da.evt.nowhere.turn.ended", "da.audio.local.in.x", "da.audio.local.in.x.y",
		"da.audio.nowhere.in.x", "da.live.local.turn.delta", "da.cmd.local.turn.foresee", "da.cmd.local", "da.tool.cancel.x", "da.tool.cancel", "da.tool.run.nosuch"}
	for _, typ := range append(proto.EventTypes(), "turn.foreseen") {
		subjects = append(subjects, proto.EventSubject("local", typ))
		for _, odd := range oddities(typ) {
			w.publish(proto.EventSubject("local", typ), "", "", odd)
			w.publish(proto.LiveSubject("local", typ), "", "", odd)
		}
	}
	all := garbage()
	for _, body := range all {
		for _, subject := range subjects {
			w.publish(subject, "", "", body)
		}
	}
	for i, header := range []string{"Da-Op: begin\r\nDa-Seq: x\r\n", "Da-Op: begin\r\nDa-Turn: a.b\r\n", "Da-Op: dance\r\n", "Da-Op: data\r\nDa-Seq: -1\r\nDa-Pos: 99999999999999999999\r\n",
		"Da-Op: end\r\n", "Da-Op: begin\r\nDa-Turn: g1\r\nDa-Seq: 0\r\nDa-Pos: 18446744073709551615\r\n", "Da-Op: data\r\nDa-Seq: 1\r\nDa-Pos: 18446744073709551615\r\n"} {
		w.publish("da.audio.local.in.g1", "", "NATS/1.0\r\n"+header+"\r\n", all[i])
	}
	w.refuse(answered, all)
	s.unharmed(pids)
	after := s.counts()
	for _, name := range []string{"brain", "ttsd", "sttd"} {
		if after[name] <= before[name] {
			t.Errorf("%s counted %d bad messages before and %d after", name, before[name], after[name])
		}
	}
	s.sound(rig)

	kill(t, pids["brain"]) // its next instance reads what was kept
	eventually(t, "brain is back", func() bool { st := s.status("brain"); return st != nil && st.PID != pids["brain"] })
	s.sound(rig)
}

// refuse sends garbage to every subject that is answered, and wants an error
// for it.
func (w *wire) refuse(subjects []string, bodies [][]byte) {
	w.t.Helper()
	for _, subject := range subjects {
		for _, body := range bodies {
			if len(body) == 0 { // is a good request of a command without fields
				continue
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(body, &fields); err == nil && fields["v"] != nil {
				continue // an object that means nothing to a command is one with none of its fields
			}
			head, reply := w.request(subject, "", body)
			refused := strings.Contains(head, proto.HeaderErrorCode+": ")
			// A command without fields has nothing that could be wrong in an object.
			if !refused && fields == nil {
				w.t.Errorf("%s took %.40q and answered %.80s", subject, body, reply)
			}
		}
	}
	head, _ := w.request("da.tool.run.now", "NATS/1.0\r\nDa-Timeout-Ms: soon\r\nDa-Route: nowhere\r\n\r\n", []byte("{}"))
	if !strings.Contains(head, proto.HeaderErrorCode+": 400") {
		w.t.Errorf("a call with bad headers was answered with %q", head)
	}
}

// counts are the bad messages that each daemon has seen.
func (s *stack) counts() map[string]uint64 {
	s.t.Helper()
	list := map[string]uint64{}
	for _, name := range proto.Daemons() {
		eventually(s.t, name+" answers", func() bool {
			st := s.status(name)
			if st != nil {
				list[name] = st.Counts.Undecodable + st.Counts.Unknown
			}
			return st != nil
		})
	}
	return list
}

// unharmed checks that the daemons are the processes they were.
func (s *stack) unharmed(before map[string]int) {
	s.t.Helper()
	if now := s.pids(); !maps.Equal(now, before) {
		s.t.Errorf("the daemons were %v and are %v", before, now)
	}
}

// sound checks that a question is answered aloud, typed and spoken.
func (s *stack) sound(rig *soundtest.Rig) {
	s.t.Helper()
	for _, name := range []string{"micd", "sttd", "ttsd"} {
		s.well(name)
	}
	if out := s.must(s.t, "ask", "what time is it"); !spokenTime(strings.TrimSpace(out)) {
		s.t.Errorf("a typed question was answered %q", out)
	}
	s.talk(rig, soundtest.Slt, "what time is it")
	_, started := bustest.Expect(s.watch, func(_ bustest.Seen, e proto.TurnStarted) bool { return e.Origin == proto.OriginVoice })
	if ended, _ := s.turnEnded(started.Turn); ended.End != proto.EndSpoken && ended.End != proto.EndFailed {
		s.t.Errorf("a spoken question ended %+v", ended)
	}
}
