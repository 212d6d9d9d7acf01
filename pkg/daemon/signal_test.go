// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// victimVariable makes a test of this file the process that is signalled.
const victimVariable = "DAEMON_TEST_VICTIM"

// victim starts the named test again as a process of its own, and waits until
// it is ready.
func victim(t *testing.T, test string, wrap ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout *bufio.Reader, stderr io.Closer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(wrap, self, "-test.run=^"+test+"$", "-test.v=false")
	cmd = exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), victimVariable+"="+test)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if got := readLine(r); got != "ready" {
		t.Fatalf("it says %q", got)
	}
	return cmd, in, r, errs
}

func readLine(r *bufio.Reader) string {
	text, _ := r.ReadString('\n')
	return strings.TrimSpace(text)
}

func send(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// The first signal ends the context, the second one the process.
func TestInterruptible(t *testing.T) {
	if os.Getenv(victimVariable) != "" {
		ctx, stop := Interruptible()
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		stop()
		fmt.Println(context.Cause(ctx))
		_, _ = io.ReadAll(os.Stdin)
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd, _, out, _ := victim(t, t.Name())
		send(t, cmd, sig)
		if got := readLine(out); !strings.Contains(got, sig.String()) {
			t.Errorf("%v: ended by %q", sig, got)
		}
		send(t, cmd, sig)
		_, _ = io.ReadAll(out)
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != sig {
			t.Errorf("%v: the second one came to %v", sig, cmd.ProcessState)
		}
	}
	// Under nohup the terminal may close.
	cmd, in, out, _ := victim(t, t.Name(), "sh", "-c", `trap "" HUP; exec "$0" "$@"`)
	send(t, cmd, syscall.SIGHUP)
	send(t, cmd, syscall.SIGTERM)
	if got := readLine(out); !strings.Contains(got, syscall.SIGTERM.String()) {
		t.Errorf("nohup: ended by %q", got)
	}
	_ = in.Close()
	_, _ = io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("nohup: %v", err)
	}
}

// A daemon whose supervisor was killed still ends in order, though nobody reads
// its log any more and SIGTERM comes more than once.
func TestSupervisorKilled(t *testing.T) {
	if os.Getenv(victimVariable) != "" {
		os.Args = os.Args[:1]
		Main(info, func(env Env) (App, error) {
			return fake{run: func(ctx context.Context) error {
				fmt.Println("ready")
				<-ctx.Done()
				env.Log.Error("to nobody")
				fmt.Println("stopping")
				_, _ = io.ReadAll(os.Stdin)
				return os.WriteFile(filepath.Join(env.Dir, "tidy"), nil, 0o600)
			}}, nil
		})
	}
	dir := home(t)
	cmd, in, out, stderr := victim(t, t.Name())
	_ = stderr.Close()
	send(t, cmd, syscall.SIGTERM)
	if got := readLine(out); got != "stopping" {
		t.Errorf("it says %q", got)
	}
	for range 3 {
		send(t, cmd, syscall.SIGTERM)
	}
	_ = in.Close()
	_, _ = io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tidy")); err != nil {
		t.Error(err)
	}
}
