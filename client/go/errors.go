package corank

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ErrClosed is the error of calls of a client that was closed. errors.Is finds it.
var ErrClosed = errors.New("corank: the client is closed")

// Error is a call that failed. It has changed nothing on the server.
//
// errors.Is finds context.Canceled, context.DeadlineExceeded and ErrClosed, and status.Code the gRPC status.
type Error struct {
	// Code is the gRPC status, also for what the client refuses before it sends anything.
	Code codes.Code
	// Message says in words what the caller can change.
	Message string
	// Operator is the method, such as "Sort"; empty if no call was made.
	Operator string
	// Reason names the cause, as the contract's ErrorReason does, such as "KEYS_NOT_SORTED"; empty if the server gave
	// none.
	Reason string
	// Field is the argument to blame, such as "keys" or "segment_offsets[2]"; empty if there is none.
	Field string
	// Rows is the number of rows of a join that has more than MaxRows (Reason "TOO_MANY_ROWS"); 0 for other errors.
	Rows int64
	// RetryAfter is the time that the server asks callers to wait before a retry; 0 if it did not.
	RetryAfter time.Duration
	// RequestID names the request in the server's log; empty if the server did not answer.
	RequestID string
	// TraceID is the W3C trace of the call; empty without a traceparent.
	TraceID string
	// Attempts is the number of tries.
	Attempts int

	failure failure
	cause   error
}

// failure is the kind of failure of one try.
type failure int

const (
	final   failure = iota // it would fail again
	notSent                // there was no connection
	refused                // the server says when to retry
	lost                   // the connection broke, and the server may have done the call
)

// Error is the message with the operator, the request and the trace.
func (e *Error) Error() string {
	text := "corank: "
	if e.Operator != "" {
		text += e.Operator + ": "
	}
	text += e.Message
	var named []string
	if e.RequestID != "" {
		named = append(named, "request "+e.RequestID)
	}
	if e.TraceID != "" {
		named = append(named, "trace "+e.TraceID)
	}
	if len(named) > 0 {
		text += " [" + strings.Join(named, ", ") + "]"
	}
	return text
}

// Unwrap returns gRPC's own error, the context's, or ErrClosed.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus makes status.Code and status.FromError work.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

func invalid(field, format string, arguments ...any) *Error {
	return &Error{Code: codes.InvalidArgument, Field: field, Message: fmt.Sprintf(format, arguments...)}
}

func internal(format string, arguments ...any) *Error {
	return &Error{Code: codes.Internal, Message: fmt.Sprintf(format, arguments...)}
}

// blame puts the name of an argument before the message of an error that has none.
func blame(field string, err error) error {
	var known *Error
	if !errors.As(err, &known) || known.Field != "" {
		return err
	}
	made := *known
	made.Field, made.Message = field, field+": "+known.Message
	return &made
}

// closed is the error of a call of a closed client.
func closed() *Error {
	return &Error{Code: codes.FailedPrecondition, Message: "the client is closed", cause: ErrClosed}
}

// fromRPC is the error of a try that failed.
func (c *Client) fromRPC(ctx context.Context, operator string, err error, trailer metadata.MD) *Error {
	var own *Error
	if errors.As(err, &own) {
		own.Operator = operator
		return own
	}
	found, _ := status.FromError(err)
	made := &Error{Code: found.Code(), Message: found.Message(), Operator: operator, cause: err}
	if ids := trailer.Get("x-request-id"); len(ids) > 0 {
		made.RequestID = ids[0]
	}
	wait, again := false, false
	for _, detail := range found.Details() {
		switch detail := detail.(type) {
		case *errdetails.BadRequest:
			if len(detail.FieldViolations) > 0 {
				made.Field = detail.FieldViolations[0].Field
			}
		case *errdetails.RetryInfo:
			made.RetryAfter, wait = detail.GetRetryDelay().AsDuration(), true
		case *errdetails.ErrorInfo:
			if detail.Domain == "corank" {
				made.Reason = detail.Reason
				again = lostPart(detail)
				if made.Reason == "TOO_MANY_ROWS" {
					made.Rows, _ = strconv.ParseInt(detail.Metadata["rows"], 10, 64)
				}
			}
		}
	}
	switch {
	case c.isClosed():
		return closed()
	case made.Code == codes.DeadlineExceeded && made.Reason != "" && made.Reason != "DEADLINE_PASSED":
		// Only the server knows why it did not begin, or that the caller stood still.
		made.cause = context.DeadlineExceeded
	case ctx.Err() != nil || made.Code == codes.DeadlineExceeded:
		return c.ended(ctx, made)
	case wait && (made.Code == codes.ResourceExhausted || made.Code == codes.Unavailable):
		made.failure = refused
	case again && made.Code == codes.Aborted:
		made.failure = refused
	case made.Code == codes.Unavailable:
		c.unavailable(made)
	case made.Code == codes.Unauthenticated:
		made.Message += "; give a token that the server knows (WithToken, WithTokenFile)"
	case made.Code == codes.PermissionDenied:
		made.Message += "; the operator of the server can allow it"
	}
	if made.Field != "" && !strings.Contains(made.Message, made.Field) {
		made.Message = made.Field + ": " + made.Message
	}
	return made
}

// lostPart tells whether a job was given up because a part of it did not come or its caller went away: the job may be
// run again. Any other cause would come again.
func lostPart(info *errdetails.ErrorInfo) bool {
	switch info.Metadata["cause"] {
	case "CALLER_CANCELLED", "REQUEST_INCOMPLETE":
		return true
	}
	return info.Reason == "JOB_INCOMPLETE"
}

// ended is the error of a call whose context ended, or whose deadline the server reports.
func (c *Client) ended(ctx context.Context, made *Error) *Error {
	made.cause = context.Cause(ctx)
	if errors.Is(made.cause, context.Canceled) {
		made.Code, made.Message = codes.Canceled, "cancelled by the caller"
		return made
	}
	if made.cause == nil {
		made.cause = context.DeadlineExceeded
	}
	made.Code = codes.DeadlineExceeded
	made.Message = "not done within its deadline; give the context a later one, or WithTimeout a longer time"
	return made
}

// unavailable says why there is no connection, and whether the call was sent.
func (c *Client) unavailable(made *Error) {
	text := made.Message
	last := text[strings.LastIndex(text, ": ")+1:]
	last = strings.Trim(last, ` "`)
	where := c.target.String()
	switch {
	case made.RequestID != "": // the server's own words
		made.failure = lost
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		made.Message = fmt.Sprintf("the server at %s does not speak TLS on this port; use its TLS port, or no TLS", where)
	case strings.Contains(text, "authentication handshake failed"):
		made.Message = fmt.Sprintf("TLS with the server at %s failed (%s); WithCA trusts an authority, WithServerName "+
			"says which name to expect, WithCertificate shows a certificate of this client", where, last)
	case strings.Contains(text, "error reading server preface"):
		made.failure = notSent
		made.Message = fmt.Sprintf("the server at %s closed the connection before any call (%s): it may want TLS "+
			"(WithCA), or be no corank server", where, last)
	case strings.Contains(text, "Error while dialing"), strings.Contains(text, "name resolver error"),
		strings.Contains(text, "produced zero addresses"), strings.Contains(text, "failed to write client preface"):
		made.failure = notSent
		made.Message = fmt.Sprintf("no answer from a corank server at %s (%s); is corankd running there? Set "+
			"CORANK_SERVER or give Connect another address", where, last)
	default:
		made.failure = lost
		made.Message = fmt.Sprintf("the connection to %s broke before the answer came (%s)", where, last)
	}
}
