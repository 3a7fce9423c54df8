//! Addresses, TLS, tokens and connections.

use std::{
    env, fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        Mutex,
    },
    time::Duration,
};

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::{
    error::{Error, Result},
    ConnectOptions,
};

pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:50051";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";
const KEY: &str = "PRIVATE KEY-----";
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
const CONNECT_TIME: Duration = Duration::from_secs(20);
// A network that drops every packet reports no error.
const KEEPALIVE_TIME: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where servers are.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// A socket of this host.
    Unix(String),
    /// host:port, one or more, which take turns.
    Hosts(Vec<String>),
    /// All addresses of a name, which take turns.
    Name(String),
}

impl Target {
    pub fn parse(address: &str) -> Result<Self> {
        let example = "give host:port, such as 127.0.0.1:50051";
        let wrong = |what: &str| Error::invalid("address", format!("{address:?} {what}; {example}"));
        if address.contains(char::is_whitespace) {
            return Err(wrong("holds a space"));
        }
        if let Some(path) = address.strip_prefix("unix:") {
            return if path.is_empty() { Err(wrong("has no path")) } else { Ok(Self::Unix(path.into())) };
        }
        if let Some(name) = address.strip_prefix("dns:///") {
            return if has_port(name) { Ok(Self::Name(name.into())) } else { Err(wrong("has no port")) };
        }
        if address.contains('/') {
            return Err(wrong("is a URL"));
        }
        let hosts: Vec<String> = address.split(',').map(str::to_owned).collect();
        if hosts.iter().all(|host| has_port(host)) {
            Ok(Self::Hosts(hosts))
        } else {
            Err(wrong("has no port"))
        }
    }

    /// Whether every address is one of this host, without looking a name up.
    fn is_this_host(&self) -> bool {
        let is_loopback = |host: &String| {
            let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
            let name = name.trim_matches(['[', ']']);
            name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        };
        match self {
            Self::Unix(_) => true,
            Self::Hosts(hosts) => hosts.iter().all(is_loopback),
            Self::Name(name) => is_loopback(name),
        }
    }

    /// The addresses to connect to. Looks names up.
    async fn endpoints(&self) -> Result<Vec<String>> {
        match self {
            Self::Unix(path) => Ok(vec![format!("unix:{path}")]),
            Self::Hosts(hosts) => Ok(hosts.clone()),
            Self::Name(name) => {
                let found = tokio::net::lookup_host(name).await.map(|all| all.map(|one| one.to_string()).collect());
                match found {
                    Ok(addresses) => Ok(addresses),
                    Err(error) => {
                        let mut failed =
                            Error::new(tonic::Code::Unavailable, format!("cannot look up {name}: {error}"));
                        failed.failure = crate::error::Failure::NotSent;
                        Err(failed)
                    }
                }
            }
        }
    }

    pub fn text(&self) -> String {
        match self {
            Self::Unix(path) => format!("unix:{path}"),
            Self::Hosts(hosts) => hosts.join(","),
            Self::Name(name) => format!("dns:///{name}"),
        }
    }
}

fn has_port(host: &str) -> bool {
    match host.rsplit_once(':') {
        Some((name, port)) => {
            !name.is_empty() && port.parse::<u16>().is_ok() && (!name.contains(':') || name.ends_with(']'))
        }
        None => false,
    }
}

fn contents(option: &str, path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::invalid(option, format!("cannot read {}: {error}", path.display())))
}

/// A PEM file, in which `mark` stands.
fn pem(option: &str, path: &Path, mark: &str) -> Result<Vec<u8>> {
    let text = contents(option, path)?;
    if String::from_utf8_lossy(&text).contains(mark) {
        return Ok(text);
    }
    Err(Error::invalid(option, format!("{} has no {mark:?}; it must be PEM", path.display())))
}

/// The token, which may be in a file that changes.
pub(crate) struct Token {
    file: Option<PathBuf>,
    value: Mutex<Option<String>>,
}

impl Token {
    fn new(options: &ConnectOptions, target: &Target, has_tls: bool) -> Result<Self> {
        if options.token.is_some() && options.token_file.is_some() {
            return Err(Error::invalid("token", "give token or token_file, not both"));
        }
        let value = match (&options.token, &options.token_file) {
            (Some(token), _) => Some(bearer("token", token)?),
            (None, Some(path)) => Some(read_token(path)?),
            (None, None) => match env::var("CORANK_TOKEN") {
                Ok(token) if !token.is_empty() => Some(bearer("token", &token)?),
                _ => None,
            },
        };
        if value.is_some() && !has_tls && !target.is_this_host() {
            return Err(Error::invalid(
                "token",
                format!(
                    "anyone on the way to {} could read it, for there is no TLS; switch TLS on, or use an address of this \
                     host",
                    target.text()
                ),
            ));
        }
        Ok(Self { file: options.token_file.clone(), value: Mutex::new(value) })
    }

    pub fn authorization(&self) -> Option<String> {
        self.value.lock().unwrap().clone()
    }

    /// Reads the file again; whether it holds another token than the one that was refused.
    pub fn reload(&self, refused: &Option<String>) -> bool {
        let Some(Ok(fresh)) = self.file.as_deref().map(read_token) else {
            return false;
        };
        let changed = refused.as_ref() != Some(&fresh);
        *self.value.lock().unwrap() = Some(fresh);
        changed
    }
}

fn read_token(path: &Path) -> Result<String> {
    bearer("token_file", &String::from_utf8_lossy(&contents("token_file", path)?))
}

fn bearer(option: &str, text: &str) -> Result<String> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::invalid(option, "a token is one word of printable ASCII characters, and not empty"));
    }
    Ok(format!("Bearer {token}"))
}

fn tls(options: &ConnectOptions) -> Result<Option<ClientTlsConfig>> {
    let or_environment = |given: &Option<PathBuf>, name: &str| {
        given.clone().or_else(|| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
    };
    let ca = or_environment(&options.tls_ca, "CORANK_SERVER_CA");
    let certificate = or_environment(&options.tls_certificate, "CORANK_CLIENT_CERTIFICATE");
    let key = or_environment(&options.tls_key, "CORANK_CLIENT_KEY");
    if !options.tls && ca.is_none() && certificate.is_none() && key.is_none() && options.server_name.is_none() {
        return Ok(None);
    }
    let mut config = ClientTlsConfig::new();
    config = match &ca {
        Some(path) => config.ca_certificate(Certificate::from_pem(pem("tls_ca", path, CERTIFICATE)?)),
        None => config.with_native_roots(),
    };
    match (&certificate, &key) {
        (Some(certificate), Some(key)) => {
            let files = (pem("tls_certificate", certificate, CERTIFICATE)?, pem("tls_key", key, KEY)?);
            config = config.identity(Identity::from_pem(files.0, files.1));
        }
        (None, None) => {}
        _ => return Err(Error::invalid("tls_key", "give tls_certificate and tls_key, or none")),
    }
    if let Some(name) = &options.server_name {
        config = config.domain_name(name);
    }
    Ok(Some(config))
}

/// The connections of one client. Thread-safe.
pub(crate) struct Connections {
    pub target: Target,
    pub token: Token,
    tls: Option<ClientTlsConfig>,
    turn: AtomicUsize,
    /// One for each address; none before the first call.
    shared: Mutex<Vec<Channel>>,
    /// Of the parts of jobs, beside the first one.
    own: Mutex<Vec<Channel>>,
}

impl Connections {
    pub fn new(address: &str, options: &ConnectOptions) -> Result<Self> {
        let target = Target::parse(address)?;
        let tls = tls(options)?;
        let token = Token::new(options, &target, tls.is_some())?;
        Ok(Self { target, token, tls, turn: AtomicUsize::new(0), shared: Mutex::default(), own: Mutex::default() })
    }

    fn open(&self, address: &str) -> Result<Channel> {
        let uri = match (&self.tls, address.starts_with("unix:")) {
            (_, true) => address.to_owned(),
            (None, false) => format!("http://{address}"),
            (Some(_), false) => format!("https://{address}"),
        };
        let mut endpoint = Endpoint::from_shared(uri)
            .map_err(|error| Error::invalid("address", error))?
            .connect_timeout(CONNECT_TIME)
            .tcp_nodelay(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keep_alive_interval(KEEPALIVE_TIME)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT);
        if let Some(config) = &self.tls {
            endpoint = endpoint.tls_config(config.clone()).map_err(|error| {
                let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                Error::invalid("tls_ca", format!("the files of TLS cannot be used: {cause}"))
            })?;
        }
        Ok(endpoint.connect_lazy())
    }

    /// The connection of the next address.
    pub async fn next(&self) -> Result<Channel> {
        if self.shared.lock().unwrap().is_empty() {
            let opened = self.target.endpoints().await?.iter().map(|one| self.open(one)).collect::<Result<Vec<_>>>()?;
            let mut shared = self.shared.lock().unwrap();
            if shared.is_empty() {
                *shared = opened;
            }
        }
        let shared = self.shared.lock().unwrap();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        shared.get(turn % shared.len().max(1)).cloned().ok_or_else(Error::closed)
    }

    /// As many connections, to one server.
    pub async fn several(&self, count: usize) -> Result<Vec<Channel>> {
        if count == 1 {
            return Ok(vec![self.next().await?]);
        }
        let addresses = self.target.endpoints().await?;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let address = addresses.get(turn % addresses.len().max(1)).ok_or_else(Error::closed)?;
        if addresses.len() > 1 {
            return (0..count).map(|_| self.open(address)).collect();
        }
        let mut own = self.own.lock().unwrap();
        while own.len() < count {
            own.push(self.open(address)?);
        }
        Ok(own[..count].to_vec())
    }

    /// After a failure to connect: looks the name up again, for the next call.
    pub fn forget(&self) {
        if matches!(self.target, Target::Name(_)) {
            self.shared.lock().unwrap().clear();
        }
    }

    pub fn close(&self) {
        self.shared.lock().unwrap().clear();
        self.own.lock().unwrap().clear();
    }
}
