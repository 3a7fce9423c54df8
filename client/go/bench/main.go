// Bench is the benchmark program of the Go client; bench/clients/clients_bench.py starts it and says what it does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corank "github.com/corank/corank/client/go"
	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	inFlight    = 64
	connections = 4
	chunkBytes  = 2 << 20
)

var (
	background = context.Background()
	errWrong   = errors.New("wrong answer")
)

// callsRate keeps calls in flight for some seconds, and returns how many there are in one.
func callsRate(once func() error, seconds float64) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	began := time.Now()
	for range inFlight {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Since(began).Seconds() < seconds {
				if err := once(); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		}()
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}

// streamRate carries an array again and again for some seconds, twice at least, and returns its bytes in one.
func streamRate(once func() error, bytes int, seconds float64) (float64, error) {
	began, done := time.Now(), 0
	for done < 2 || time.Since(began).Seconds() < seconds {
		if err := once(); err != nil {
			return 0, err
		}
		done++
	}
	return float64(done*bytes) / time.Since(began).Seconds(), nil
}

func ascending(n int) []uint32 {
	keys := make([]uint32, n)
	for i := range keys {
		keys[i] = uint32(i)
	}
	return keys
}

// ours is one piece of work by the client library.
func ours(address, work string, n int) (func() error, error) {
	client, err := corank.Connect(address)
	if err != nil {
		return nil, err
	}
	keys := ascending(n)
	if work == "calls" {
		return func() error {
			got, err := corank.Sort(background, client, keys)
			if err == nil && !slices.Equal(got, keys) {
				err = errWrong
			}
			return err
		}, nil
	}
	out := make([]uint32, n)
	return func() error {
		clear(out[n-1:])
		_, err := corank.Sort(background, client, keys, corank.Via(corank.Stream), corank.Connections(connections),
			corank.Into(corank.Of(out)))
		if err == nil && out[n-1] != keys[n-1] {
			err = errWrong
		}
		return err
	}, nil
}

// stub is the same by the generated stubs alone.
func stub(address, work string, n int) (func() error, error) {
	var clients []corankpb.CorankServiceClient
	for range connections {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
		if err != nil {
			return nil, err
		}
		clients = append(clients, corankpb.NewCorankServiceClient(conn))
	}
	data := corank.Of(ascending(n)).Bytes()
	if work == "calls" {
		request := &corankpb.SortRequest{Keys: &corankpb.Array{Type: corankpb.ElementType_ELEMENT_TYPE_UINT32,
			Place: &corankpb.Array_InlineData{InlineData: data}}}
		return func() error {
			got, err := clients[0].Sort(background, request)
			if err == nil && !slices.Equal(got.GetKeys().GetInlineData(), data) {
				err = errWrong
			}
			return err
		}, nil
	}
	return func() error {
		came := make(chan error, connections)
		for part, client := range clients {
			go func() {
				begin, end := part*len(data)/connections, (part+1)*len(data)/connections
				came <- carry(client, data[begin:end])
			}()
		}
		var failed error
		for range connections {
			if err := <-came; err != nil {
				failed = err
			}
		}
		return failed
	}, nil
}

func carry(client corankpb.CorankServiceClient, data []byte) error {
	stream, err := client.Execute(background)
	if err != nil {
		return err
	}
	go func() {
		err := stream.Send(&corankpb.ExecuteRequest{Part: &corankpb.ExecuteRequest_Plan{Plan: &corankpb.Plan{}}})
		for begin := 0; begin < len(data) && err == nil; begin += chunkBytes {
			err = stream.Send(&corankpb.ExecuteRequest{Part: &corankpb.ExecuteRequest_Chunk{Chunk: &corankpb.ArrayChunk{
				FirstElement: int64(begin / 4), Data: data[begin:min(begin+chunkBytes, len(data))]}}})
		}
		_ = stream.CloseSend()
	}()
	came := 0
	for {
		answer, err := stream.Recv()
		if err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		came += len(answer.GetChunk().GetData())
	}
	if came != len(data) {
		return errWrong
	}
	return nil
}

func rate(side, address string, made map[string]func() error, work string, n int, seconds float64) (float64, error) {
	key := fmt.Sprint(work, n)
	if made[key] == nil {
		prepare := map[string]func(string, string, int) (func() error, error){"client": ours, "stub": stub}[side]
		once, err := prepare(address, work, n)
		if err != nil {
			return 0, err
		}
		made[key] = once
	}
	if work == "calls" {
		return callsRate(made[key], seconds)
	}
	return streamRate(made[key], 4*n, seconds)
}

func main() {
	made := map[string]func() error{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked struct {
			Work    string
			N       int
			Seconds float64
		}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		answer := map[string]any{}
		value, err := rate(os.Args[1], os.Args[2], made, asked.Work, asked.N, asked.Seconds)
		if err != nil {
			answer["error"] = err.Error()
		} else {
			answer["value"] = value
		}
		_ = json.NewEncoder(os.Stdout).Encode(answer)
	}
}
