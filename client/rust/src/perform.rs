//! Makes a call: gives every array its place, sends the call, and reads the results.

use std::time::{Duration, Instant};

use tonic::{codegen::http::uri::PathAndQuery, metadata::MetadataMap};

use crate::{
    answered::Answered,
    array::{Array, Data},
    error::{Error, Result},
    request::{Named, Options, Place, Stats},
    retry::Repeat,
    stream::{arrived, chunk_bytes, Job, Meter, OnProgress, Sink},
    task::{Method, Output, Task},
    v1::{self, operation::Operation, operation_result::Result as Answer, ElementType},
    Client,
};

/// Arrays of no more travel in messages.
const SMALL_BYTES: usize = 64 << 10;
/// Arrays of a call that take more travel in chunks.
const INLINE_BYTES: usize = 64 << 20;
/// Bytes of a message beside its arrays.
const MESSAGE_SLACK: usize = 64 << 10;
/// Streamed arrays that take more travel over several connections.
const MANY_BYTES: usize = 128 << 20;
const MANY_CONNECTIONS: usize = 4;
const MOST_STREAMS: usize = 1024;

type OnStats<'a> = Option<&'a (dyn Fn(Stats) + Send + Sync + 'a)>;

fn is_large(output: &Output) -> bool {
    output.most_bytes().is_none_or(|bytes| bytes > SMALL_BYTES)
}

/// Does the tasks in one call, in their order. `is_chain`: by Execute in any case. Returns the results of each.
pub(crate) async fn perform(
    client: &Client,
    tasks: &mut [Task<'_>],
    options: &Options,
    on_progress: OnProgress<'_>,
    on_stats: OnStats<'_>,
    is_chain: bool,
) -> Result<Vec<Vec<Named>>> {
    let operator = if is_chain { "Execute" } else { tasks[0].method.name() };
    let named = |mut error: Error| {
        if error.operator.is_empty() {
            error.operator = operator.to_owned();
        }
        error
    };
    if client.is_closed() {
        return Err(named(Error::closed()));
    }
    let send: usize = tasks.iter().flat_map(|task| &task.inputs).map(|leaf| leaf.array.bytes_here()).sum();
    let here = || tasks.iter().flat_map(|task| &task.outputs).filter(|output| output.kept.is_none());
    let receive = here().map(|output| output.most_bytes().unwrap_or(0)).fold(0usize, usize::saturating_add);
    let is_known = here().all(|output| output.most_bytes().is_some());
    if receive > isize::MAX as usize {
        let text = "the result has more bytes than this machine can address";
        return Err(named(Error::new(tonic::Code::ResourceExhausted, text)));
    }
    let deadline = client.deadline(options, send.max(receive));
    let streams = use_streams(client, options, deadline, (send, receive), is_known, is_chain).await.map_err(named)?;
    let sinks = place(tasks, streams);
    let tasks = &*tasks;
    let sources = sources(tasks);
    // A name under which the server keeps a result may be used by others between two tries.
    let is_kept = |output: &Output| output.kept.as_ref().is_some_and(|place| !place.temporary);
    let keeps = tasks.iter().flat_map(|task| &task.outputs).any(is_kept);
    let repeat = if keeps { Repeat::UnlessLost } else { Repeat::Always };

    let ((answers, request_id), attempts) = if is_chain || !sources.is_empty() || !sinks.is_empty() {
        let info = client.known_info(deadline).await.map_err(named)?;
        let limits = info.limits.as_ref();
        let to_receive = sinks_bytes(tasks);
        let to_send = sources.iter().map(|array| array.bytes_here()).sum();
        let meter = Meter::new(on_progress, to_send, to_receive);
        let chosen = options.connections.or(client.inner.options.connections);
        let wanted = chosen.unwrap_or(if to_send.max(to_receive) > MANY_BYTES { MANY_CONNECTIONS } else { 1 });
        let most = limits.map_or(1, |limits| limits.max_parts.max(1) as usize);
        let parts = if sources.is_empty() { 1 } else { wanted.clamp(1, most) };
        let job = Job { client, options, sources, sinks: &sinks, meter: &meter, chunk_bytes: chunk_bytes(limits) };
        let operation = |task: &Task<'_>| v1::Operation { operation: Some(task.message(options)) };
        let operations: Vec<v1::Operation> = tasks.iter().map(operation).collect();
        let once = |left| {
            let (job, operations) = (&job, &operations);
            async move { job.run(client.inner.connections.several(parts).await?, operations, left).await }
        };
        let done = client.retry(options, operator, repeat, deadline, once).await?;
        meter.end();
        done
    } else {
        let message = tasks[0].message(options);
        let once = |left| {
            let message = message.clone(); // shares the arrays
            async move { unary(client, options, message, left).await }
        };
        client.retry(options, operator, repeat, deadline, once).await?
    };
    if answers.len() != tasks.len() {
        let text = format!("the server answered {} results for {} operations", answers.len(), tasks.len());
        return Err(named(Error::internal(text)));
    }
    let mut all = vec![];
    for (task, answer) in tasks.iter().zip(answers) {
        if Method::name_of(&answer) != task.method.name() {
            let text = format!("the server answered {}, not {}", Method::name_of(&answer), task.method.name());
            return Err(named(Error::internal(text)));
        }
        let mut answered = Answered::read(answer);
        let results = task.outputs.iter().map(|output| read(output, &mut answered, &sinks));
        all.push(results.collect::<Result<Vec<Named>>>().map_err(named)?);
        if let Some(report) = on_stats {
            let Answered { algorithm, stats: server, .. } = answered;
            report(Stats { request_id: request_id.clone(), attempts, algorithm, server });
        }
    }
    Ok(all)
}

/// Whether large arrays travel in chunks.
async fn use_streams(
    client: &Client,
    options: &Options,
    deadline: Option<Instant>,
    (send, receive): (usize, usize),
    is_known: bool,
    is_chain: bool,
) -> Result<bool> {
    match options.place {
        Some(place) => return Ok(place == Place::Stream),
        None if is_chain => return Ok(true),
        None if send.max(receive) <= SMALL_BYTES && is_known => return Ok(false),
        None => {}
    }
    let info = client.known_info(deadline).await?;
    let most = |limit: fn(&v1::ServerLimits) -> i64| {
        let told = info.limits.as_ref().map_or(0, limit);
        let told = if told > 0 { usize::try_from(told).unwrap_or(INLINE_BYTES) } else { INLINE_BYTES };
        told.saturating_sub(MESSAGE_SLACK).min(INLINE_BYTES)
    };
    let fits = send <= most(|limits| limits.max_request_bytes) && receive <= most(|limits| limits.max_response_bytes);
    Ok(!fits && info.places.iter().any(|place| place == "stream"))
}

/// Makes streams of what is large, and of what the server works on together with it. Returns the results' sinks.
fn place(tasks: &mut [Task<'_>], may_stream: bool) -> Vec<Sink> {
    let (mut streams, mut sinks) = (0, vec![]);
    for task in tasks {
        task.inputs.iter_mut().for_each(|leaf| leaf.stream = None);
        task.outputs.iter_mut().for_each(|output| output.stream = None);
        if !may_stream {
            continue;
        }
        let method = task.method;
        let is_in_pieces =
            task.inputs.iter().any(|leaf| leaf.array.bytes_here() > SMALL_BYTES && method.goes_in_pieces(&leaf.name));
        let mut chosen: Vec<_> = task.inputs.iter_mut().filter(|leaf| leaf.array.is_here()).collect();
        chosen.sort_by_key(|leaf| std::cmp::Reverse(leaf.array.bytes_here()));
        for leaf in chosen {
            let is_large = leaf.array.bytes_here() > SMALL_BYTES;
            if (is_large || (is_in_pieces && method.goes_in_pieces(&leaf.name))) && streams < MOST_STREAMS {
                leaf.stream = Some(streams as u32);
                streams += 1;
            }
        }
        let all = method.goes_in_pieces("keys") && task.outputs.iter().any(is_large);
        for output in &mut task.outputs {
            if output.kept.is_none() && (all || is_large(output)) {
                output.stream = Some(sinks.len() as u32);
                sinks.push(Sink::new(output.width(), output.count, output.make));
            }
        }
    }
    sinks
}

/// The arrays to send in chunks, by stream.
fn sources<'t, 'a>(tasks: &'t [Task<'a>]) -> Vec<&'t Array<'a>> {
    let mut sources: Vec<_> = tasks.iter().flat_map(|task| &task.inputs).filter(|leaf| leaf.stream.is_some()).collect();
    sources.sort_by_key(|leaf| leaf.stream);
    sources.into_iter().map(|leaf| &leaf.array).collect()
}

fn sinks_bytes(tasks: &[Task<'_>]) -> usize {
    let streamed = tasks.iter().flat_map(|task| &task.outputs).filter(|output| output.stream.is_some());
    streamed.map(|output| output.bytes().unwrap_or(0)).sum()
}

/// Makes the call in one message each way.
async fn unary(
    client: &Client,
    options: &Options,
    message: Operation,
    left: Option<Duration>,
) -> Result<(Vec<Answer>, String)> {
    macro_rules! call {
        ($request:ident, $operator:ident) => {{
            let path = concat!("/corank.v1.CorankService/", stringify!($operator));
            let (answer, id) = once(client, options, path, $request, left).await?;
            Ok((vec![Answer::$operator(answer)], id))
        }};
    }
    match message {
        Operation::Sort(request) => call!(request, Sort),
        Operation::Merge(request) => call!(request, Merge),
        Operation::ExpandIntervals(request) => call!(request, ExpandIntervals),
        Operation::MoveIntervals(request) => call!(request, MoveIntervals),
        Operation::GatherIntervals(request) => call!(request, GatherIntervals),
        Operation::ScatterIntervals(request) => call!(request, ScatterIntervals),
        Operation::LoadBalance(request) => call!(request, LoadBalance),
        Operation::Search(request) => call!(request, Search),
        Operation::Group(request) => call!(request, Group),
        Operation::CombineSets(request) => call!(request, CombineSets),
        Operation::Join(request) => call!(request, Join),
        Operation::Select(request) => call!(request, Select),
        Operation::Rank(request) => call!(request, Rank),
    }
}

/// Sends one message and takes one. The stubs' own methods tell an answer without a message from a broken connection by
/// nothing, and take the first of several messages.
async fn once<M, A>(
    client: &Client,
    options: &Options,
    path: &'static str,
    message: M,
    left: Option<Duration>,
) -> Result<(A, String)>
where
    M: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let failed = |status: tonic::Status| client.failed(&status);
    let channel = client.inner.connections.next().await?;
    let mut grpc =
        tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX);
    grpc.ready().await.map_err(|error| failed(tonic::Status::from_error(error.into())))?;
    let request = client.request(message, options, left)?;
    let codec = tonic_prost::ProstCodec::<M, A>::default();
    let response = grpc.server_streaming(request, PathAndQuery::from_static(path), codec).await.map_err(failed)?;
    let ended = has_ended(response.metadata());
    let id = response.metadata().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
    let failed = |status: tonic::Status| {
        let mut error = client.failed(&status);
        if error.request_id.is_empty() {
            error.request_id.clone_from(&id);
        }
        error
    };
    let mut messages = response.into_inner();
    let answer = messages.message().await.map_err(failed)?;
    if answer.is_some() && messages.message().await.map_err(failed)?.is_some() {
        return Err(Error::internal("the server answered more than one message"));
    }
    // Without trailers, the connection ended before the call did.
    let trailers = messages.trailers().await.map_err(failed)?;
    if !ended && trailers.is_none() {
        return Err(Error::lost(&client.address()));
    }
    let last = trailers.as_ref().and_then(|trailers| trailers.get("x-request-id")?.to_str().ok());
    let id = last.map_or_else(|| id.clone(), str::to_owned);
    Ok((answer.ok_or_else(|| Error::internal("the server answered no message"))?, id))
}

/// Whether the first metadata of an answer hold the status that ends it.
pub(crate) fn has_ended(metadata: &MetadataMap) -> bool {
    metadata.contains_key("grpc-status")
}

/// Reads one result of an answer, and checks that it is what was asked for.
fn read(output: &Output, answered: &mut Answered, sinks: &[Sink]) -> Result<Named> {
    let name = &output.name;
    let mut header =
        answered.arrays.remove(name).ok_or_else(|| Error::internal(format!("the server's answer lacks {name}")))?;
    let kind = header.r#type();
    let is_right = if output.is_position {
        use ElementType::{Int32, Int64, Uint32, Uint64};
        matches!((output.kind, kind), (Uint32 | Uint64, Uint32 | Uint64) | (Int32 | Int64, Int32 | Int64))
    } else {
        kind == output.kind && header.record_bytes == output.record_bytes
    };
    if !is_right {
        return Err(Error::internal(format!("the server answered {name} of type {}", kind.as_str_name())));
    }
    let width = crate::element::width(kind, header.record_bytes);
    let told = header.count.map(usize::try_from).transpose();
    let told = told.map_err(|_| Error::internal(format!("the server answered {name} with a negative count")))?;
    let wrong = |count: usize| {
        let expected = output.count.or(output.most);
        Error::internal(format!("the server answered {count} elements of {name}, not {expected:?}"))
    };
    let place = header.place.take();
    let (count, data) = match (&output.kept, output.stream, place) {
        (Some(place), _, _) => (told.unwrap_or(0), Data::Kept(place.clone())),
        (None, Some(stream), _) => {
            let count = told.ok_or_else(|| wrong(0))?;
            (count, Data::Owned(sinks[stream as usize].take(count)?))
        }
        (None, None, place) => {
            let bytes = match place {
                Some(v1::array::Place::InlineData(bytes)) => bytes,
                None => bytes::Bytes::new(),
                Some(_) => return Err(Error::internal(format!("the server answered {name} in another place"))),
            };
            if bytes.len() % width != 0 || told.is_some_and(|count| count != bytes.len() / width) {
                return Err(wrong(bytes.len() / width));
            }
            (bytes.len() / width, Data::Shared(bytes))
        }
    };
    if output.count.is_some_and(|expected| expected != count) || output.most.is_some_and(|most| count > most) {
        return Err(wrong(count));
    }
    Ok((name.clone(), arrived(&header, count, data)))
}
