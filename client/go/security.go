package corank

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const defaultAddress = "127.0.0.1:50051"

var (
	tokenForm       = regexp.MustCompile(`^[!-~]+$`)
	traceparentForm = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)
)

// target is where the servers are: one gRPC target, or several addresses that take turns.
type target []string

// parseTarget checks one address, or several with commas.
func parseTarget(text string) (target, error) {
	addresses := strings.Split(text, ",")
	for i, address := range addresses {
		address = strings.TrimSpace(address)
		addresses[i] = address
		scheme, _, _ := strings.Cut(address, ":")
		if strings.ContainsAny(address, " \t\r\n") || address == "" {
			return nil, invalid("address", "address: %q holds a space or is empty; give host:port, as in %s", text,
				defaultAddress)
		}
		if host, found := strings.CutPrefix(address, scheme+"://"); found && scheme != "dns" && scheme != "unix" &&
			scheme != "passthrough" && scheme != "xds" {
			host, _, _ = strings.Cut(host, "/")
			return nil, invalid("address", "address: %q is a URL; give host:port, such as %s", address, host)
		}
		if isTarget(address) {
			if len(addresses) > 1 && !strings.HasPrefix(address, "unix:") {
				return nil, invalid("address", "address: %q cannot take turns with others; give host:port", address)
			}
			continue
		}
		switch {
		case strings.Count(address, ":") > 1 && !strings.HasPrefix(address, "["):
			return nil, invalid("address", "address: %q has no port; write [%s]:50051", address, address)
		case strings.HasSuffix(address, ":"), strings.HasSuffix(address, "]"), !strings.Contains(address, ":"):
			return nil, invalid("address", "address: %q has no port; write %s:50051", address,
				strings.TrimRight(address, ":"))
		}
	}
	return addresses, nil
}

// isTarget tells whether an address names its own resolver.
func isTarget(address string) bool {
	scheme, _, found := strings.Cut(address, ":")
	switch scheme {
	case "unix", "unix-abstract", "dns", "passthrough", "xds":
		return found
	}
	return strings.Contains(address, "/")
}

func (t target) String() string { return strings.Join(t, ",") }

// isLocal tells whether every address is of this host, without looking a name up.
func (t target) isLocal() bool {
	for _, address := range t {
		if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:") {
			continue
		}
		host := hostOf(strings.TrimPrefix(address, "dns:///"))
		found, err := netip.ParseAddr(host)
		if !strings.EqualFold(host, "localhost") && (err != nil || !found.IsLoopback()) {
			return false
		}
	}
	return true
}

// hostOf is the host of "host:port" or "[host]:port".
func hostOf(address string) string {
	return strings.Trim(address[:max(strings.LastIndex(address, ":"), 0)], "[]")
}

// traceID is the trace that a traceparent names; empty for what is none.
func traceID(traceparent string) string {
	found := traceparentForm.FindStringSubmatch(traceparent)
	if found == nil || strings.Trim(found[1], "0") == "" || strings.Trim(found[2], "0") == "" {
		return ""
	}
	return found[1]
}

// file reads what an option names.
func file(option, path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, invalid(option, "%s: %v", option, err)
	}
	return data, nil
}

// transport makes the credentials of connections, of options and the environment.
func (o *connecting) transport() (credentials.TransportCredentials, bool, error) {
	ca, certificate, key := o.ca, o.certificate, o.key
	if ca == "" {
		ca = os.Getenv("CORANK_SERVER_CA")
	}
	if certificate == "" {
		certificate = os.Getenv("CORANK_CLIENT_CERTIFICATE")
	}
	if key == "" {
		key = os.Getenv("CORANK_CLIENT_KEY")
	}
	if !o.tls && ca == "" && certificate == "" && key == "" && o.serverName == "" {
		return insecure.NewCredentials(), false, nil
	}
	config := &tls.Config{ServerName: o.serverName, MinVersion: tls.VersionTLS12}
	if ca != "" {
		data, err := file("ca", ca)
		if err != nil {
			return nil, true, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, true, invalid("ca", "ca: %s holds no PEM certificate", ca)
		}
	}
	if (certificate == "") != (key == "") {
		return nil, true, invalid("key", "certificate, key: give both, or none")
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, true, invalid("certificate", "certificate: %v", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), true, nil
}

// bearer is the token of a client, which it reads again from its file when the server refuses it.
type bearer struct {
	path  string
	mutex sync.Mutex
	value string // of the header; empty: there is none
}

// newBearer checks the token. Without TLS it goes to this host only.
func (o *connecting) newBearer(where target, hasTLS bool) (*bearer, error) {
	text := o.token
	if text != "" && o.tokenFile != "" {
		return nil, invalid("token", "token: give it, or the file that holds it, not both")
	}
	if text == "" && o.tokenFile == "" {
		text = os.Getenv("CORANK_TOKEN")
	}
	made := &bearer{path: o.tokenFile}
	if text == "" && made.path == "" {
		return made, nil
	}
	if !hasTLS && !where.isLocal() {
		return nil, invalid("token", "token: anyone on the way to %v could read it, for there is no TLS; switch TLS on "+
			"(WithCA, WithTLS), or use an address of this host", where)
	}
	var err error
	if made.path != "" {
		made.value, err = readToken(made.path)
	} else {
		made.value, err = asBearer("token", text)
	}
	return made, err
}

func readToken(path string) (string, error) {
	data, err := file("token_file", path)
	if err != nil {
		return "", err
	}
	return asBearer("token_file", string(data))
}

func asBearer(option, text string) (string, error) {
	token := strings.TrimSpace(text)
	if !tokenForm.MatchString(token) {
		return "", invalid(option, "%s: a token is one word of printable ASCII characters, and not empty", option)
	}
	return "Bearer " + token, nil
}

func (b *bearer) authorization() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.value
}

// reload reads the file again, and tells whether it holds another token than the refused one.
func (b *bearer) reload(refusedValue string) bool {
	if b.path == "" {
		return false
	}
	value, err := readToken(b.path)
	if err != nil {
		return false
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.value = value
	return value != refusedValue
}
