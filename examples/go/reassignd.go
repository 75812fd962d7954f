// Package reassignd starts an embedded Kafka cluster of simulated brokers for tests.
package reassignd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Cluster is a cluster in a process of its own.
type Cluster struct {
	BootstrapServers string   `json:"bootstrap_servers"`
	Addresses        []string `json:"addresses"`
	HTTP             string   `json:"http"`
}

// Start starts a cluster, which ends with the test. It needs the command reassignd on the PATH, or its path in the
// environment variable REASSIGND. Options are those of `reassignd serve`.
func Start(t testing.TB, brokers int, options ...string) Cluster {
	t.Helper()
	program := os.Getenv("REASSIGND")
	if program == "" {
		program = "reassignd"
	}
	arguments := []string{
		"serve", "--listener", "127.0.0.1:0", "--http", "127.0.0.1:0", "--brokers", strconv.Itoa(brokers),
		"--data-dir", filepath.Join(t.TempDir(), "data"), "--ready-format", "json",
	}
	command := exec.Command(program, append(arguments, options...)...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(command) })
	cluster, err := read(bufio.NewReader(output))
	if err != nil {
		t.Fatalf("reassignd did not start: %v", err)
	}
	return cluster
}

func read(output *bufio.Reader) (cluster Cluster, err error) {
	line, err := output.ReadBytes('\n')
	if err != nil {
		return cluster, fmt.Errorf("no line on stdout: %w", err)
	}
	return cluster, json.Unmarshal(line, &cluster)
}

func stop(command *exec.Cmd) {
	_ = command.Process.Signal(os.Interrupt)
	timer := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() })
	defer timer.Stop()
	_ = command.Wait()
}
