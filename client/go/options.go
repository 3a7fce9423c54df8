package corank

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc"
)

// connecting holds the options of Connect.
type connecting struct {
	tls, hasTimeout      bool
	ca, certificate, key string
	serverName           string
	token, tokenFile     string
	timeout              time.Duration
	retries, connections int
	maxMessage           int
	traceparent          string
	dial                 []grpc.DialOption
}

// ConnectOption is an option of Connect.
type ConnectOption func(*connecting)

// WithTLS switches TLS on and trusts the authorities of this machine. The other options of TLS switch it on too.
func WithTLS() ConnectOption { return func(o *connecting) { o.tls = true } }

// WithCA trusts the authorities in a PEM file. Default: the file that CORANK_SERVER_CA names.
func WithCA(path string) ConnectOption { return func(o *connecting) { o.tls, o.ca = true, path } }

// WithCertificate shows the server a certificate of this client, for mutual TLS. Both files are PEM. Default: the files
// that CORANK_CLIENT_CERTIFICATE and CORANK_CLIENT_KEY name.
func WithCertificate(certificate, key string) ConnectOption {
	return func(o *connecting) { o.tls, o.certificate, o.key = true, certificate, key }
}

// WithServerName is the name to expect in the server's certificate, if the address has another.
func WithServerName(name string) ConnectOption {
	return func(o *connecting) { o.tls, o.serverName = true, name }
}

// WithToken names the caller to the server. Without TLS, a token goes to this host only. Default: CORANK_TOKEN.
func WithToken(token string) ConnectOption { return func(o *connecting) { o.token = token } }

// WithTokenFile reads the token from a file, and again when the server refuses the token.
func WithTokenFile(path string) ConnectOption { return func(o *connecting) { o.tokenFile = path } }

// WithTimeout limits calls whose context has no deadline, retries included; 0 is no limit. Default: 60 s, and 1 s more
// for every 16 MiB.
func WithTimeout(limit time.Duration) ConnectOption {
	return func(o *connecting) { o.hasTimeout, o.timeout = true, limit }
}

// WithRetries is how often a call may be retried, with growing pauses, when the server is too busy or cannot be
// reached. The client never repeats a call that could do harm when it is done twice. Default: 5.
func WithRetries(most int) ConnectOption { return func(o *connecting) { o.retries = most } }

// WithConnections is the number of connections over which one call streams large arrays. Default: 4 for more than
// 128 MiB, else 1.
func WithConnections(count int) ConnectOption { return func(o *connecting) { o.connections = count } }

// WithTraceparent is the W3C traceparent of calls that name none.
func WithTraceparent(text string) ConnectOption { return func(o *connecting) { o.traceparent = text } }

// WithMaxMessage limits the requests to send and the responses to take, in bytes. Default: 2 GiB - 1.
func WithMaxMessage(bytes int) ConnectOption { return func(o *connecting) { o.maxMessage = bytes } }

// WithDialOptions adds options of gRPC, such as interceptors.
func WithDialOptions(options ...grpc.DialOption) ConnectOption {
	return func(o *connecting) { o.dial = append(o.dial, options...) }
}

// Option is an option of one call. The options of an operator's arguments say which operators take them; the others
// suit every operator.
type Option func(*call)

// call holds the options of one call.
type call struct {
	given []string // the options of arguments, by name

	descending, assumeSorted, allowOverlap, upper, indices bool
	algorithm                                              string
	segments, runs                                         *Array
	limit                                                  *int64
	offset                                                 int64
	values                                                 []*Array
	valuesValidity                                         *Array
	rightSorted                                            bool
	maxRows                                                *int64
	negate, keysSorted                                     bool
	groupInput                                             GroupInput
	groupOutputs                                           []GroupOutput

	priority               corankpb.Priority
	requestID, traceparent string
	place                  Place
	connections, retries   int
	hasTimeout             bool
	timeout                time.Duration
	expiry                 time.Duration
	progress               func(Progress)
	stats                  func(Stats)
	keep                   []string
	sharded                bool
	into                   []*Array
}

func argument(name string, set func(*call)) Option {
	return func(c *call) {
		c.given = append(c.given, name)
		set(c)
	}
}

// Descending orders greatest first. Equal keys keep the order of their input. Of Sort, Argsort, Merge, Search, Group,
// CombineSets, CountSets and Rank.
func Descending() Option { return argument("order", func(c *call) { c.descending = true }) }

// Limit returns only the first count results of the order; with Segments, those of each, one segment after the other
// (LimitedSegments). Of Sort, Argsort, SortColumns and ArgsortColumns.
func Limit(count int) Option {
	return argument("limit", func(c *call) { wide := int64(count); c.limit = &wide })
}

// Offset leaves out the first count results of the order, before Limit counts. Not with Segments. Of Sort, Argsort,
// SortColumns and ArgsortColumns.
func Offset(count int) Option {
	return argument("offset", func(c *call) { c.offset = int64(count) })
}

// Segments sorts each segment of keys or rows by itself: segment i is [offsets[i], offsets[i+1]). Offsets are int64,
// rise from 0 to the number of keys or rows, and are one more than there are segments. Not with Runs. Of Sort,
// Argsort, SortColumns and ArgsortColumns.
func Segments(offsets *Array) Option {
	return argument("segment_offsets", func(c *call) { c.segments = offsets })
}

// Runs merges tables: rows are sorted runs, one after the other, and run i is rows offsets[i] to offsets[i+1]. Offsets
// are int64, rise from 0 to the number of rows, and are one more than there are runs. Equal rows of an earlier run come
// first; a run that is out of order is an error. Not with Algorithm. Of SortColumns, ArgsortColumns and RankColumns.
func Runs(offsets *Array) Option {
	return argument("run_offsets", func(c *call) { c.runs = offsets })
}

// Values moves a value with each key or element, or is what Group reduces. Sort, SortColumns, Group, Select, Partition
// and Remove take one array, Merge and CombineSets one for each of their inputs.
func Values(arrays ...*Array) Option { return argument("values", func(c *call) { c.values = arrays }) }

// WithIndices returns the stable permutation beside the sorted keys. Of Sort and SortColumns.
func WithIndices() Option { return argument("output", func(c *call) { c.indices = true }) }

// Algorithm chooses how the server works, by the contract's name in lower case, such as "radix" or "merge_path". The
// result is the same. Of Sort, Argsort, SortColumns, ArgsortColumns, RankColumns and Merge.
func Algorithm(name string) Option {
	return argument("algorithm", func(c *call) { c.algorithm = name })
}

// AssumeSorted skips the check that an input is sorted. Of Merge, Search and SearchColumns.
func AssumeSorted() Option { return argument("assume_sorted", func(c *call) { c.assumeSorted = true }) }

// AllowOverlap skips the check that intervals are disjoint in the destination. Of Move and Scatter.
func AllowOverlap() Option { return argument("allow_overlap", func(c *call) { c.allowOverlap = true }) }

// UpperBound finds the first position after keys that equal the needle, not the first of them. Of Search and SearchColumns.
func UpperBound() Option { return argument("bound", func(c *call) { c.upper = true }) }

// Keep has the server keep the results under these names, one for each result, instead of sending them. The results are
// then handles, as Client.Stored returns them.
func Keep(names ...string) Option { return func(c *call) { c.keep = names } }

// Sharded has the server divide what it keeps among its GPUs: the array of Store, or the results that Keep names. Such
// an array may be larger than the memory of one GPU. It can be fetched, listed and deleted. All GPUs work on Merge, on
// sorts, and on Expand, Gather, Move and Scatter; other calls bring the parts to one GPU, which must
// have room for them. Of Store and of every operator.
func Sharded() Option { return argument("sharded", func(c *call) { c.sharded = true }) }

// Into writes the results into these arrays, one for each result, of the results' types and lengths. An array may be an
// input too. If the call fails, its contents are unspecified.
func Into(arrays ...*Array) Option { return func(c *call) { c.into = arrays } }

// Priority is the place of a request among waiting requests.
type Priority = corankpb.Priority

// Priorities of WithPriority.
const (
	Low    = corankpb.Priority_PRIORITY_LOW
	Normal = corankpb.Priority_PRIORITY_NORMAL
	High   = corankpb.Priority_PRIORITY_HIGH
)

// WithPriority says which waiting request the server takes first. Default: Normal.
func WithPriority(priority Priority) Option { return func(c *call) { c.priority = priority } }

// WithRequestID names the request in logs and errors: at most 128 printable ASCII characters. Default: the server makes
// a name.
func WithRequestID(id string) Option { return func(c *call) { c.requestID = id } }

// Traceparent is the W3C traceparent of the span that makes the call.
func Traceparent(text string) Option { return func(c *call) { c.traceparent = text } }

// Place is how arrays of this process travel.
type Place string

// Places of Via. A client in Go does not register shared memory.
const (
	Inline Place = "inline" // in the messages
	Stream Place = "stream" // in chunks
)

// Via chooses how arrays travel. Default: by their size.
func Via(place Place) Option { return func(c *call) { c.place = place } }

// Timeout is WithTimeout for one call. A deadline of the context comes first.
func Timeout(limit time.Duration) Option {
	return func(c *call) { c.hasTimeout, c.timeout = true, limit }
}

// Connections is WithConnections for one call.
func Connections(count int) Option { return func(c *call) { c.connections = count } }

// Expiry is the time without use after which the server deletes the array, in whole seconds, rounded up. Of Store only.
// Default: the server's.
func Expiry(time time.Duration) Option { return argument("expiry", func(c *call) { c.expiry = time }) }

// OnProgress calls a function about ten times a second while arrays travel in chunks, and once when the call succeeded.
// It must return quickly; calls do not overlap.
func OnProgress(report func(Progress)) Option { return func(c *call) { c.progress = report } }

// OnStats calls a function with the cost of the call before it returns.
func OnStats(report func(Stats)) Option { return func(c *call) { c.stats = report } }

// Progress is how far a call is.
type Progress struct {
	Sent, ToSend        int64 // bytes of arrays
	Received, ToReceive int64 // bytes of arrays; ToReceive is 0 where the length of a result is not known
}

// options checks the options of a call, of which operator takes the arguments named.
func (c *Client) options(options []Option, takes ...string) (*call, error) {
	made := &call{traceparent: c.traceparent, connections: c.connections, retries: c.retries,
		hasTimeout: c.hasTimeout, timeout: c.timeout}
	for _, option := range options {
		option(made)
	}
	for _, name := range made.given {
		if !slices.Contains(takes, name) {
			return nil, invalid(name, "%s: not for this operator", name)
		}
	}
	if made.traceparent != "" && traceID(made.traceparent) == "" {
		return nil, invalid("traceparent", "traceparent: must be a W3C traceparent, such as "+
			"00-<32 hex digits>-<16 hex digits>-01")
	}
	switch {
	case made.keep != nil && made.into != nil:
		return nil, invalid("into", "into: results go there, or the server keeps them, not both")
	case made.place != "" && made.place != Inline && made.place != Stream:
		return nil, invalid("place", "place: %q is none of inline, stream", string(made.place))
	case made.connections < 0:
		return nil, invalid("connections", "connections: %d; at least 1 is needed", made.connections)
	}
	return made, nil
}

// algorithm is the number of an algorithm in an enum of the contract.
func algorithm(name, prefix string, numbers map[string]int32, only ...string) (int32, error) {
	number, found := numbers[prefix+strings.ToUpper(name)]
	if name == "" || (found && number != 0 && !slices.Contains(only, name)) {
		return number, nil
	}
	return 0, invalid("algorithm", "algorithm: there is no %q", name)
}

const (
	defaultTimeout = 60 * time.Second
	bytesPerSecond = 16 << 20
	longestTimeout = 1e8 * time.Second
)

// limited gives a context without a deadline that of the call.
func (c *call) limited(ctx context.Context, bytes int64) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return context.WithCancel(ctx)
	}
	limit := defaultTimeout + time.Duration(min(bytes/bytesPerSecond, math.MaxInt32))*time.Second
	if c.hasTimeout {
		limit = c.timeout
	}
	if limit <= 0 || limit > longestTimeout {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
