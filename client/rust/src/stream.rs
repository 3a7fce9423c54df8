//! Execute: arrays of any size in chunks, by one call or by several that are the parts of one job.

use std::{
    pin::pin,
    sync::Mutex,
    time::{Duration, Instant},
};

use futures_util::future::{select, try_join_all, Either};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

use crate::{
    array::{Array, Buffer, Data, MakeBuffer},
    error::{Error, Result},
    perform::has_ended,
    request::{Options, Progress},
    v1::{self, execute_request, execute_response, operation_result::Result as Answer},
    Client,
};

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 2 << 20;
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// Messages that wait for a connection.
const MESSAGES_AHEAD: usize = 2;
/// From this many bytes on, the allocator takes new memory from the system for each result.
const MAPPED_BYTES: usize = 32 << 20;
const PAGE_BYTES: usize = 4 << 10;

pub(crate) type OnProgress<'a> = Option<&'a (dyn Fn(Progress) + Send + Sync + 'a)>;

/// Counts bytes, and reports them now and then.
pub(crate) struct Meter<'a> {
    report: OnProgress<'a>,
    now: Mutex<(Progress, Instant)>,
}

impl<'a> Meter<'a> {
    pub fn new(report: OnProgress<'a>, to_send: usize, to_receive: usize) -> Self {
        let progress = Progress { to_send: to_send as u64, to_receive: to_receive as u64, ..Progress::default() };
        Self { report, now: Mutex::new((progress, Instant::now())) }
    }

    fn add(&self, sent: usize, received: usize) {
        let Some(report) = self.report else {
            return;
        };
        let mut now = self.now.lock().unwrap();
        now.0.sent += sent as u64;
        now.0.received += received as u64;
        if now.1.elapsed() >= REPORT_EVERY {
            now.1 = Instant::now();
            report(now.0);
        }
    }

    fn restart(&self) {
        let mut now = self.now.lock().unwrap();
        now.0.sent = 0;
        now.0.received = 0;
    }

    pub fn end(&self) {
        if let Some(report) = self.report {
            report(self.now.lock().unwrap().0);
        }
    }
}

/// Takes the chunks of one result, in any order.
pub(crate) struct Sink {
    width: usize,
    count: Option<usize>,
    make: MakeBuffer,
    prepared: tokio::sync::Mutex<Option<oneshot::Receiver<Box<dyn Buffer>>>>,
    state: Mutex<SinkState>,
}

#[derive(Default)]
struct SinkState {
    buffer: Option<Box<dyn Buffer>>,
    elements: usize,
}

impl Sink {
    pub fn new(width: usize, count: Option<usize>, make: MakeBuffer) -> Self {
        Self { width, count, make, prepared: tokio::sync::Mutex::default(), state: Mutex::default() }
    }

    /// Before a try.
    async fn restart(&self) {
        let mut prepared = self.prepared.lock().await;
        let mut state = self.state.lock().unwrap();
        state.elements = 0;
        let bytes = self.count.unwrap_or(0) * self.width;
        if bytes >= MAPPED_BYTES && state.buffer.is_none() && prepared.is_none() {
            *prepared = Some(self.prepare(bytes / self.width));
        }
    }

    /// Makes the memory of a large result on another thread, while the request is sent. The first write to each page
    /// is slow, because the system maps it then, and one thread receives all parts.
    fn prepare(&self, count: usize) -> oneshot::Receiver<Box<dyn Buffer>> {
        let (ready, prepared) = oneshot::channel();
        let (make, width) = (self.make, self.width);
        tokio::task::spawn_blocking(move || {
            let mut buffer = make(count, width);
            for piece in buffer.bytes_mut().chunks_mut(MAPPED_BYTES) {
                if ready.is_closed() {
                    return; // the call ended
                }
                for page in piece.chunks_mut(PAGE_BYTES) {
                    page[0] = std::hint::black_box(0); // else the compiler sees that memory of zeros stays as it is
                }
            }
            let _ = ready.send(buffer);
        });
        prepared
    }

    /// Waits until the memory is there.
    async fn ready(&self) {
        let mut prepared = self.prepared.lock().await;
        if let Some(waiting) = prepared.as_mut() {
            let buffer = waiting.await.ok();
            self.state.lock().unwrap().buffer = buffer;
            *prepared = None;
        }
    }

    pub fn write(&self, first: i64, data: &[u8]) -> Result<()> {
        let wrong = || Error::internal(format!("the server sent {} bytes at element {first} of a result", data.len()));
        let begin = usize::try_from(first).ok().and_then(|first| first.checked_mul(self.width)).ok_or_else(wrong)?;
        let end = begin.checked_add(data.len()).filter(|_| data.len().is_multiple_of(self.width)).ok_or_else(wrong)?;
        let mut state = self.state.lock().unwrap();
        state.elements += data.len() / self.width;
        let buffer = state.buffer.get_or_insert_with(|| (self.make)(self.count.unwrap_or(0), self.width));
        let room = buffer.bytes().len();
        if end > room {
            if self.count.is_some() || end / 4 > room + (1 << 30) {
                return Err(wrong()); // chunks come in order within a part: a leap is no growth
            }
            buffer.grow(end.max(2 * room).next_multiple_of(self.width));
        }
        buffer.bytes_mut()[begin..end].copy_from_slice(data);
        Ok(())
    }

    /// The result, which has `count` elements, once all chunks have come.
    pub fn take(&self, count: usize) -> Result<Box<dyn Buffer>> {
        let mut state = self.state.lock().unwrap();
        if state.elements != count || self.count.is_some_and(|expected| expected != count) {
            let text = format!("the server sent {} of the {count} elements of a result", state.elements);
            return Err(Error::internal(text));
        }
        let mut buffer = state.buffer.take().unwrap_or_else(|| (self.make)(count, self.width));
        if buffer.bytes().len() != count * self.width {
            buffer.grow(count * self.width); // and that is less than it had
        }
        Ok(buffer)
    }
}

/// One Execute call, or several.
pub(crate) struct Job<'a, 'b> {
    pub client: &'a Client,
    pub options: &'a Options,
    /// Arrays to send; the index is the stream.
    pub sources: Vec<&'a Array<'b>>,
    pub sinks: &'a [Sink],
    pub meter: &'a Meter<'a>,
    pub chunk_bytes: usize,
}

/// What a job answered: the result of each operation, and the name of the request.
pub(crate) type JobAnswer = (Vec<Answer>, String);

impl Job<'_, '_> {
    /// Does the job once. Where a part fails, the others are cancelled.
    pub async fn run(
        &self,
        channels: Vec<Channel>,
        operations: &[v1::Operation],
        left: Option<Duration>,
    ) -> Result<JobAnswer> {
        for sink in self.sinks {
            sink.restart().await;
        }
        self.meter.restart();
        let parts = channels.len();
        let job_id = if parts > 1 { random_id() } else { String::new() };
        let calls = channels.into_iter().enumerate().map(|(part, channel)| {
            let plan = v1::Plan {
                operations: operations.to_vec(),
                job_id: job_id.clone(),
                part: part as u32,
                parts: if parts > 1 { parts as u32 } else { 0 },
            };
            self.part(channel, plan, part, parts, left)
        });
        let mut answers = try_join_all(calls).await?;
        Ok(answers.swap_remove(0))
    }

    async fn part(
        &self,
        channel: Channel,
        plan: v1::Plan,
        part: usize,
        parts: usize,
        left: Option<Duration>,
    ) -> Result<JobAnswer> {
        let (to_server, messages) = mpsc::channel(MESSAGES_AHEAD);
        let send = pin!(self.send(to_server, plan, part, parts));
        let receive = pin!(self.receive(channel, ReceiverStream::new(messages), left));
        // The server may answer before it has read everything, and an error of sending is one of receiving.
        match select(send, receive).await {
            Either::Left(((), receive)) => receive.await,
            Either::Right((answer, _)) => answer,
        }
    }

    /// Sends the plan and the part's share of every source. All sources advance together, so that the keys and the values
    /// of one range of elements arrive one after the other.
    async fn send(&self, to_server: mpsc::Sender<v1::ExecuteRequest>, plan: v1::Plan, part: usize, parts: usize) {
        let message = |part| v1::ExecuteRequest { part: Some(part) };
        if to_server.send(message(execute_request::Part::Plan(plan))).await.is_err() {
            return;
        }
        let share = |array: &Array<'_>| (part * array.len() / parts, (part + 1) * array.len() / parts);
        let chunks = |array: &&Array<'_>| {
            let (begin, end) = share(array);
            (end - begin).div_ceil((self.chunk_bytes / array.width()).max(1))
        };
        let rounds = self.sources.iter().map(chunks).max().unwrap_or(0);
        for round in 0..rounds {
            for (stream, array) in self.sources.iter().enumerate() {
                let (begin, end) = share(array);
                let (from, to) = (begin + round * (end - begin) / rounds, begin + (round + 1) * (end - begin) / rounds);
                if from == to {
                    continue;
                }
                let data = array.piece(from, to);
                let bytes = data.len();
                let chunk = v1::ArrayChunk { stream_id: stream as u32, first_element: from as i64, data };
                if to_server.send(message(execute_request::Part::Chunk(chunk))).await.is_err() {
                    return;
                }
                self.meter.add(bytes, 0);
            }
        }
    }

    async fn receive(
        &self,
        channel: Channel,
        messages: ReceiverStream<v1::ExecuteRequest>,
        left: Option<Duration>,
    ) -> Result<JobAnswer> {
        let failed = |status: tonic::Status| self.client.failed(&status);
        let mut answer = Reading::spawn(channel, self.client.request(messages, self.options, left)?);
        let mut answers = vec![];
        loop {
            match answer.events.recv().await.ok_or_else(|| Error::lost(&self.client.address()))?.map_err(failed)? {
                Event::Empty => return Err(Error::internal("the server answered no message")),
                Event::Message(part) => match *part {
                    execute_response::Part::Chunk(chunk) => {
                        let sink = self.sinks.get(chunk.stream_id as usize).ok_or_else(|| {
                            Error::internal(format!(
                                "the server sent a chunk of stream {}, which is no result",
                                chunk.stream_id
                            ))
                        })?;
                        sink.ready().await;
                        sink.write(chunk.first_element, &chunk.data)?;
                        self.meter.add(0, chunk.data.len());
                    }
                    execute_response::Part::Result(result) => answers.extend(result.result),
                },
                Event::End(request_id) => return Ok((answers, request_id)),
            }
        }
    }
}

/// What comes of an Execute call.
enum Event {
    /// The call has ended without a message.
    Empty,
    Message(Box<execute_response::Part>),
    /// The call has ended; the name of the request.
    End(String),
}

/// Reads an Execute call on a task of its own, so that the parts of a job are decoded on several threads. Dropping it
/// cancels the call.
struct Reading {
    events: mpsc::Receiver<std::result::Result<Event, tonic::Status>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Reading {
    fn spawn(channel: Channel, request: tonic::Request<ReceiverStream<v1::ExecuteRequest>>) -> Self {
        let (found, events) = mpsc::channel(MESSAGES_AHEAD);
        let task = tokio::spawn(async move {
            if let Err(status) = Self::read(channel, request, &found).await {
                let _ = found.send(Err(status)).await; // nobody listens to a call that was given up
            }
        });
        Self { events, task }
    }

    /// Returns without an end if nobody listens, or if the connection ended before the call did.
    async fn read(
        channel: Channel,
        request: tonic::Request<ReceiverStream<v1::ExecuteRequest>>,
        found: &mpsc::Sender<std::result::Result<Event, tonic::Status>>,
    ) -> std::result::Result<(), tonic::Status> {
        let mut stub = v1::corank_service_client::CorankServiceClient::new(channel)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        let response = stub.execute(request).await?;
        if has_ended(response.metadata()) {
            let _ = found.send(Ok(Event::Empty)).await;
            return Ok(());
        }
        let mut stream = response.into_inner();
        while let Some(message) = stream.message().await? {
            if let Some(part) = message.part {
                if found.send(Ok(Event::Message(Box::new(part)))).await.is_err() {
                    return Ok(());
                }
            }
        }
        if let Some(trailers) = stream.trailers().await? {
            let id = trailers.get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
            let _ = found.send(Ok(Event::End(id.to_owned()))).await;
        }
        Ok(())
    }
}

/// The size of chunks for a server with this limit.
pub(crate) fn chunk_bytes(limits: Option<&v1::ServerLimits>) -> usize {
    let most = limits.map_or(0, |limits| usize::try_from(limits.max_chunk_bytes).unwrap_or(0));
    if most == 0 {
        CHUNK_BYTES
    } else {
        most.min(CHUNK_BYTES)
    }
}

fn random_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    format!("{:016x}", std::collections::hash_map::RandomState::new().build_hasher().finish())
}

/// An array that arrived.
pub(crate) fn arrived(header: &v1::Array, count: usize, data: Data<'static>) -> Array<'static> {
    Array { kind: header.r#type(), record_bytes: header.record_bytes, count: Some(count), data }
}
