//! The client, and what it asks a server about itself.

use std::{
    env,
    future::Future,
    path::PathBuf,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex,
    },
    time::{Duration, Instant},
};

use tonic::{codegen::http::uri::PathAndQuery, metadata::MetadataValue, transport::Channel, Code};

use crate::{
    connect::{Connections, DEFAULT_ADDRESS},
    error::{Error, Result},
    request::Options,
    retry::{Budget, Policy, Repeat},
    v1, wire,
};

const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);
const BYTES_PER_SECOND: u64 = 16 << 20;
pub(crate) const DEFAULT_RETRIES: u32 = 5;

/// How a client reaches its server. Made by `ConnectOptions::default()`; every member is optional.
#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    /// Use TLS and trust the authorities of this machine. The other options of TLS switch it on too.
    pub tls: bool,
    /// A PEM file of the authorities to trust. Default: the file that CORANK_SERVER_CA names.
    pub tls_ca: Option<PathBuf>,
    /// A PEM file with the certificate of this client, for mutual TLS. Default: CORANK_CLIENT_CERTIFICATE.
    pub tls_certificate: Option<PathBuf>,
    /// A PEM file with its key. Default: CORANK_CLIENT_KEY.
    pub tls_key: Option<PathBuf>,
    /// The name to expect in the server's certificate, if the address has another.
    pub server_name: Option<String>,
    /// Names the caller to the server. Without TLS, a token goes to this host only. Default: CORANK_TOKEN.
    pub token: Option<String>,
    /// A file that holds the token. The client reads it again when the server refuses the token.
    pub token_file: Option<PathBuf>,
    /// The time that a call may take, retries included; `Duration::ZERO`: no limit. Default: 60 s, and 1 s more for every
    /// 16 MiB.
    pub deadline: Option<Duration>,
    /// How often a call may be retried. Default: 5.
    pub retries: Option<u32>,
    /// Connections over which one call streams large arrays. Default: 4 for more than 128 MiB, else 1.
    pub connections: Option<usize>,
    /// The W3C traceparent of calls that name none.
    pub traceparent: Option<String>,
}

/// Whether a server takes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Serving,
    /// It does not.
    NotServing,
    /// It has no service of this name.
    Unknown,
}

pub(crate) struct Inner {
    pub connections: Connections,
    pub options: ConnectOptions,
    pub budget: Budget,
    is_closed: AtomicBool,
    info: Mutex<Option<Arc<v1::GetServerInfoResponse>>>,
}

/// Calls a corank server. It connects at the first call, and again when a connection breaks. Clones share the
/// connections; use one from as many tasks as you like. Calls need a tokio runtime.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
}

impl Client {
    /// Makes a client of the server at `address`: HOST:PORT or unix:PATH. Several addresses with commas take turns, and so
    /// do all addresses of a name (dns:///HOST:PORT). An empty address is that of CORANK_SERVER, or 127.0.0.1:50051.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the address has no port. Does not wait for a connection.
    pub fn connect(address: &str) -> Result<Self> {
        Self::connect_with(address, ConnectOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the address has no port, a file cannot be used, or a token would leave this host without TLS.
    pub fn connect_with(address: &str, options: ConnectOptions) -> Result<Self> {
        let from_environment = env::var("CORANK_SERVER").ok().filter(|server| !server.is_empty());
        let address = match address {
            "" => from_environment.as_deref().unwrap_or(DEFAULT_ADDRESS),
            given => given,
        };
        if let Some(text) = &options.traceparent {
            trace_id(text)?;
        }
        let connections = Connections::new(address, &options)?;
        let (budget, is_closed, info) = (Budget::default(), AtomicBool::new(false), Mutex::new(None));
        Ok(Self { inner: Arc::new(Inner { connections, options, budget, is_closed, info }) })
    }

    /// The address of the server.
    pub fn address(&self) -> String {
        self.inner.connections.target.text()
    }

    /// Ends the connections of this client and its clones. Later calls fail; [`Error::is_closed`] tells.
    pub fn close(&self) {
        self.inner.is_closed.store(true, Ordering::Release);
        self.inner.connections.close();
    }

    /// A description of the server: version, devices, limits, places, settings.
    ///
    /// # Errors
    ///
    /// As of every call.
    pub async fn info(&self) -> Result<v1::GetServerInfoResponse> {
        self.info_by(self.deadline(&Options::default(), 0)).await
    }

    async fn info_by(&self, deadline: Option<Instant>) -> Result<v1::GetServerInfoResponse> {
        let options = Options::default();
        let answer = self
            .call(&options, "GetServerInfo", Repeat::Always, deadline, |channel, policy| async move {
                let mut stub = v1::corank_service_client::CorankServiceClient::new(channel);
                let request = self.request(v1::GetServerInfoRequest {}, &Options::default(), policy)?;
                Ok(stub.get_server_info(request).await.map_err(|status| self.failed(&status))?.into_inner())
            })
            .await?;
        *self.inner.info.lock().unwrap() = Some(Arc::new(answer.clone()));
        Ok(answer)
    }

    /// The description as it was found before, or as a call that must be done by then finds it.
    pub(crate) async fn known_info(&self, deadline: Option<Instant>) -> Result<Arc<v1::GetServerInfoResponse>> {
        let known = self.inner.info.lock().unwrap().clone();
        match known {
            Some(info) => Ok(info),
            None => Ok(Arc::new(self.info_by(deadline).await?)),
        }
    }

    /// Whether the server takes calls of a service: "" for all, "live", "ready", or a device such as "engine.cuda.0".
    ///
    /// # Errors
    ///
    /// As of every call.
    pub async fn health(&self, service: &str) -> Result<Health> {
        let options = Options::default();
        let outcome = self
            .call(&options, "Check", Repeat::Always, self.deadline(&options, 0), |channel, policy| async move {
                let mut grpc = tonic::client::Grpc::new(channel);
                grpc.ready().await.map_err(|error| self.failed(&tonic::Status::from_error(error.into())))?;
                let message = wire::HealthRequest { service: service.to_owned() };
                let request = self.request(message, &Options::default(), policy)?;
                let path = PathAndQuery::from_static("/grpc.health.v1.Health/Check");
                let codec = tonic_prost::ProstCodec::<wire::HealthRequest, wire::HealthResponse>::default();
                let answer = grpc.unary(request, path, codec).await.map_err(|status| self.failed(&status))?;
                Ok(answer.into_inner().status())
            })
            .await;
        match outcome {
            Ok(wire::HealthStatus::Serving) => Ok(Health::Serving),
            Ok(wire::HealthStatus::NotServing) => Ok(Health::NotServing),
            Ok(_) => Ok(Health::Unknown),
            Err(error) if error.code == Code::NotFound => Ok(Health::Unknown),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.inner.is_closed.load(Ordering::Acquire)
    }

    /// When a call with so many bytes of arrays must be done.
    pub(crate) fn deadline(&self, options: &Options, bytes: usize) -> Option<Instant> {
        let own = options.deadline.or(self.inner.options.deadline);
        let limit = own.unwrap_or(DEFAULT_DEADLINE + Duration::from_secs(bytes as u64 / BYTES_PER_SECOND));
        if limit.is_zero() {
            None
        } else {
            Instant::now().checked_add(limit)
        }
    }

    pub(crate) fn failed(&self, status: &tonic::Status) -> Error {
        if self.is_closed() {
            Error::closed()
        } else {
            Error::from_status(status, &self.address())
        }
    }

    /// A message with the metadata of a call and the time that is left for it.
    pub(crate) fn request<M>(
        &self,
        message: M,
        options: &Options,
        left: Option<Duration>,
    ) -> Result<tonic::Request<M>> {
        let mut request = tonic::Request::new(message);
        if let Some(left) = left {
            request.set_timeout(left);
        }
        let metadata = request.metadata_mut();
        let mut add = |key: &'static str, value: &str| match MetadataValue::try_from(value) {
            Ok(value) => {
                metadata.insert(key, value);
                Ok(())
            }
            Err(_) => Err(Error::invalid(key, "must be printable ASCII")),
        };
        if let Some(authorization) = self.inner.connections.token.authorization() {
            add("authorization", &authorization)?;
        }
        if let Some(id) = &options.request_id {
            add("x-request-id", id)?;
        }
        if let Some(traceparent) = options.traceparent.as_ref().or(self.inner.options.traceparent.as_ref()) {
            trace_id(traceparent)?;
            add("traceparent", traceparent)?;
        }
        Ok(request)
    }

    /// Makes a call on the connection whose turn it is, and again while that may help.
    pub(crate) async fn call<T, F, Once>(
        &self,
        options: &Options,
        operator: &str,
        repeat: Repeat,
        deadline: Option<Instant>,
        once: Once,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
        Once: Fn(Channel, Option<Duration>) -> F,
    {
        let once = |policy_left| {
            let once = &once;
            async move { once(self.inner.connections.next().await?, policy_left).await }
        };
        Ok(self.retry(options, operator, repeat, deadline, once).await?.0)
    }

    /// Calls `once` with the time that is left, and again while that may help. Returns the number of tries too.
    pub(crate) async fn retry<T, F, Once>(
        &self,
        options: &Options,
        operator: &str,
        repeat: Repeat,
        deadline: Option<Instant>,
        once: Once,
    ) -> Result<(T, u32)>
    where
        F: Future<Output = Result<T>>,
        Once: Fn(Option<Duration>) -> F,
    {
        let retries = options.retries.or(self.inner.options.retries).unwrap_or(DEFAULT_RETRIES);
        let policy = Policy { budget: &self.inner.budget, repeat, retries, deadline };
        let refused = Mutex::new(None);
        let tried = || {
            let left = policy.left();
            *refused.lock().unwrap() = self.inner.connections.token.authorization();
            let once = &once;
            async move {
                if self.is_closed() {
                    return Err(Error::closed());
                }
                once(left).await
            }
        };
        let reload = |error: &Error| {
            error.code == Code::Unauthenticated && self.inner.connections.token.reload(&refused.lock().unwrap())
        };
        policy.run(tried, reload).await.map_err(|mut error| {
            error.operator = operator.to_owned();
            let traceparent = options.traceparent.as_ref().or(self.inner.options.traceparent.as_ref());
            error.trace_id = traceparent.and_then(|text| trace_id(text).ok()).unwrap_or_default();
            if error.failure != crate::error::Failure::Final {
                *self.inner.info.lock().unwrap() = None; // another server may answer next
                self.inner.connections.forget();
            }
            error
        })
    }
}

/// The trace that a W3C traceparent names.
pub(crate) fn trace_id(traceparent: &str) -> Result<String> {
    let is_hex = |text: &str, size: usize| {
        text.len() == size && text.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
    };
    let parts: Vec<&str> = traceparent.split('-').collect();
    match parts.as_slice() {
        ["00", trace, span, flags]
            if is_hex(trace, 32)
                && is_hex(span, 16)
                && is_hex(flags, 2)
                && !trace.trim_matches('0').is_empty()
                && !span.trim_matches('0').is_empty() =>
        {
            Ok((*trace).to_owned())
        }
        _ => {
            let text = "must be a W3C traceparent, such as 00-<32 hex digits>-<16 hex digits>-01";
            Err(Error::invalid("traceparent", text))
        }
    }
}
