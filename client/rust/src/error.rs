//! Failures of calls.

use std::{error, fmt, time::Duration};

use prost::Message;
use tonic::{Code, ConnectError, Status, TimeoutExpired};

use crate::wire;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// A call that failed. It has stored, replaced and deleted nothing on the server.
#[derive(Clone, Debug)]
pub struct Error {
    /// The gRPC status, also for what the client refuses before it sends anything.
    pub code: Code,
    /// Says in words what the caller can change.
    pub message: String,
    /// The method, such as "Sort"; empty if no call was made.
    pub operator: String,
    /// The cause by its name in `ErrorReason` of the contract, such as "KEYS_NOT_SORTED"; empty if the server gave none.
    pub reason: String,
    /// The argument to blame, such as `keys` or `segment_offsets[2]`; empty if there is none.
    pub field: String,
    /// The number of rows of a join that has more than its `max_rows` (reason "TOO_MANY_ROWS").
    pub rows: Option<usize>,
    /// The time that the server asks callers to wait before a retry.
    pub retry_after: Option<Duration>,
    /// Names the request in the server's log; empty if the server did not answer.
    pub request_id: String,
    /// The W3C trace of the call; empty without a traceparent.
    pub trace_id: String,
    /// How often it was tried.
    pub attempts: u32,
    pub(crate) failure: Failure,
    pub(crate) is_closed: bool,
}

/// Kinds of failure of one try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It would fail again.
    Final,
    /// There was no connection.
    NotSent,
    /// The server says when to retry.
    Refused,
    /// The connection broke, and the server may have done the call.
    Lost,
}

impl Error {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            operator: String::new(),
            reason: String::new(),
            field: String::new(),
            rows: None,
            retry_after: None,
            request_id: String::new(),
            trace_id: String::new(),
            attempts: 1,
            failure: Failure::Final,
            is_closed: false,
        }
    }

    /// The message begins with the field, if there is one.
    pub(crate) fn invalid(field: &str, message: impl fmt::Display) -> Self {
        let colon = if field.is_empty() { "" } else { ": " };
        let mut error = Self::new(Code::InvalidArgument, format!("{field}{colon}{message}"));
        error.field = field.to_owned();
        error
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    pub(crate) fn closed() -> Self {
        let mut error = Self::new(Code::FailedPrecondition, "the client is closed");
        error.is_closed = true;
        error
    }

    pub(crate) fn late() -> Self {
        Self::new(Code::DeadlineExceeded, "not done within its deadline; allow the call a longer one")
    }

    /// The connection ended in the middle of an answer.
    pub(crate) fn lost(address: &str) -> Self {
        let text = format!("the connection to {address} broke before the answer came");
        let mut error = Self::new(Code::Unavailable, text);
        error.failure = Failure::Lost;
        error
    }

    /// Names the argument to blame, if the error names none.
    pub(crate) fn blame(mut self, field: &str) -> Self {
        if self.field.is_empty() && !field.is_empty() {
            self.field = field.to_owned();
            self.message = format!("{field}: {}", self.message);
        }
        self
    }

    /// Whether the client was closed before or during the call.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// From the status of a try. `address`: of the server, for the message.
    pub(crate) fn from_status(status: &Status, address: &str) -> Self {
        let mut error = Self::new(status.code(), status.message());
        if let Some(id) = status.metadata().get("x-request-id").and_then(|id| id.to_str().ok()) {
            error.request_id = id.to_owned();
        }
        let details = wire::RpcStatus::decode(status.details()).unwrap_or_default().details;
        let mut lost_part = false;
        for detail in &details {
            match detail.type_url.rsplit('.').next() {
                Some("BadRequest") => {
                    let request = wire::BadRequest::decode(detail.value.as_ref()).unwrap_or_default();
                    error.field =
                        request.field_violations.into_iter().next().map_or(String::new(), |first| first.field);
                }
                Some("RetryInfo") => {
                    let delay = wire::RetryInfo::decode(detail.value.as_ref()).unwrap_or_default().retry_delay;
                    error.retry_after = Some(delay.and_then(|delay| delay.try_into().ok()).unwrap_or_default());
                }
                Some("ErrorInfo") => {
                    let info = wire::ErrorInfo::decode(detail.value.as_ref()).unwrap_or_default();
                    if info.domain == "corank" {
                        // A part of the job did not come, or its caller went away; any other cause would come again.
                        let cause = info.metadata.get("cause").map_or("", String::as_str);
                        lost_part = info.reason == "JOB_INCOMPLETE"
                            || matches!(cause, "CALLER_CANCELLED" | "REQUEST_INCOMPLETE");
                        let rows = info.metadata.get("rows").and_then(|rows| rows.parse().ok());
                        error.rows = rows.filter(|_| info.reason == "TOO_MANY_ROWS");
                        error.reason = info.reason; // a proxy has reasons of its own
                    }
                }
                _ => {}
            }
        }
        let may_repeat = matches!(status.code(), Code::ResourceExhausted | Code::Unavailable);
        if causes(status).any(|cause| cause.is::<TimeoutExpired>()) {
            error.code = Code::DeadlineExceeded;
            error.message = Self::late().message;
        } else if status.code() == Code::DeadlineExceeded && error.reason.is_empty() {
            error.message = Self::late().message;
        } else if (may_repeat && error.retry_after.is_some()) || (lost_part && status.code() == Code::Aborted) {
            error.failure = Failure::Refused;
        } else if is_connection(status) && error.request_id.is_empty() {
            error.explain_connection(status, address);
        } else if status.code() == Code::Unavailable {
            error.failure = Failure::Lost;
        } else if !error.field.is_empty() && !error.message.contains(&error.field) {
            error.message = format!("{}: {}", error.field, error.message);
        }
        if status.code() == Code::Unauthenticated {
            error.message += "; give a token that the server knows (token, token_file)";
        }
        error
    }

    fn explain_connection(&mut self, status: &Status, address: &str) {
        let cause = root_cause(status);
        self.code = Code::Unavailable;
        if cause.contains("certificate") || cause.contains("InvalidCertificate") {
            self.message = format!(
                "TLS with the server at {address} failed ({cause}); tls_ca trusts an authority, server_name says which \
                 name to expect"
            );
        } else if cause.contains("frame with invalid size")
            || cause.contains("corrupt message")
            || cause.contains("InvalidContentType")
        {
            self.message =
                format!("the server at {address} does not speak TLS or HTTP/2 as this client does ({cause})");
        } else if is_connect(status) {
            self.failure = Failure::NotSent;
            self.message = format!(
                "no answer from a corank server at {address} ({cause}); is corankd running there? Set CORANK_SERVER or \
                 give connect another address"
            );
        } else if is_unsent(status) {
            self.failure = Failure::NotSent;
            self.message = format!("the connection to {address} broke before the call was sent ({cause})");
        } else {
            self.failure = Failure::Lost;
            self.message = format!("the connection to {address} broke before the answer came ({cause})");
        }
    }
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn error::Error + 'static)> {
    std::iter::successors(error::Error::source(status), |cause| cause.source())
}

fn is_connect(status: &Status) -> bool {
    causes(status).any(|cause| cause.is::<ConnectError>())
}

/// Whether the call still waited for its connection when that broke.
fn is_unsent(status: &Status) -> bool {
    causes(status).any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled))
}

fn is_connection(status: &Status) -> bool {
    // tonic's words for an answer that ended without a status.
    let is_cut = status.code() == Code::Internal && status.message() == "Missing response message.";
    is_cut || status.code() == Code::Unavailable || causes(status).next().is_some()
}

fn root_cause(status: &Status) -> String {
    causes(status).last().map_or_else(|| status.message().to_owned(), ToString::to_string)
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.operator.is_empty() {
            write!(to, "{}: ", self.operator)?;
        }
        write!(to, "{}", self.message)?;
        match (self.request_id.as_str(), self.trace_id.as_str()) {
            ("", "") => Ok(()),
            (id, "") => write!(to, " [request {id}]"),
            ("", trace) => write!(to, " [trace {trace}]"),
            (id, trace) => write!(to, " [request {id}, trace {trace}]"),
        }
    }
}

impl error::Error for Error {}

#[cfg(test)]
mod tests {
    use hyper_util::rt::{TokioExecutor, TokioIo};

    use super::*;

    /// The failure of a call over a connection that broke before or after it took the call.
    async fn failure_of_call(is_sent: bool) -> Error {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (mut calls, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(near)).await.unwrap();
        let call = calls.send_request(hyper::Request::new(String::new()));
        if is_sent {
            let connection = tokio::spawn(connection);
            tokio::task::yield_now().await;
            drop(far);
            let _ = connection.await;
        } else {
            drop(connection);
        }
        Error::from_status(&Status::from_error(Box::new(call.await.unwrap_err())), "a server")
    }

    #[tokio::test]
    async fn a_call_that_its_connection_did_not_take_was_not_sent() {
        let error = failure_of_call(false).await;
        assert_eq!((error.code, error.failure), (Code::Unavailable, Failure::NotSent), "{error}");
        let error = failure_of_call(true).await;
        assert_eq!((error.code, error.failure), (Code::Unavailable, Failure::Lost), "{error}");
    }
}
