package corank

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	chunkBytes      = 2 << 20
	manyBytes       = 128 << 20 // streamed arrays that take more travel over several connections
	manyConnections = 4
	reportEvery     = 100 * time.Millisecond
)

// job is one call of operators, whose large arrays travel in chunks.
type job struct {
	client   *Client
	call     *call
	operator string
	sources  []*leaf // by stream
	sinks    []*sink // by stream

	chunk    int64
	tries    int
	id       string
	progress progress
	mutex    sync.Mutex
	results  [][]byte
	failed   error
}

// progress counts the bytes of arrays.
type progress struct {
	report func(Progress)
	mutex  sync.Mutex
	now    Progress
	last   time.Time
}

func (p *progress) add(sent, received int64) {
	if p.report == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.now.Sent += sent
	p.now.Received += received
	if time.Since(p.last) >= reportEvery {
		p.last = time.Now()
		p.report(p.now)
	}
}

func (p *progress) restart() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.now.Sent, p.now.Received = 0, 0
}

func (p *progress) end() {
	if p.report == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.report(p.now)
}

// sink takes the chunks of one result, in any order and from several goroutines.
type sink struct {
	width int
	count int64 // elements; -1: not known, and the memory grows as they come

	mutex sync.Mutex
	data  []byte
	got   int64 // elements
}

func (s *sink) restart() { s.got = 0 }

func (s *sink) write(first int64, from cursor) error {
	size := from.left
	count := int64(size / s.width)
	if size%s.width != 0 || first < 0 || first > 1<<62/int64(s.width) {
		return internal("the server sent %d bytes at element %d of elements of %d bytes", size, first, s.width)
	}
	s.mutex.Lock()
	s.got += count
	end := (first + count) * int64(s.width)
	if s.count < 0 {
		// Growing replaces the memory, so that nobody may write to it meanwhile.
		defer s.mutex.Unlock()
		if end > int64(len(s.data)) {
			if end > mostBytes() {
				return internal("the server sent more than the memory of this machine holds")
			}
			grown := aligned(max(end, 2*int64(len(s.data))))
			copy(grown, s.data)
			s.data = grown
		}
		from.read(s.data[first*int64(s.width) : end])
		return nil
	}
	if s.data == nil {
		s.data = aligned(s.count * int64(s.width))
	}
	s.mutex.Unlock()
	if end > int64(len(s.data)) {
		return internal("the server sent element %d of a result of %d", first+count-1, s.count)
	}
	from.read(s.data[first*int64(s.width) : end])
	return nil
}

// result is the memory of the result, which has count elements of width bytes, once all chunks have come.
func (s *sink) result(count int64, width int) ([]byte, error) {
	if s.got != count || width != s.width || (s.count >= 0 && count != s.count) {
		return nil, internal("the server sent %d of the %d elements of a result", s.got, count)
	}
	return s.data[:count*int64(s.width)], nil
}

// reply is a message of the server in Execute.
type reply struct {
	job   *job
	first bool // of the part whose results count; every part receives all
}

func (r reply) decode(from cursor) error {
	for from.left > 0 {
		number, kind, size, err := from.field()
		if err != nil {
			return err
		}
		switch {
		case number == replyChunk && kind == protowire.BytesType:
			stream, first, data, err := readChunk(from.within(size))
			if err != nil {
				return err
			}
			if int64(stream) >= int64(len(r.job.sinks)) {
				return internal("the server sent a chunk of stream %d, which is no result", stream)
			}
			if err := r.job.sinks[stream].write(first, data); err != nil {
				return err
			}
			r.job.progress.add(0, int64(data.left))
		case number == replyResult && kind == protowire.BytesType:
			result := make([]byte, size)
			from.read(result)
			if r.first {
				r.job.results = append(r.job.results, result)
			}
		default:
			if err := from.pass(kind, size); err != nil {
				return err
			}
		}
	}
	return nil
}

// execute does the tasks in one Execute call, or in several that are the parts of one job.
func (j *job) execute(ctx context.Context, tasks []*task, may repeat) ([]*answer, error) {
	var plan pieces
	for _, task := range tasks {
		request, err := task.encode()
		if err != nil {
			return nil, err
		}
		plan = append(plan, nested(planOperations, nested(task.operator, request))...)
	}
	info, err := j.client.server(ctx, j.call)
	if err != nil {
		return nil, err
	}
	j.chunk = chunkBytes
	if most := info.Limits.GetMaxChunkBytes(); most > 0 {
		j.chunk = min(most, chunkBytes)
	}
	j.progress.report = j.call.progress
	for _, source := range j.sources {
		j.progress.now.ToSend += source.array.bytes()
	}
	for _, sink := range j.sinks {
		j.progress.now.ToReceive += max(sink.count, 0) * int64(sink.width)
	}
	parts := 1
	if len(j.sources) > 0 {
		parts = j.call.connections
		if parts == 0 && max(j.progress.now.ToSend, j.progress.now.ToReceive) > manyBytes {
			parts = manyConnections
		}
		parts = max(1, min(parts, int(info.Limits.GetMaxParts())))
	}
	j.tries, err = j.client.retry(ctx, j.call, j.operator, may, func() error {
		conns, err := j.client.partConns(ctx, parts)
		if err != nil {
			return err
		}
		return j.run(ctx, conns, plan)
	})
	if err != nil {
		return nil, err
	}
	if len(j.results) != len(tasks) {
		return nil, internal("the server answered %d results for %d operations", len(j.results), len(tasks))
	}
	answers := make([]*answer, len(tasks))
	for i, task := range tasks {
		from := newCursor(mem.BufferSlice{mem.SliceBuffer(j.results[i])})
		number, _, size, err := from.field()
		if err != nil || number != task.operator {
			return nil, internal("the server answered the result of another operation")
		}
		answers[i] = task.answer()
		if err := answers[i].decode(from.within(size)); err != nil {
			return nil, internal("the answer is no result of %s: %v", task.method, err)
		}
	}
	return answers, nil
}

// run does the job once. When a part fails, the others are cancelled.
func (j *job) run(ctx context.Context, conns []*grpc.ClientConn, plan pieces) error {
	j.results, j.failed = nil, nil
	for _, sink := range j.sinks {
		sink.restart()
	}
	j.progress.restart()
	shared := &corankpb.Plan{}
	if len(conns) > 1 {
		var id [8]byte
		_, _ = rand.Read(id[:])
		shared.JobId, shared.Parts = hex.EncodeToString(id[:]), uint32(len(conns))
	}
	inside, cancel := context.WithCancel(j.client.outgoing(ctx, j.call))
	defer cancel()
	var parts sync.WaitGroup
	for part, conn := range conns {
		own := proto.Clone(shared).(*corankpb.Plan)
		own.Part = uint32(part)
		parts.Add(1)
		go func() {
			defer parts.Done()
			err := j.part(ctx, inside, conn, part, len(conns), own, plan)
			j.mutex.Lock()
			defer j.mutex.Unlock()
			if err != nil && j.failed == nil {
				j.failed = err
				cancel()
			}
		}()
	}
	parts.Wait()
	return j.failed
}

var executeStream = &grpc.StreamDesc{StreamName: "Execute", ClientStreams: true, ServerStreams: true}

// part does one part of the job: it sends on a goroutine of its own, because the server may answer before it has read
// everything.
func (j *job) part(outer, ctx context.Context, conn *grpc.ClientConn, part, parts int, own *corankpb.Plan,
	operations pieces) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, executeStream, corankpb.CorankService_Execute_FullMethodName)
	if err != nil {
		return j.client.fromRPC(outer, j.operator, err, nil)
	}
	var sending sync.WaitGroup
	sending.Add(1)
	go func() {
		defer sending.Done()
		j.send(stream, part, parts, own, operations)
	}()
	for err == nil {
		err = stream.RecvMsg(reply{j, part == 0})
	}
	cancel()
	sending.Wait()
	if !errors.Is(err, io.EOF) {
		return j.client.fromRPC(outer, j.operator, err, stream.Trailer())
	}
	if ids := stream.Trailer().Get("x-request-id"); len(ids) > 0 && part == 0 {
		j.id = ids[0]
	}
	return nil
}

// send sends the plan and the part's share of every source. An error of the call is that of receiving.
func (j *job) send(stream grpc.ClientStream, part, parts int, own *corankpb.Plan, operations pieces) {
	tail, _ := proto.Marshal(own)
	first := nested(planField, append(append(pieces{}, operations...), tail))
	if stream.SendMsg(first) != nil {
		return
	}
	if j.chunks(stream, part, parts) {
		_ = stream.CloseSend()
	}
}

// chunks sends the part's share of every source. All sources advance together, so that the keys and the values of one
// range of elements arrive one after the other. It returns false if the call is over.
func (j *job) chunks(stream grpc.ClientStream, part, parts int) bool {
	rounds := int64(0)
	for _, source := range j.sources {
		begin, end := share(source.array.count, part, parts)
		each := max(1, j.chunk/int64(source.array.width))
		rounds = max(rounds, (end-begin+each-1)/each)
	}
	for round := range rounds {
		for _, source := range j.sources {
			begin, end := share(source.array.count, part, parts)
			from, to := begin+round*(end-begin)/rounds, begin+(round+1)*(end-begin)/rounds
			if from == to {
				continue
			}
			width := int64(source.array.width)
			data := source.array.data[from*width : to*width]
			if stream.SendMsg(encodeChunk(source.stream, from, data)) != nil {
				return false
			}
			j.progress.add(int64(len(data)), 0)
		}
	}
	return true
}

// share is the range of count elements that is a part's.
func share(count int64, part, parts int) (begin, end int64) {
	return int64(part) * count / int64(parts), int64(part+1) * count / int64(parts)
}
