package corank

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

var background = context.Background()

func failedAs(t *testing.T, err error, code codes.Code, field string, words ...string) *Error {
	t.Helper()
	var own *Error
	if !errors.As(err, &own) {
		t.Fatalf("%v is no *Error", err)
	}
	if own.Code != code || own.Field != field {
		t.Errorf("%v has code %v and field %q, not %v and %q", err, own.Code, own.Field, code, field)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if status.Code(err) != code {
		t.Errorf("status.Code finds %v, not %v", status.Code(err), code)
	}
	return own
}

func TestSortReturnsTheTypeOfItsInput(t *testing.T) {
	type id uint32
	client := connected(t, (&fake{}).start(t))
	input := []id{3, 1, 2}
	got, err := Sort(background, client, input)
	if err != nil || !slices.Equal(got, []id{1, 2, 3}) || !slices.Equal(input, []id{3, 1, 2}) {
		t.Fatalf("%v, %v; the input is %v", got, err, input)
	}
}

func TestLargeArraysTravelInChunksOfTheServersSize(t *testing.T) {
	client := connected(t, (&fake{}).start(t))
	keys := numbers(1 << 20)
	var reports []Progress
	var stats Stats
	got, err := Sort(background, client, keys, OnProgress(func(now Progress) { reports = append(reports, now) }),
		OnStats(func(cost Stats) { stats = cost }))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	if !slices.Equal(got, keys) {
		t.Error("the result is not sorted")
	}
	last := reports[len(reports)-1]
	if want := int64(4 << 20); last != (Progress{want, want, want, want}) {
		t.Errorf("the last progress is %+v", last)
	}
	if stats.Place != Stream || stats.Attempts != 1 {
		t.Errorf("stats are %+v", stats)
	}
}

func TestIntoWritesThereAlsoOverAnInput(t *testing.T) {
	client := connected(t, (&fake{}).start(t))
	for _, place := range []Place{Inline, Stream} {
		keys := numbers(1 << 15)
		want := slices.Sorted(slices.Values(keys))
		got, err := Sort(background, client, keys, Into(Of(keys)), Via(place))
		if err != nil || &got[0] != &keys[0] || !slices.Equal(keys, want) {
			t.Errorf("%v: %v; in place: %v", place, err, &got[0] == &keys[0])
		}
	}
	_, err := Sort(background, client, []uint32{1}, Into(Of([]uint32{0, 0})))
	failedAs(t, err, codes.InvalidArgument, "into", "1 x UINT32", "2 x UINT32")
	_, err = Sort(background, client, []uint32{1}, Into(Of([]int32{0})))
	failedAs(t, err, codes.InvalidArgument, "into")
}

func TestElementsWithPointersAreRefused(t *testing.T) {
	client := connected(t, (&fake{}).start(t))
	_, _, err := SortValues(background, client, []uint32{1}, []*int{nil})
	failedAs(t, err, codes.InvalidArgument, "values", "pointers")
	_, _, err = SortValues(background, client, []uint32{1}, [][300]byte{{}})
	failedAs(t, err, codes.InvalidArgument, "values", "300 bytes")
	_, err = client.Sort(background, Of([]uint32{1}), Values(Records(make([]byte, 7), 3)))
	failedAs(t, err, codes.InvalidArgument, "values", "no whole number")
	_, err = client.Sort(background, nil)
	failedAs(t, err, codes.InvalidArgument, "keys", "missing")
	_, err = Sort(background, client, []uint32{1}, AllowOverlap())
	failedAs(t, err, codes.InvalidArgument, "allow_overlap", "not for this operator")
	_, err = Sort(background, client, []uint32{1}, Algorithm("quick"))
	failedAs(t, err, codes.InvalidArgument, "algorithm")
}

func TestSliceChecksTheType(t *testing.T) {
	if _, err := Slice[int32](Of([]uint32{1})); err == nil {
		t.Error("uint32 read as int32")
	}
	type pair struct{ a, b int32 }
	got, err := Slice[pair](Records([]byte{1, 0, 0, 0, 2, 0, 0, 0}, 8))
	if err != nil || got[0] != (pair{1, 2}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestErrorsCarryTheServersDetails(t *testing.T) {
	server := &fake{sort: func(context.Context, int, *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		return nil, busy(codes.InvalidArgument,
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "values.count"}}},
			&errdetails.ErrorInfo{Domain: "corank", Reason: "WRONG"})
	}}
	client := connected(t, server.start(t))
	_, err := Sort(background, client, []uint32{1})
	own := failedAs(t, err, codes.InvalidArgument, "values.count", "Sort", "busy")
	if own.Reason != "WRONG" || own.Attempts != 1 || server.calls.Load() != 1 {
		t.Errorf("%+v after %d calls", own, server.calls.Load())
	}
}

func TestBusyServersAreAskedAgainAfterTheTimeTheySay(t *testing.T) {
	waits := noWait(t)
	server := &fake{sort: func(_ context.Context, call int, request *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		if call < 3 {
			return nil, busy(codes.ResourceExhausted, &errdetails.RetryInfo{RetryDelay: durationpb.New(2 * time.Second)})
		}
		return answered(request), nil
	}}
	client := connected(t, server.start(t))
	if _, err := Sort(background, client, []uint32{2, 1}); err != nil {
		t.Fatal(err)
	}
	if len(*waits) != 2 || (*waits)[0] < 2*time.Second || (*waits)[0] > 4*time.Second || (*waits)[1] > 6*time.Second {
		t.Errorf("waits are %v", *waits)
	}
}

func TestAServerThatWouldBeLateSaysWhy(t *testing.T) {
	reason := "DEADLINE_UNREACHABLE"
	server := &fake{sort: func(context.Context, int, *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		return nil, busy(codes.DeadlineExceeded, &errdetails.ErrorInfo{Reason: reason, Domain: "corank"})
	}}
	client := connected(t, server.start(t))
	_, err := Sort(background, client, []uint32{1})
	failedAs(t, err, codes.DeadlineExceeded, "", "busy")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no context.DeadlineExceeded", err)
	}
	reason = "DEADLINE_PASSED"
	_, err = Sort(background, client, []uint32{1})
	failedAs(t, err, codes.DeadlineExceeded, "", "not done within its deadline")
}

func TestRetriesEndAtTheirNumberAndAtTheBudget(t *testing.T) {
	noWait(t)
	server := &fake{sort: func(context.Context, int, *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		return nil, busy(codes.ResourceExhausted, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
	}}
	client := connected(t, server.start(t), WithRetries(2))
	_, err := Sort(background, client, []uint32{1})
	own := failedAs(t, err, codes.ResourceExhausted, "", "tried 3 times", "no more than 3 tries")
	if own.RetryAfter != time.Millisecond {
		t.Errorf("RetryAfter is %v", own.RetryAfter)
	}
	for range 4 {
		_, err = Sort(background, client, []uint32{1})
	}
	failedAs(t, err, codes.ResourceExhausted, "", "too many calls of this client fail")
	if server.calls.Load() > 12 {
		t.Errorf("%d calls reached the server", server.calls.Load())
	}
}

func TestRetryTable(t *testing.T) {
	long := time.Hour
	for name, test := range map[string]struct {
		err     Error
		may     repeat
		attempt int
		left    time.Duration
		again   bool
	}{
		"final":                    {Error{}, always, 1, long, false},
		"never sent":               {Error{failure: notSent}, unlessLost, 1, long, true},
		"refused":                  {Error{failure: refused, RetryAfter: time.Second}, unlessLost, 1, long, true},
		"lost, harmless":           {Error{failure: lost}, always, 1, long, true},
		"lost, may do harm":        {Error{failure: lost}, unlessLost, 1, long, false},
		"last try":                 {Error{failure: lost}, always, 6, long, false},
		"after the deadline":       {Error{failure: refused, RetryAfter: time.Second}, always, 1, time.Second, false},
		"just before the deadline": {Error{failure: refused, RetryAfter: time.Second}, always, 1, 2 * time.Second, true},
	} {
		wait, again, _ := afterFailure(&test.err, test.may, test.attempt, 5, test.left, 0.999)
		if again != test.again || wait >= test.left {
			t.Errorf("%s: again %v after %v", name, again, wait)
		}
	}
	wait, _, _ := afterFailure(&Error{failure: lost}, always, 5, 9, long, 1)
	if wait != 800*time.Millisecond {
		t.Errorf("the fifth wait is up to %v", wait)
	}
}

func TestLostConnectionsAreRetriedUnlessResultsAreKept(t *testing.T) {
	noWait(t)
	server := &fake{sort: func(_ context.Context, call int, request *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		if call == 1 || request.KeysDestination != nil {
			return nil, busy(codes.Unavailable)
		}
		return answered(request), nil
	}}
	client := connected(t, server.start(t))
	if _, err := Sort(background, client, []uint32{1}); err != nil || server.calls.Load() != 2 {
		t.Errorf("%v after %d calls", err, server.calls.Load())
	}
	_, err := client.Sort(background, Of([]uint32{1}), Keep("name"))
	failedAs(t, err, codes.Unavailable, "", "doing it twice may do harm")
	if server.calls.Load() != 3 {
		t.Errorf("%d calls", server.calls.Load())
	}
}

func TestNobodyThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	noWait(t)
	_, err = Sort(background, connected(t, address), []uint32{1})
	failedAs(t, err, codes.Unavailable, "", "is corankd running there?", "tried 6 times")
}

func TestServersThatAreNotCorank(t *testing.T) {
	noWait(t)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	_, err := Sort(background, connected(t, web.Listener.Addr().String()), []uint32{1})
	failedAs(t, err, codes.Unavailable, "", "be no corank server")
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	_, err = Sort(background, connected(t, secure.Listener.Addr().String(), WithTLS()), []uint32{1})
	failedAs(t, err, codes.Unavailable, "", "TLS with the server")
}

func TestBrokenAnswersAreErrors(t *testing.T) {
	keys := numbers(1 << 16)
	for name, execute := range map[string]func(corankpb.CorankService_ExecuteServer) error{
		"nothing": func(corankpb.CorankService_ExecuteServer) error { return nil },
		"a gap": func(s corankpb.CorankService_ExecuteServer) error {
			return s.Send(&corankpb.ExecuteResponse{Part: &corankpb.ExecuteResponse_Result{Result: resultOf(len(keys))}})
		},
		"too much": func(s corankpb.CorankService_ExecuteServer) error {
			return sendChunk(s, int64(len(keys)), make([]byte, 4))
		},
		"before the start": func(s corankpb.CorankService_ExecuteServer) error { return sendChunk(s, -1, make([]byte, 4)) },
		"half an element":  func(s corankpb.CorankService_ExecuteServer) error { return sendChunk(s, 0, make([]byte, 3)) },
		"another stream": func(s corankpb.CorankService_ExecuteServer) error {
			return s.Send(&corankpb.ExecuteResponse{Part: &corankpb.ExecuteResponse_Chunk{Chunk: &corankpb.ArrayChunk{StreamId: 9}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := connected(t, (&fake{execute: execute}).start(t))
			_, err := Sort(background, client, keys, Via(Stream))
			failedAs(t, err, codes.Internal, "")
		})
	}
}

func TestTruncatedMessagesAreErrors(t *testing.T) {
	whole := encodeChunk(7, 300, []byte("elements")).join()
	_, _, size, err := read(whole).field()
	if err != nil || size != len(whole)-2 {
		t.Fatal(size, err)
	}
	for end := 1; end < len(whole); end++ {
		from := read(whole[:end])
		if _, _, _, err := from.field(); err == nil {
			t.Errorf("%d of %d bytes were taken for a message", end, len(whole))
		}
	}
}

func TestTheEndOfAContextEndsTheCall(t *testing.T) {
	server := &fake{
		sort: func(ctx context.Context, _ int, _ *corankpb.SortRequest) (*corankpb.SortResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		execute: func(stream corankpb.CorankService_ExecuteServer) error {
			<-stream.Context().Done()
			return stream.Context().Err()
		}}
	client := connected(t, server.start(t))
	large := numbers(8 << 20)
	_, _ = client.Info(background)
	before := runtime.NumGoroutine()
	for _, keys := range [][]uint32{{1}, large} {
		for _, parts := range []int{1, 4} {
			ctx, cancel := context.WithCancel(background)
			time.AfterFunc(30*time.Millisecond, cancel)
			_, err := Sort(ctx, client, keys, Connections(parts))
			failedAs(t, err, codes.Canceled, "")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v is not context.Canceled", err)
			}
			ctx, cancel = context.WithTimeout(background, 30*time.Millisecond)
			_, err = Sort(ctx, client, keys, Connections(parts))
			failedAs(t, err, codes.DeadlineExceeded, "")
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is not context.DeadlineExceeded", err)
			}
			cancel()
			_, err = Sort(background, client, keys, Timeout(30*time.Millisecond), Connections(parts))
			failedAs(t, err, codes.DeadlineExceeded, "")
		}
	}
	// The connections of four parts stay, with some goroutines each; those of calls do not.
	settled(t, before+4*12)
	_ = client.Close()
	_, err := Sort(background, client, []uint32{1})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("%v is not ErrClosed", err)
	}
}

// settled waits until there are at most so many goroutines.
func settled(t *testing.T, most int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= most {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, not %d at most:\n%s", runtime.NumGoroutine(), most, stacks[:runtime.Stack(stacks, true)])
}

func TestClosedClientsLeaveNothing(t *testing.T) {
	address := (&fake{}).start(t)
	before := runtime.NumGoroutine()
	for range 5 {
		client, err := Connect(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Sort(background, client, numbers(1<<18), Via(Stream), Connections(1)); err != nil {
			t.Fatal(err)
		}
		_ = client.Close()
	}
	settled(t, before)
}

func TestTraceAndRequestIdReachTheServer(t *testing.T) {
	const trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	server := &fake{sort: func(ctx context.Context, _ int, request *corankpb.SortRequest) (*corankpb.SortResponse, error) {
		if sent(ctx, "traceparent") != trace || request.GetOptions().GetRequestId() != "mine" ||
			request.GetOptions().GetPriority() != High {
			return nil, status.Error(codes.InvalidArgument, "missing")
		}
		return nil, status.Error(codes.NotFound, "seen")
	}}
	client := connected(t, server.start(t), WithTraceparent(trace))
	_, err := Sort(background, client, []uint32{1}, WithRequestID("mine"), WithPriority(High))
	own := failedAs(t, err, codes.NotFound, "", trace[3:35])
	if own.TraceID != trace[3:35] {
		t.Errorf("the trace is %q", own.TraceID)
	}
	_, err = Sort(background, client, []uint32{1}, Traceparent("nonsense"))
	failedAs(t, err, codes.InvalidArgument, "traceparent")
}

func TestChainsSayWhatIsWrong(t *testing.T) {
	client := connected(t, (&fake{}).start(t))
	chain, other := client.Chain(), client.Chain()
	keys := chain.Sort(Of([]uint32{1})).Keys
	if _, err := Slice[uint32](keys); err == nil {
		t.Error("a result was there before the chain ran")
	}
	_, err := client.Sort(background, keys)
	failedAs(t, err, codes.InvalidArgument, "keys", "result of a chain")
	other.Sort(keys)
	failedAs(t, other.Run(background), codes.InvalidArgument, "keys", "result of a chain")
	failedAs(t, other.Run(background), codes.InvalidArgument, "", "has run")
	late := client.Chain()
	late.Sort(Of([]uint32{1}), Keep("a"), Into(Of([]uint32{1})))
	failedAs(t, late.Run(background), codes.InvalidArgument, "into")
	full := client.Chain()
	for range maxOperations + 1 {
		full.Sort(Of([]uint32{1}))
	}
	failedAs(t, full.Run(background), codes.InvalidArgument, "plan.operations[16]", "at most 16")
}

func TestTextAndBack(t *testing.T) {
	rows := []string{"b", "", "straße"}
	column := Text(rows)
	got, err := column.Strings()
	if err != nil || !slices.Equal(got, rows) {
		t.Errorf("%q, %v", got, err)
	}
	column.Offsets = Of([]int64{0, 5, 2, 99})
	if _, err := column.Strings(); err == nil {
		t.Error("offsets that fall were taken")
	}
}

func TestPacksAValidityAsArrowDoes(t *testing.T) {
	valid := []bool{true, false, true, true, false, false, false, true, true}
	column := Column{Validity: PackValidity(valid)}
	if !slices.Equal(column.Validity.data, []byte{0b10001101, 1}) {
		t.Errorf("%b", column.Validity.data)
	}
	for row, isValid := range valid {
		if column.IsNull(row) == isValid {
			t.Errorf("row %d", row)
		}
	}
	if (Column{}).IsNull(3) {
		t.Error("a column without a validity has a null")
	}
}

// join is all pieces in one.
func (p pieces) join() []byte { return bytes.Join(p, nil) }

func TestRetriesReadInputsThatResultsGoOver(t *testing.T) {
	noWait(t)
	calls := 0
	server := &fake{}
	server.execute = func(stream corankpb.CorankService_ExecuteServer) error {
		if calls++; calls > 1 {
			server.execute = nil
			return server.Execute(stream)
		}
		_ = sendChunk(stream, 0, make([]byte, 4096))
		return busy(codes.Unavailable)
	}
	keys := numbers(1 << 16)
	want := slices.Sorted(slices.Values(keys))
	_, err := Sort(background, connected(t, server.start(t)), keys, Via(Stream), Into(Of(keys)))
	if err != nil || calls != 2 || !slices.Equal(keys, want) {
		t.Errorf("%v after %d tries; in order: %v", err, calls, slices.Equal(keys, want))
	}
}

func TestASortKnowsHowManyRowsALimitLeavesOfItsSegments(t *testing.T) {
	segments := []int64{0, 3, 3, 10}
	if found := LimitedSegments(segments, 2); !slices.Equal(found, []int64{0, 2, 2, 4}) {
		t.Fatal(found)
	}
	if found := LimitedSegments(nil, 2); !slices.Equal(found, []int64{0}) {
		t.Fatal(found)
	}
	limit := int64(2)
	kept := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_INT64, width: 8, count: 4, name: "kept"}
	for _, each := range []struct {
		made        call
		rows        int64
		count, most int64
	}{
		{call{}, 10, 10, 10},
		{call{limit: &limit}, 10, 2, 2},
		{call{limit: &limit}, 1, 1, 1},
		{call{limit: &limit}, -1, -1, -1},
		{call{limit: &limit, segments: Of(segments)}, 10, 4, 4},
		{call{limit: &limit, segments: Of([]int64{0, 9, -9})}, 10, 2, 2},
		{call{limit: &limit, segments: kept}, 10, -1, 6},
		{call{limit: &limit, segments: kept}, 5, -1, 5},
		{call{limit: &limit, segments: &Array{count: -1, width: 8}}, 10, -1, 10},
	} {
		if count, most := each.made.firstRows(each.rows); count != each.count || most != each.most {
			t.Errorf("%+v: %d, at most %d", each, count, most)
		}
	}
}
