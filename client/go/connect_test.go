package corank

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAddresses(t *testing.T) {
	for _, good := range []string{"host:1", "[::1]:1", "127.0.0.1:1, 127.0.0.2:2", "dns:///host:1", "unix:/tmp/x"} {
		if _, err := parseTarget(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"host", "host:", "::1", "[::1]", "a b:1", "https://host:1/", "a:1,", "a:1,dns:///b:1"} {
		if _, err := parseTarget(bad); err == nil {
			t.Errorf("%q was taken", bad)
		} else {
			failedAs(t, err, codes.InvalidArgument, "address")
		}
	}
	for address, local := range map[string]bool{"localhost:1": true, "127.1.2.3:1": true, "[::1]:1": true,
		"unix:/x": true, "host:1": false, "localhost.example:1": false, "127.0.0.1:1,10.0.0.1:1": false} {
		where, _ := parseTarget(address)
		if where.isLocal() != local {
			t.Errorf("isLocal(%q) is not %v", address, local)
		}
	}
}

func TestSeveralAddressesTakeTurns(t *testing.T) {
	first, second := &fake{}, &fake{}
	client := connected(t, first.start(t)+","+second.start(t))
	// All calls go to one server until the other connection is up.
	for calls := 0; min(first.calls.Load(), second.calls.Load()) < 50; calls++ {
		if calls == 100_000 {
			t.Fatalf("%d calls and %d", first.calls.Load(), second.calls.Load())
		}
		if _, err := Sort(background, client, []uint32{1}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnixSocketsAloneAndInAList(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &fake{}
	server.serve(t, listener)
	for _, address := range []string{"unix:" + path, "unix:" + path + "," + server.start(t)} {
		client := connected(t, address, WithToken("secret"))
		for _, keys := range [][]uint32{{2, 1}, numbers(1 << 16)} {
			if _, err := Sort(background, client, keys); err != nil {
				t.Errorf("%s: %v", address, err)
			}
		}
		conns, err := client.partConns(background, 2)
		if err != nil || len(conns) != 2 {
			t.Fatal(len(conns), err)
		}
		for _, conn := range conns {
			if _, err := corankpb.NewCorankServiceClient(conn).GetServerInfo(background, nil); err != nil {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}

func TestProgressOfOneMessageIsReportedAtTheEnd(t *testing.T) {
	var reports []Progress
	_, err := Sort(background, connected(t, (&fake{}).start(t)), []uint32{2, 1},
		OnProgress(func(now Progress) { reports = append(reports, now) }))
	if err != nil || !slices.Equal(reports, []Progress{{8, 8, 8, 8}}) {
		t.Errorf("%v, %v", reports, err)
	}
}

func TestTokens(t *testing.T) {
	var tokens []string
	server := &fake{sort: func(ctx context.Context, _ int, request *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		tokens = append(tokens, sent(ctx, "authorization"))
		if sent(ctx, "authorization") == "Bearer old" {
			return nil, status.Error(codes.Unauthenticated, "unknown token")
		}
		return answered(request), nil
	}}
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old\n")
	client := connected(t, server.start(t), WithTokenFile(path))
	_, err := Sort(background, client, []uint32{1})
	failedAs(t, err, codes.Unauthenticated, "", "WithTokenFile")
	write("new\n")
	if _, err := Sort(background, client, []uint32{1}); err != nil {
		t.Error(err)
	}
	if want := []string{"Bearer old", "Bearer old", "Bearer new"}; !slices.Equal(tokens, want) {
		t.Errorf("the server saw %q", tokens)
	}
	_, err = Connect("example.org:1", WithToken("secret"))
	failedAs(t, err, codes.InvalidArgument, "token", "TLS")
	_, err = Connect("localhost:1", WithToken("two words"))
	failedAs(t, err, codes.InvalidArgument, "token")
	_, err = Connect("localhost:1", WithCA(path))
	failedAs(t, err, codes.InvalidArgument, "ca", "no PEM certificate")
	_, err = Connect("localhost:1", WithCertificate(path, ""))
	failedAs(t, err, codes.InvalidArgument, "key", "both")
}

func TestClosingEndsCallsThatRun(t *testing.T) {
	began := make(chan struct{})
	server := &fake{sort: func(ctx context.Context, _ int, _ *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	client := connected(t, server.start(t))
	go func() {
		<-began
		_ = client.Close()
	}()
	_, err := Sort(background, client, []uint32{1})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("%v is not ErrClosed", err)
	}
	if _, err := client.Info(background); !errors.Is(err, ErrClosed) {
		t.Errorf("%v is not ErrClosed", err)
	}
}
