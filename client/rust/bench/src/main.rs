//! The benchmark program of the Rust client; bench/clients/clients_bench.py starts it and says what it does.

use std::{
    error::Error,
    future::Future,
    io::{self, BufRead},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use corank::{
    v1::{corank_service_client::CorankServiceClient, *},
    Client, Place,
};
use futures_util::{future::try_join_all, stream::FuturesUnordered, StreamExt};
use serde_json::{json, Value};
use tonic::transport::{Channel, Endpoint};

const IN_FLIGHT: usize = 64;
const CONNECTIONS: usize = 4;
const CHUNK_BYTES: usize = 2 << 20;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Keeps calls in flight for so long; returns how many were done in a second.
async fn calls<F: Future<Output = Outcome<()>>>(seconds: f64, call: impl Fn() -> F) -> Outcome<f64> {
    let (begin, limit) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut waiting: FuturesUnordered<F> = (0..IN_FLIGHT).map(|_| call()).collect();
    let mut done = 0;
    while begin.elapsed() < limit {
        waiting.next().await.ok_or("no call")??;
        done += 1;
        waiting.push(call());
    }
    let elapsed = begin.elapsed();
    while let Some(outcome) = waiting.next().await {
        outcome?;
    }
    Ok(f64::from(done) / elapsed.as_secs_f64())
}

/// Carries the array again and again for so long, twice at least; returns bytes a second.
async fn streams<F: Future<Output = Outcome<()>>>(seconds: f64, bytes: usize, carry: impl Fn() -> F) -> Outcome<f64> {
    let (begin, mut done) = (Instant::now(), 0);
    while done < 2 || begin.elapsed().as_secs_f64() < seconds {
        carry().await?;
        done += 1;
    }
    Ok(done as f64 * bytes as f64 / begin.elapsed().as_secs_f64())
}

fn check(is_right: bool) -> Outcome<()> {
    if is_right {
        Ok(())
    } else {
        Err("wrong answer".into())
    }
}

async fn client_rate(client: &Client, work: &str, keys: &[u32], seconds: f64) -> Outcome<f64> {
    if work == "calls" {
        return calls(seconds, || async { check(client.sort(keys).await?.len() == keys.len()) }).await;
    }
    streams(seconds, size_of_val(keys), || async {
        let sorted = client.sort(keys).via(Place::Stream).connections(CONNECTIONS).await?;
        check(sorted.last() == keys.last())
    })
    .await
}

/// Sends a part of the array and receives it; returns how many bytes came back.
async fn carry(channel: Channel, part: Bytes) -> Outcome<usize> {
    let plan = ExecuteRequest { part: Some(execute_request::Part::Plan(Plan::default())) };
    let chunks = (0..part.len()).step_by(CHUNK_BYTES).map(move |begin| {
        let data = part.slice(begin..part.len().min(begin + CHUNK_BYTES));
        let chunk = ArrayChunk { stream_id: 0, first_element: begin as i64 / 4, data };
        ExecuteRequest { part: Some(execute_request::Part::Chunk(chunk)) }
    });
    let mut stub = CorankServiceClient::new(channel).max_decoding_message_size(usize::MAX);
    let requests = tokio_stream::iter(std::iter::once(plan).chain(chunks));
    let mut answers = stub.execute(requests).await?.into_inner();
    let mut came = 0;
    while let Some(answer) = answers.message().await? {
        if let Some(execute_response::Part::Chunk(chunk)) = answer.part {
            came += chunk.data.len();
        }
    }
    Ok(came)
}

async fn stub_rate(channels: &[Channel], work: &str, keys: &[u32], seconds: f64) -> Outcome<f64> {
    let data = Bytes::copy_from_slice(bytemuck::cast_slice(keys));
    if work == "calls" {
        let place = Some(array::Place::InlineData(data.clone()));
        let array = Array { r#type: ElementType::Uint32.into(), place, ..Array::default() };
        let request = Arc::new(SortRequest { keys: Some(array), ..SortRequest::default() });
        return calls(seconds, || {
            let (mut stub, request) = (CorankServiceClient::new(channels[0].clone()), request.clone());
            async move {
                let answer = stub.sort((*request).clone()).await?.into_inner();
                check(
                    answer
                        .keys
                        .is_some_and(|keys| keys.place == request.keys.as_ref().and_then(|own| own.place.clone())),
                )
            }
        })
        .await;
    }
    let each = keys.len() / CONNECTIONS * 4;
    streams(seconds, each * CONNECTIONS, || async {
        let parts = channels
            .iter()
            .enumerate()
            .map(|(at, channel)| carry(channel.clone(), data.slice(at * each..(at + 1) * each)));
        check(try_join_all(parts).await?.into_iter().sum::<usize>() == each * CONNECTIONS)
    })
    .await
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [side, address] = arguments.as_slice() else {
        return Err("usage: corank-bench client|stub ADDRESS".into());
    };
    let client = Client::connect(address)?;
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?
        .tcp_nodelay(true)
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(16 << 20);
    let channels: Vec<Channel> = (0..CONNECTIONS).map(|_| endpoint.connect_lazy()).collect();
    for line in io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let work = command["work"].as_str().ok_or("no work")?;
        let (n, seconds) = (command["n"].as_u64().ok_or("no n")?, command["seconds"].as_f64().ok_or("no seconds")?);
        let keys: Vec<u32> = (0..n as u32).collect();
        let outcome = match side.as_str() {
            "client" => client_rate(&client, work, &keys, seconds).await,
            _ => stub_rate(&channels, work, &keys, seconds).await,
        };
        match outcome {
            Ok(value) => println!("{}", json!({"value": value})),
            Err(error) => println!("{}", json!({"error": error.to_string()})),
        }
    }
    Ok(())
}
