// Conformance drives the Go client for the conformance suite; client/conformance/README.md defines the protocol.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	corank "github.com/corank/corank/client/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// command is one line of stdin.
type command struct {
	ID         json.RawMessage   `json:"id"`
	Command    string            `json:"command"`
	Client     string            `json:"client"`
	Options    json.RawMessage   `json:"options"`
	Operator   string            `json:"operator"`
	Arguments  *arguments        `json:"arguments"`
	Keep       map[string]string `json:"keep"`
	Digest     bool              `json:"digest"`
	Operations []operation       `json:"operations"`
	Name       string            `json:"name"`
	Array      *array            `json:"array"`
	Expires    *float64          `json:"expires_s"`
	Sharded    bool              `json:"sharded"`
	Service    string            `json:"service"`
}

type operation struct {
	Operator  string            `json:"operator"`
	Arguments *arguments        `json:"arguments"`
	Keep      map[string]string `json:"keep"`
}

type connectOptions struct {
	Address   string `json:"address"`
	Token     string `json:"token"`
	TokenFile string `json:"token_file"`
	TLS       *struct {
		CA          string `json:"ca"`
		Certificate string `json:"certificate"`
		Key         string `json:"key"`
		ServerName  string `json:"server_name"`
	} `json:"tls"`
	Deadline    optional `json:"deadline_s"`
	Retries     *int     `json:"retries"`
	Traceparent string   `json:"traceparent"`
	Connections *int     `json:"connections"`
}

type callOptions struct {
	Deadline    optional `json:"deadline_s"`
	RequestID   string   `json:"request_id"`
	Traceparent string   `json:"traceparent"`
	Priority    string   `json:"priority"`
	Place       string   `json:"place"`
	Connections *int     `json:"connections"`
	Cancel      *float64 `json:"cancel_after_ms"`
	Progress    bool     `json:"progress"`
}

// optional is a number that may be null, which is not the same as absent.
type optional struct {
	given bool
	value *float64
}

func (o *optional) UnmarshalJSON(data []byte) error {
	o.given = true
	return json.Unmarshal(data, &o.value)
}

func (o optional) duration() time.Duration {
	if o.value == nil {
		return 0
	}
	return time.Duration(*o.value * float64(time.Second))
}

// unsupported is a feature that the client lacks.
type unsupported string

func (u unsupported) Error() string { return string(u) }

// strict reads JSON and refuses members that it does not know.
func strict(data []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v in %.300s\n", err, data)
		os.Exit(2)
	}
}

type driver struct{ clients map[string]*corank.Client }

type object = map[string]any

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	d := &driver{map[string]*corank.Client{}}
	for {
		line, err := input.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var given command
			strict(line, &given)
			answer := d.answer(&given)
			answer["id"] = given.ID
			data, err := json.Marshal(answer)
			if err != nil {
				panic(err)
			}
			_, _ = output.Write(append(data, '\n'))
			_ = output.Flush()
		}
		if err != nil {
			return
		}
	}
}

func (d *driver) answer(given *command) object {
	ok, err := d.do(given)
	var missing unsupported
	switch {
	case errors.As(err, &missing):
		return object{"unsupported": string(missing)}
	case err != nil:
		return object{"error": failure(err)}
	}
	return object{"ok": ok}
}

func failure(err error) object {
	var own *corank.Error
	if !errors.As(err, &own) {
		panic(fmt.Sprintf("an error of another type: %T %v", err, err))
	}
	found := object{"code": codeName(own.Code), "reason": own.Reason, "field": own.Field, "retry_after_s": nil,
		"request_id": own.RequestID, "message": own.Error()}
	if errors.Is(err, corank.ErrClosed) {
		found["code"] = "CLOSED"
	}
	if own.Rows > 0 {
		found["rows"] = own.Rows
	}
	if own.RetryAfter > 0 {
		found["retry_after_s"] = own.RetryAfter.Seconds()
	}
	return found
}

func codeName(code codes.Code) string {
	names := [...]string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
		"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
	return names[code]
}

func (d *driver) do(given *command) (object, error) {
	switch given.Command {
	case "hello":
		return object{"language": "go", "version": corank.Version, "library": "grpc-go " + grpc.Version}, nil
	case "connect":
		return object{}, d.connect(given)
	case "resources":
		runtime.GC()
		return object{"goroutines": runtime.NumGoroutine()}, nil
	}
	client, found := d.clients[given.Client]
	if !found {
		fmt.Fprintf(os.Stderr, "conformance: no client %q\n", given.Client)
		os.Exit(2)
	}
	if given.Command == "close" {
		return object{}, client.Close()
	}
	asked := newCall(client, given)
	defer asked.cancel()
	switch given.Command {
	case "call":
		return asked.operator(given)
	case "chain":
		return asked.chain(given)
	case "store":
		return asked.store(given)
	case "fetch":
		found, err := client.Fetch(asked.ctx, given.Name, asked.options...)
		if err != nil {
			return nil, err
		}
		return object{"array": asked.result("", found)}, nil
	case "list":
		found, err := client.Arrays(asked.ctx, asked.options...)
		if err != nil {
			return nil, err
		}
		arrays := []any{}
		for _, each := range found.Arrays {
			arrays = append(arrays, asked.result("", each))
		}
		return object{"arrays": arrays, "used_bytes": found.UsedBytes, "quota_bytes": found.QuotaBytes}, nil
	case "delete":
		return object{}, client.Delete(asked.ctx, given.Name, asked.options...)
	case "info":
		info, err := client.Info(asked.ctx, asked.options...)
		if err != nil {
			return nil, err
		}
		return object{"version": info.Version, "places": info.Places,
			"engine":            strings.ToLower(strings.TrimPrefix(info.Engine.String(), "ENGINE_")),
			"max_request_bytes": info.Limits.MaxRequestBytes, "max_chunk_bytes": info.Limits.MaxChunkBytes,
			"max_parts": info.Limits.MaxParts}, nil
	case "health":
		status, err := client.Health(asked.ctx, given.Service, asked.options...)
		if err != nil {
			return nil, err
		}
		return object{"status": strings.TrimPrefix(strings.ToLower(status.String()), "service_")}, nil
	}
	fmt.Fprintf(os.Stderr, "conformance: no command %q\n", given.Command)
	os.Exit(2)
	return nil, nil
}

func (d *driver) connect(given *command) error {
	var asked connectOptions
	if given.Options != nil {
		strict(given.Options, &asked)
	}
	var options []corank.ConnectOption
	if asked.Token != "" {
		options = append(options, corank.WithToken(asked.Token))
	}
	if asked.TokenFile != "" {
		options = append(options, corank.WithTokenFile(asked.TokenFile))
	}
	if tls := asked.TLS; tls != nil {
		options = append(options, corank.WithTLS())
		if tls.CA != "" {
			options = append(options, corank.WithCA(tls.CA))
		}
		if tls.Certificate != "" || tls.Key != "" {
			options = append(options, corank.WithCertificate(tls.Certificate, tls.Key))
		}
		if tls.ServerName != "" {
			options = append(options, corank.WithServerName(tls.ServerName))
		}
	}
	if asked.Deadline.given {
		options = append(options, corank.WithTimeout(asked.Deadline.duration()))
	}
	if asked.Retries != nil {
		options = append(options, corank.WithRetries(*asked.Retries))
	}
	if asked.Traceparent != "" {
		options = append(options, corank.WithTraceparent(asked.Traceparent))
	}
	if asked.Connections != nil {
		options = append(options, corank.WithConnections(*asked.Connections))
	}
	client, err := corank.Connect(asked.Address, options...)
	if err != nil {
		return err
	}
	d.clients[given.Client] = client
	return nil
}

// asked is a call with its options.
type asked struct {
	client   *corank.Client
	ctx      context.Context
	cancel   context.CancelFunc
	options  []corank.Option
	digest   bool
	lacks    []string
	reports  bool
	stats    corank.Stats
	progress corank.Progress
}

func newCall(client *corank.Client, given *command) *asked {
	var options callOptions
	if given.Options != nil {
		strict(given.Options, &options)
	}
	made := &asked{client: client, digest: given.Digest, reports: options.Progress}
	made.ctx, made.cancel = context.WithCancel(context.Background())
	if options.Cancel != nil {
		timer := time.AfterFunc(time.Duration(*options.Cancel*float64(time.Millisecond)), made.cancel)
		cancel := made.cancel
		made.cancel = func() { timer.Stop(); cancel() }
	}
	add := func(option corank.Option) { made.options = append(made.options, option) }
	if options.Deadline.given {
		add(corank.Timeout(options.Deadline.duration()))
	}
	if options.RequestID != "" {
		add(corank.WithRequestID(options.RequestID))
	}
	if options.Traceparent != "" {
		add(corank.Traceparent(options.Traceparent))
	}
	if options.Priority != "" {
		add(corank.WithPriority(map[string]corank.Priority{"low": corank.Low, "normal": corank.Normal,
			"high": corank.High}[options.Priority]))
	}
	if options.Place == "shared_memory" {
		made.lacks = append(made.lacks, options.Place)
	} else if options.Place != "" {
		add(corank.Via(corank.Place(options.Place)))
	}
	if options.Connections != nil {
		add(corank.Connections(*options.Connections))
	}
	if given.Sharded {
		add(corank.Sharded())
	}
	if options.Progress {
		add(corank.OnProgress(func(now corank.Progress) { made.progress = now }))
	}
	return made
}
