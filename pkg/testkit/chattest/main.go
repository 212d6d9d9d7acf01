// SPDX-License-Identifier: Apache-2.0

package chattest

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Main runs the server as a program: it listens on -addr and answers by the
// rules until it is killed. It returns the exit status of a failed start.
func Main(args []string, out, errs io.Writer, rules ...Rule) int {
	flags := flag.NewFlagSet("chatserver", flag.ContinueOnError)
	flags.SetOutput(errs)
	addr := flags.String("addr", "127.0.0.1:8181", "loopback address to listen on, as in llm = \"http://ADDR/v1\"")
	if flags.Parse(args) != nil {
		return 2 // the flag package said why
	}
	host, _, err := net.SplitHostPort(*addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		_, _ = fmt.Fprintf(errs, "chatserver: listen: %q is no loopback address with a port\n", *addr)
		return 2
	}
	_, _ = fmt.Fprintf(out, "chat fixture on http://%s/v1\n", *addr)
	server := &http.Server{Addr: *addr, ReadHeaderTimeout: 5 * time.Second, Handler: Handler(rules...)}
	_, _ = fmt.Fprintf(errs, "chatserver: listen: %v\n", server.ListenAndServe())
	return 1
}
