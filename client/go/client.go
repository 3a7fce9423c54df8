package corank

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

const (
	streamWindow     = 8 << 20
	connectionWindow = 16 << 20
	socketBuffer     = 256 << 10
)

// Client calls a corank server. It connects at the first call, and again when a connection breaks. Its methods may be
// called from several goroutines at the same time.
type Client struct {
	connecting
	target target
	token  *bearer
	common []grpc.DialOption
	budget budget
	turn   atomic.Uint32

	mutex  sync.Mutex
	closed bool
	conns  map[string]*grpc.ClientConn // "" is for everything but the parts of a job
	info   *corankpb.GetServerInfoResponse
}

// Connect makes a client of the server at address, HOST:PORT or unix:PATH. Several addresses, with commas, take turns,
// and so do all addresses of a name (dns:///HOST:PORT). An empty address is that of CORANK_SERVER, or 127.0.0.1:50051.
//
// Connect does not wait for a connection. It fails if the address has no port, a file cannot be used, or a token would
// leave this host without TLS.
func Connect(address string, options ...ConnectOption) (*Client, error) {
	if address == "" {
		address = os.Getenv("CORANK_SERVER")
	}
	if address == "" {
		address = defaultAddress
	}
	made := &Client{conns: map[string]*grpc.ClientConn{}}
	made.retries, made.maxMessage = 5, 1<<31-1
	for _, option := range options {
		option(&made.connecting)
	}
	var err error
	if made.target, err = parseTarget(address); err != nil {
		return nil, err
	}
	transport, hasTLS, err := made.transport()
	if err != nil {
		return nil, err
	}
	if made.token, err = made.newBearer(made.target, hasTLS); err != nil {
		return nil, err
	}
	if _, err = made.options(nil); err != nil {
		return nil, err
	}
	if made.retries < 0 || made.maxMessage < 1 {
		return nil, invalid("retries", "retries, max_message: must not be negative")
	}
	made.common = append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// Client.retry repeats calls, because it knows which are safe.
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		// gRPC waits a second after a failure: all tries of a call would then meet the failure of the first connection.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			// A server that takes a connection and then says nothing must not hold a call for long.
			MinConnectTimeout: 5 * time.Second,
		}),
		// A network that drops every packet reports no error.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithReadBufferSize(socketBuffer),
		grpc.WithWriteBufferSize(socketBuffer),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(made.maxMessage),
			grpc.MaxCallSendMsgSize(made.maxMessage)),
	}, made.dial...)
	if made.target.isLocal() {
		made.common = append(made.common, grpc.WithNoProxy())
	}
	return made, nil
}

// Address is the address of the server.
func (c *Client) Address() string { return c.target.String() }

// Close ends the connections. Calls that run fail with ErrClosed, and so do later ones.
func (c *Client) Close() error {
	c.mutex.Lock()
	c.closed = true
	conns := c.conns
	c.conns = nil
	c.mutex.Unlock()
	var err error
	for _, conn := range conns {
		if failed := conn.Close(); failed != nil {
			err = failed
		}
	}
	return err
}

func (c *Client) isClosed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.closed
}

// conn is the connection of unary calls and of jobs in one part.
func (c *Client) conn() (*grpc.ClientConn, error) {
	return c.dialed("", func() (*grpc.ClientConn, error) {
		if len(c.target) == 1 {
			address := c.target[0]
			if !isTarget(address) {
				address = "dns:///" + address
			}
			return grpc.NewClient(address, c.common...)
		}
		list := manual.NewBuilderWithScheme("corank")
		state := resolver.State{}
		for _, address := range c.target {
			name := hostOf(address)
			if isTarget(address) { // a socket of this host
				name = "localhost"
			}
			state.Addresses = append(state.Addresses, resolver.Address{Addr: address, ServerName: name})
		}
		list.InitialState(state)
		return grpc.NewClient("corank:///servers", append(slices.Clone(c.common), grpc.WithResolvers(list))...)
	})
}

// partConns are the connections of the parts of one job, all to one server. There is one if the server's name has
// several addresses, for then each connection might find another server.
func (c *Client) partConns(ctx context.Context, count int) ([]*grpc.ClientConn, error) {
	address := strings.TrimPrefix(c.target[int(c.turn.Add(1))%len(c.target)], "dns:///")
	if len(c.target) == 1 && count > 1 && !isTarget(address) && !c.target.isLocal() {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", hostOf(address))
		if err == nil && len(found) > 1 {
			count = 1
		}
	}
	if count == 1 {
		conn, err := c.conn()
		return []*grpc.ClientConn{conn}, err
	}
	conns := make([]*grpc.ClientConn, count)
	for part := range conns {
		var err error
		conns[part], err = c.dialed(fmt.Sprintf("%s#%d", address, part), func() (*grpc.ClientConn, error) {
			if isTarget(address) {
				return grpc.NewClient(address, c.common...)
			}
			return grpc.NewClient("passthrough:///"+address, c.common...)
		})
		if err != nil {
			return nil, err
		}
	}
	return conns, nil
}

func (c *Client) dialed(key string, dial func() (*grpc.ClientConn, error)) (*grpc.ClientConn, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, closed()
	}
	if conn, found := c.conns[key]; found {
		return conn, nil
	}
	conn, err := dial()
	if err != nil {
		return nil, invalid("address", "address: %v", err)
	}
	c.conns[key] = conn
	return conn, nil
}

// outgoing adds the metadata of a try.
func (c *Client) outgoing(ctx context.Context, call *call) context.Context {
	if value := c.token.authorization(); value != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", value)
	}
	if call.traceparent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", call.traceparent)
	}
	return ctx
}

// unary makes a call of one message each way, with as many tries as help, and returns the tries and the request id.
func (c *Client) unary(ctx context.Context, call *call, operator, method string, may repeat, request, response any) (
	int, string, error) {
	var id string
	tries, err := c.retry(ctx, call, operator, may, func() error {
		conn, err := c.conn()
		if err != nil {
			return err
		}
		var trailer metadata.MD
		err = conn.Invoke(c.outgoing(ctx, call), method, request, response, grpc.Trailer(&trailer))
		if err != nil {
			return c.fromRPC(ctx, operator, err, trailer)
		}
		if ids := trailer.Get("x-request-id"); len(ids) > 0 {
			id = ids[0]
		}
		return nil
	})
	return tries, id, err
}

// ServerInfo describes a server: its version, engine, devices, limits, places and settings.
type ServerInfo = corankpb.GetServerInfoResponse

// Info asks for a description of the server.
func (c *Client) Info(ctx context.Context, options ...Option) (*ServerInfo, error) {
	call, err := c.options(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := call.limited(ctx, 0)
	defer cancel()
	return c.ask(ctx, call)
}

func (c *Client) ask(ctx context.Context, call *call) (*ServerInfo, error) {
	found := &ServerInfo{}
	_, _, err := c.unary(ctx, call, "GetServerInfo", corankpb.CorankService_GetServerInfo_FullMethodName, always,
		&corankpb.GetServerInfoRequest{}, found)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.info = found
	return found, nil
}

// server is the description of the server. It asks once, and again after the server was unreachable.
func (c *Client) server(ctx context.Context, call *call) (*ServerInfo, error) {
	c.mutex.Lock()
	found := c.info
	c.mutex.Unlock()
	if found != nil {
		return found, nil
	}
	return c.ask(ctx, call)
}

func (c *Client) forgetServer() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.info = nil
}

// Health is the state of a service.
type Health = grpc_health_v1.HealthCheckResponse_ServingStatus

// Health asks for the state of a service of the server; "" is the server as a whole. The state of a
// service that the server does not know is SERVICE_UNKNOWN.
func (c *Client) Health(ctx context.Context, service string, options ...Option) (Health, error) {
	call, err := c.options(options)
	if err != nil {
		return 0, err
	}
	ctx, cancel := call.limited(ctx, 0)
	defer cancel()
	found := &grpc_health_v1.HealthCheckResponse{}
	_, _, err = c.unary(ctx, call, "Health", grpc_health_v1.Health_Check_FullMethodName, always,
		&grpc_health_v1.HealthCheckRequest{Service: service}, found)
	if status.Code(err) == codes.NotFound {
		return grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN, nil
	}
	return found.Status, err
}
