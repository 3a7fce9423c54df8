package corank

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// repeat says after which failures a call may be retried. A call that was never sent always may.
type repeat int

const (
	unlessLost repeat = iota // not after a lost answer, after which the work may be done
	always                   // doing the call twice does no harm
)

const (
	firstWait    = 50 * time.Millisecond
	longestWait  = 5 * time.Second
	budgetTokens = 20.0
	budgetRefill = 0.1
)

// budget limits the retries of one client, as in gRPC's retry design: every failure that could be retried takes a
// token, every success returns a tenth, and nothing is retried while half of the tokens or fewer are left.
type budget struct {
	mutex sync.Mutex
	spent float64
}

func (b *budget) take() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.spent = min(b.spent+1, budgetTokens)
	return budgetTokens-b.spent > budgetTokens/2
}

func (b *budget) refill() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.spent = max(b.spent-budgetRefill, 0)
}

// afterFailure decides what follows on the failure of try number attempt, from 1. The wait is at least what the server
// asks for, and drawn (random from 0 to 1) from as much again, or from 50 ms if that is more, doubled with each try,
// 5 s at most, and never up to the deadline. Without a retry, the reason says why, unless that is obvious.
func afterFailure(err *Error, may repeat, attempt, retries int, left time.Duration, random float64) (
	wait time.Duration, again bool, reason string) {
	switch {
	case err.failure == final || retries < 1:
		return 0, false, ""
	case err.failure == lost && may == unlessLost:
		return 0, false, "it may have been done, and doing it twice may do harm"
	case attempt > retries:
		return 0, false, fmt.Sprintf("no more than %d tries are allowed", retries+1)
	case err.RetryAfter >= left:
		return 0, false, "the next try would begin after the deadline"
	}
	spread := max(firstWait, err.RetryAfter)
	for range attempt - 1 {
		spread = min(2*spread, longestWait)
	}
	spread = min(spread, longestWait, left-err.RetryAfter)
	return err.RetryAfter + time.Duration(float64(spread)*random), true, ""
}

// sleep waits, unless the context ends first. Tests replace it.
var sleep = func(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retry calls once, and again while that may help; it returns the number of tries. The error of the last try says how
// often it was tried, and why not again.
func (c *Client) retry(ctx context.Context, call *call, operator string, may repeat, once func() error) (int, error) {
	began, before, reloaded := time.Now(), "", false
	for attempt := 1; ; attempt++ {
		sent := c.token.authorization()
		err := once()
		if err == nil {
			c.budget.refill()
			return attempt, nil
		}
		var failed *Error
		if !errors.As(err, &failed) {
			return attempt, err
		}
		if failed.Code == codes.Unauthenticated && !reloaded && c.token.reload(sent) {
			reloaded = true
			continue
		}
		left := time.Duration(1<<63 - 1)
		if deadline, ok := ctx.Deadline(); ok {
			left = time.Until(deadline)
		}
		wait, again, reason := afterFailure(failed, may, attempt, call.retries, left, rand.Float64())
		if failed.failure != final && !c.budget.take() && again {
			again, reason = false, "too many calls of this client fail now for more tries"
		}
		if again {
			before = failed.Message
			if sleep(ctx, wait) == nil {
				continue
			}
			failed = c.ended(ctx, &Error{Operator: operator})
		}
		return attempt, tell(failed, call, attempt, time.Since(began), reason, before)
	}
}

// tell adds to the message of the last failure after how many tries the call ended, and why.
func tell(failed *Error, call *call, attempts int, took time.Duration, reason, before string) error {
	failed.Attempts, failed.TraceID = attempts, traceID(call.traceparent)
	if failed.Code == codes.DeadlineExceeded && before != "" {
		reason = "the try before: " + before
	}
	if attempts > 1 {
		if reason != "" {
			reason = ": " + reason
		}
		failed.Message += fmt.Sprintf(" (tried %d times in %.3g s%s)", attempts, took.Seconds(), reason)
	} else if reason != "" {
		failed.Message += fmt.Sprintf(" (not tried again: %s)", reason)
	}
	return failed
}
