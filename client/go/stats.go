package corank

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/corank/corank/client/go/corankpb"
)

// Stats is the cost of a call.
type Stats struct {
	Operator  string // the method, such as "Sort"
	Engine    string // "cuda" or "cpu"
	Device    string // as the driver or the operating system names it
	Algorithm string // that the server used, such as "radix"; empty if there is no choice
	RequestID string // names the request in the server's log
	Place     Place  // how large arrays travelled
	Attempts  int
	Elapsed   time.Duration // from the call to its return, retries included
	// Server is the server's own account of its stages.
	Server *corankpb.RequestStats
}

func (j *job) stats(t *task, found *answer, took time.Duration) Stats {
	response := found.message.(operatorResponse)
	made := Stats{Operator: t.method, Server: response.GetStats(), RequestID: j.id, Attempts: j.tries, Elapsed: took,
		Place: Inline}
	made.Engine, made.Device = name(made.Server.GetEngine(), "ENGINE_"), made.Server.GetDevice()
	switch response := response.(type) {
	case *corankpb.SortResponse:
		made.Algorithm = name(response.Algorithm, "SORT_ALGORITHM_")
	case *corankpb.MergeResponse:
		made.Algorithm = name(response.Algorithm, "MERGE_ALGORITHM_")
	}
	if len(j.sources)+len(j.sinks) > 0 {
		made.Place = Stream
	}
	return made
}

// mostBytes is the memory of this machine; a result of more cannot be.
var mostBytes = sync.OnceValue(func() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	fields := strings.Fields(string(text))
	if len(fields) > 1 && fields[0] == "MemTotal:" {
		if kibibytes, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return kibibytes << 10
		}
	}
	return math.MaxInt64 >> 16
})
