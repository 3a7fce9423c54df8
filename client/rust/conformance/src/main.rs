//! Drives the Rust client for the conformance suite; client/conformance/README.md defines the protocol.

mod arrays;

use std::{
    collections::HashMap,
    io::{self, BufRead, Write},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use corank::{
    Array, Client, Column, Comparison, ConnectOptions, Error, GroupInput, GroupOutput, Health, JoinKind, Link,
    NanOrder, Place, Priority, Progress, RankMethod, Request, Selection, SetOperation, Stats,
};
use serde_json::{json, Map, Value};

type Named = Vec<(String, Array<'static>)>;

/// How a command ends that is no success.
enum Failure {
    Client(Box<Error>),
    Unsupported(&'static str),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(Box::new(error))
    }
}

type Outcome = Result<Value, Failure>;

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Fails on members that this driver does not know.
fn check(command: &Value, known: &[&str]) {
    for name in command.as_object().expect("an object").keys() {
        assert!(known.contains(&name.as_str()), "the driver does not know the member {name}");
    }
}

fn seconds(value: &Value) -> Option<Duration> {
    match value {
        Value::Null => Some(Duration::ZERO),
        value => Some(Duration::from_secs_f64(value.as_f64().expect("seconds"))),
    }
}

fn connect(command: &Value) -> Result<Client, Error> {
    check(command, &["id", "command", "client", "options"]);
    let command = &command["options"];
    if !command.is_null() {
        check(
            command,
            &["address", "token", "token_file", "tls", "deadline_s", "retries", "traceparent", "connections"],
        );
    }
    let tls = &command["tls"];
    let path = |name: &str| text(&tls[name]).map(PathBuf::from);
    let options = ConnectOptions {
        tls: !tls.is_null(),
        tls_ca: path("ca"),
        tls_certificate: path("certificate"),
        tls_key: path("key"),
        server_name: text(&tls["server_name"]),
        token: text(&command["token"]),
        token_file: text(&command["token_file"]).map(PathBuf::from),
        deadline: command.get("deadline_s").and_then(seconds),
        retries: command["retries"].as_u64().map(|most| most as u32),
        connections: command["connections"].as_u64().map(|count| count as usize),
        traceparent: text(&command["traceparent"]),
    };
    Client::connect_with(command["address"].as_str().unwrap_or(""), options)
}

/// The bytes of the arrays of a command, which requests borrow.
#[derive(Default)]
struct Memory(HashMap<String, Vec<u8>>);

impl Memory {
    /// Keeps the bytes of every array below this value, by its path.
    fn load(&mut self, path: &str, value: &Value) {
        match value {
            Value::Array(all) => all.iter().enumerate().for_each(|(at, each)| self.load(&format!("{path}.{at}"), each)),
            Value::Object(members)
                if members.contains_key("data") && members["data"].is_string() || members.contains_key("generator") =>
            {
                self.0.insert(path.to_owned(), arrays::bytes_of(value));
            }
            Value::Object(members) => {
                members.iter().for_each(|(name, each)| self.load(&format!("{path}.{name}"), each))
            }
            _ => {}
        }
    }
}

/// What a command's arrays may refer to.
struct Source<'a, 'l> {
    memory: &'a Memory,
    links: &'l [(Vec<String>, Link<Named>)],
}

impl<'a> Source<'a, '_> {
    fn array(&self, path: &str, value: &Value) -> Result<Array<'a>, Error> {
        if value.get("kept").is_some() {
            use corank::Input;
            return Ok((&arrays::kept(value)).into_array());
        }
        if let Some(result) = value["result"].as_str() {
            let (names, link) = &self.links[value["of"].as_u64().expect("an operation") as usize];
            let at = names.iter().position(|name| name == result).expect("a result of that operation");
            return Ok(link.result(at));
        }
        let kind = arrays::kind(value["type"].as_str().expect("a type"));
        Array::from_bytes(kind, arrays::record_bytes(value), &self.memory.0[path])
    }

    fn list(&self, path: &str, value: &Value) -> Result<Vec<Array<'a>>, Error> {
        let all = value.as_array().expect("a list");
        all.iter().enumerate().map(|(at, each)| self.array(&format!("{path}.{at}"), each)).collect()
    }
}

fn columns_of<'a>(source: &Source<'a, '_>, path: &str, given: &Value) -> Result<Vec<Column<'a>>, Failure> {
    let mut columns = vec![];
    for (at, column) in given.as_array().expect("columns").iter().enumerate() {
        check(column, &["data", "offsets", "validity", "order", "nulls", "nans"]);
        let part = |name: &str| source.array(&format!("{path}.{at}.{name}"), &column[name]);
        let mut made = match column.get("offsets") {
            Some(_) => Column::strings(part("data")?, part("offsets")?),
            None => Column::new(part("data")?),
        };
        if column["order"] == "descending" {
            made = made.descending();
        }
        if column.get("validity").is_some() {
            made = made.validity(part("validity")?);
        }
        if column["nulls"] == "first" {
            made = made.nulls_first();
        }
        made = match column["nans"].as_str() {
            Some("beside_nulls") => made.nans(NanOrder::BesideNulls),
            Some("as_nulls") => made.nans(NanOrder::AsNulls),
            _ => made,
        };
        columns.push(made);
    }
    Ok(columns)
}

/// The request of an operator, and the names of its results in the protocol.
fn request<'a>(
    client: &'a Client,
    source: &Source<'a, '_>,
    path: &str,
    operator: &str,
    given: &Value,
) -> Result<Request<'a, Named>, Failure> {
    let array = |name: &str| source.array(&format!("{path}.{name}"), &given[name]);
    let list = |name: &str| source.list(&format!("{path}.{name}"), &given[name]);
    let has = |name: &str| given.get(name).is_some();
    let made = match operator {
        "sort" => {
            check(given, &["keys", "values", "output", "order", "algorithm", "segment_offsets", "limit", "offset"]);
            let mut request = match given["output"].as_str() {
                Some("indices") => client.argsort(array("keys")?).named(),
                Some("keys_and_indices") if !has("values") => client.sort(array("keys")?).with_indices().named(),
                _ if has("values") => {
                    let sorted = client.sort(array("keys")?).values(array("values")?);
                    sorted.named()
                }
                _ => client.sort(array("keys")?).named(),
            };
            if has("segment_offsets") {
                request = request.segments(array("segment_offsets")?);
            }
            request
        }
        "sort_columns" => {
            check(given, &["columns", "values", "output", "limit", "offset", "segment_offsets", "run_offsets"]);
            let columns = columns_of(source, &format!("{path}.columns"), &given["columns"])?;
            let mut request = if given["output"] == "indices" {
                client.argsort_columns(columns).named()
            } else if given["output"] == "ranks" {
                client.rank_columns(columns).named()
            } else {
                let mut request = client.sort_columns(columns);
                if given["output"] == "keys_and_indices" {
                    request = request.with_indices();
                }
                if has("values") {
                    request = request.values(array("values")?);
                }
                request.named()
            };
            if has("segment_offsets") {
                request = request.segments(array("segment_offsets")?);
            }
            if has("run_offsets") {
                request = request.runs(array("run_offsets")?);
            }
            request
        }
        "merge" => {
            check(given, &["keys", "values", "order", "algorithm", "assume_sorted"]);
            let merged = client.merge(list("keys")?);
            if has("values") {
                merged.values_of(list("values")?).named()
            } else {
                merged.named()
            }
        }
        "search" => {
            check(given, &["haystack", "needles", "bound", "order", "assume_sorted"]);
            client.search(array("haystack")?, array("needles")?).named()
        }
        "search_columns" => {
            check(given, &["haystack_columns", "needle_columns", "bound", "assume_sorted"]);
            let table = |name: &str| columns_of(source, &format!("{path}.{name}"), &given[name]);
            client.search_columns(table("haystack_columns")?, table("needle_columns")?).named()
        }
        "expand" => {
            check(given, &["values", "counts"]);
            client.expand(array("values")?, array("counts")?).named()
        }
        "gather" => {
            check(given, &["source", "source_offsets", "counts"]);
            client.gather(array("source")?, array("source_offsets")?, array("counts")?).named()
        }
        "move" => {
            check(
                given,
                &[
                    "source",
                    "source_offsets",
                    "destination_offsets",
                    "counts",
                    "destination",
                    "destination_count",
                    "allow_overlap",
                ],
            );
            let (from, to, counts) = (array("source_offsets")?, array("destination_offsets")?, array("counts")?);
            match given["destination_count"].as_u64() {
                Some(count) => client.r#move(array("source")?, from, to, counts, count as usize).named(),
                None => client.r#move(array("source")?, from, to, counts, array("destination")?).named(),
            }
        }
        "scatter" => {
            check(
                given,
                &["source", "destination_offsets", "counts", "destination", "destination_count", "allow_overlap"],
            );
            let (to, counts) = (array("destination_offsets")?, array("counts")?);
            match given["destination_count"].as_u64() {
                Some(count) => client.scatter(array("source")?, to, counts, count as usize).named(),
                None => client.scatter(array("source")?, to, counts, array("destination")?).named(),
            }
        }
        "load_balance" => {
            check(given, &["counts"]);
            client.load_balance(array("counts")?).named()
        }
        "group" => {
            check(given, &["keys", "values", "values_validity", "input", "order", "outputs"]);
            let simple = !has("values") && !has("input") && given["outputs"] == json!(["keys"]);
            let runs = !has("values") && given["input"] == "runs" && given["outputs"] == json!(["keys", "counts"]);
            if simple {
                client.unique(array("keys")?).named()
            } else if runs {
                client.run_length_encode(array("keys")?).named()
            } else {
                let mut request = client.group(array("keys")?);
                if has("values") {
                    request = request.values(array("values")?);
                }
                if has("values_validity") {
                    request = request.values_validity(array("values_validity")?);
                }
                if let Some(input) = given["input"].as_str() {
                    let name = format!("GROUP_INPUT_{}", input.to_uppercase());
                    request = request.input(GroupInput::from_str_name(&name).expect("an input"));
                }
                if has("outputs") {
                    let all: Vec<_> = group_outputs(given).iter().map(|name| output(name)).collect();
                    request = request.outputs(&all);
                }
                request.named()
            }
        }
        "combine_sets" => {
            check(given, &["operation", "left", "right", "left_values", "right_values", "order", "count_only"]);
            let name = format!("SET_OPERATION_{}", given["operation"].as_str().expect("a name").to_uppercase());
            let operation = SetOperation::from_str_name(&name).expect("an operation");
            let (left, right) = (array("left")?, array("right")?);
            if given["count_only"] == true {
                client.count_sets(operation, left, right).named()
            } else {
                let request = client.combine_sets(operation, left, right);
                let values = ["left_values", "right_values"].into_iter().filter(|name| has(name));
                let values = values.map(array).collect::<Result<Vec<_>, _>>()?;
                if values.is_empty() {
                    request.named()
                } else {
                    request.values_of(values).named()
                }
            }
        }
        "join" => {
            check(given, &["kind", "left", "right", "right_sorted", "max_rows", "count_only"]);
            let name = format!("JOIN_KIND_{}", given["kind"].as_str().expect("a name").to_uppercase());
            let kind = JoinKind::from_str_name(&name).expect("a kind");
            let (left, right) = (array("left")?, array("right")?);
            let request = match given["count_only"] == true {
                true => client.count_join(kind, left, right).named(),
                false => client.join(kind, left, right).named(),
            };
            let request = if given["right_sorted"] == true { request.right_sorted() } else { request };
            match has("max_rows") {
                true => request.max_rows(given["max_rows"].as_u64().expect("a number") as usize),
                false => request,
            }
        }
        "select" | "partition" => {
            check(
                given,
                &["elements", "flags", "bitmap", "positions", "threshold", "comparison", "values", "negate", "output"],
            );
            let elements = array("elements")?;
            let by = if has("flags") {
                Selection::flags(array("flags")?)
            } else if has("bitmap") {
                Selection::bitmap(array("bitmap")?)
            } else if has("positions") {
                Selection::positions(array("positions")?)
            } else {
                let name = format!("COMPARISON_{}", given["comparison"].as_str().expect("a name").to_uppercase());
                Selection::compare(Comparison::from_str_name(&name).expect("a comparison"), array("threshold")?)
            };
            let request = match (operator, given["output"] == "indices", has("values")) {
                ("partition", _, false) => client.partition(elements, by).named(),
                ("partition", _, true) => client.partition(elements, by).values(array("values")?).named(),
                (_, true, _) => client.argselect(elements, by).named(),
                (_, false, false) => client.select(elements, by).named(),
                (_, false, true) => client.select(elements, by).values(array("values")?).named(),
            };
            if given["negate"] == true {
                request.negate()
            } else {
                request
            }
        }
        "remove" => {
            check(given, &["elements", "positions", "values"]);
            let request = client.remove(array("elements")?, array("positions")?);
            match has("values") {
                true => request.values(array("values")?).named(),
                false => request.named(),
            }
        }
        "insert" => {
            check(given, &["elements", "positions", "inserted"]);
            let positions = array("positions")?.into_vec::<i64>()?;
            client.insert(array("elements")?, &positions, array("inserted")?).named()
        }
        "rank" => {
            check(given, &["keys", "method", "order", "keys_sorted", "segment_offsets"]);
            let name = format!("RANK_METHOD_{}", given["method"].as_str().unwrap_or("average").to_uppercase());
            let mut request = match RankMethod::from_str_name(&name).expect("a method") {
                RankMethod::Average => client.average_rank(array("keys")?).named(),
                method => client.rank(array("keys")?, method).named(),
            };
            if has("segment_offsets") {
                request = request.segments(array("segment_offsets")?);
            }
            if given["keys_sorted"] == true {
                request.keys_sorted()
            } else {
                request
            }
        }
        other => panic!("the driver does not know the operator {other}"),
    };
    Ok(arguments(made, given))
}

/// The names of the results of a group.
fn group_outputs(given: &Value) -> Vec<&str> {
    let Some(named) = given["outputs"].as_array() else {
        return vec!["keys", "counts"];
    };
    named.iter().map(|name| name.as_str().expect("a name")).collect()
}

fn output(name: &str) -> GroupOutput {
    GroupOutput::from_str_name(&format!("GROUP_OUTPUT_{}", name.to_uppercase())).expect("an output")
}

/// Arguments that are no arrays.
fn arguments<'a>(mut request: Request<'a, Named>, given: &Value) -> Request<'a, Named> {
    if given["order"] == "descending" {
        request = request.descending();
    }
    if let Some(limit) = given["limit"].as_u64() {
        request = request.limit(limit as usize);
    }
    if let Some(offset) = given["offset"].as_u64() {
        request = request.offset(offset as usize);
    }
    if let Some(name) = given["algorithm"].as_str() {
        request = request.algorithm(name);
    }
    if given["assume_sorted"] == true {
        request = request.assume_sorted();
    }
    if given["allow_overlap"] == true {
        request = request.allow_overlap();
    }
    if given["bound"] == "upper" {
        request = request.upper_bound();
    }
    request
}

/// The names of results in the protocol, from those of the contract.
fn short(name: &str) -> String {
    name.to_owned()
}

fn keep<'a>(request: Request<'a, Named>, command: &Value, order: &[&str]) -> Request<'a, Named> {
    let Some(names) = command["keep"].as_object() else {
        return request;
    };
    let kept: Vec<&str> =
        order.iter().filter_map(|name| names.get(*name)).map(|name| name.as_str().expect("a name")).collect();
    let request = request.keep(&kept);
    if command["sharded"] == true {
        return request.sharded().named();
    }
    request.named()
}

/// The order in which the client takes names of results.
fn order<'a>(operator: &str, given: &'a Value) -> Vec<&'a str> {
    if operator == "group" {
        group_outputs(given)
    } else {
        RESULTS.to_vec()
    }
}

const RESULTS: [&str; 12] = [
    "keys",
    "elements",
    "values",
    "indices",
    "result",
    "objects",
    "ranks",
    "positions",
    "columns",
    "left_rows",
    "right_rows",
    "count",
];

fn options<'a, R>(mut request: Request<'a, R>, given: &Value) -> Result<Request<'a, R>, Failure> {
    let Some(_) = given.as_object() else {
        return Ok(request);
    };
    check(
        given,
        &["deadline_s", "request_id", "traceparent", "priority", "place", "connections", "cancel_after_ms", "progress"],
    );
    if let Some(limit) = given.get("deadline_s").and_then(seconds) {
        request = request.deadline(limit);
    }
    if let Some(id) = text(&given["request_id"]) {
        request = request.request_id(id);
    }
    if let Some(traceparent) = text(&given["traceparent"]) {
        request = request.traceparent(traceparent);
    }
    request = match given["priority"].as_str() {
        Some("low") => request.priority(Priority::Low),
        Some("normal") => request.priority(Priority::Normal),
        Some("high") => request.priority(Priority::High),
        _ => request,
    };
    request = match given["place"].as_str() {
        Some("inline") => request.via(Place::Inline),
        Some("stream") => request.via(Place::Stream),
        Some("shared_memory") => return Err(Failure::Unsupported("shared_memory")),
        _ => request,
    };
    if let Some(count) = given["connections"].as_u64() {
        request = request.connections(count as usize);
    }
    Ok(request)
}

/// Results as an answer holds them.
fn results(found: &Named, digest: bool) -> Value {
    let mut all = Map::new();
    let mut columns: Vec<Value> = vec![];
    for (name, array) in found {
        let is_position = ["indices", "objects", "ranks", "positions", "firsts"].contains(&name.as_str());
        let value = arrays::answer(array, is_position, digest);
        if name.ends_with(".data") {
            columns.push(json!({"data": value}));
        } else if name.ends_with(".offsets") {
            columns.last_mut().expect("data come first")["offsets"] = value;
        } else if name.ends_with(".validity") {
            columns.last_mut().expect("data come first")["validity"] = value;
        } else {
            all.insert(short(name), value);
        }
    }
    if !columns.is_empty() {
        all.insert("columns".into(), columns.into());
    }
    all.into()
}

/// Awaits a call, and cancels it if the command says so.
async fn within<T>(given: &Value, call: impl std::future::Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    let Some(limit) = given["cancel_after_ms"].as_u64() else {
        return Ok(call.await?);
    };
    match tokio::time::timeout(Duration::from_millis(limit), call).await {
        Ok(outcome) => Ok(outcome?),
        // A future that is dropped returns nothing: this is what the caller of a dropped future knows.
        Err(_) => Err(cancelled()),
    }
}

fn cancelled() -> Failure {
    Failure::Unsupported("CANCELLED")
}

async fn call(client: &Client, command: &Value) -> Outcome {
    check(command, &["id", "command", "client", "operator", "arguments", "options", "keep", "sharded", "digest"]);
    let mut memory = Memory::default();
    memory.load("a", &command["arguments"]);
    let source = Source { memory: &memory, links: &[] };
    let operator = command["operator"].as_str().expect("an operator");
    let made = request(client, &source, "a", operator, &command["arguments"])?;
    let made = keep(made, command, &order(operator, &command["arguments"]));
    let mut made = options(made, &command["options"])?;
    let stats: Arc<Mutex<Stats>> = Arc::default();
    let progress: Arc<Mutex<Option<Progress>>> = Arc::default();
    let told = stats.clone();
    made = made.on_stats(move |stats| *told.lock().unwrap() = stats);
    if command["options"]["progress"] == true {
        let told = progress.clone();
        made = made.on_progress(move |progress| *told.lock().unwrap() = Some(progress));
    }
    let found = within(&command["options"], std::future::IntoFuture::into_future(made)).await?;
    let stats = stats.lock().unwrap().clone();
    let engine = stats.server.engine().as_str_name().trim_start_matches("ENGINE_").to_lowercase();
    let mut answer = json!({
        "results": results(&found, command["digest"] == true),
        "stats": {"request_id": stats.request_id, "engine": engine},
    });
    if !stats.algorithm.is_empty() {
        answer["stats"]["algorithm"] = stats.algorithm.into();
    }
    if let Some(progress) = *progress.lock().unwrap() {
        answer["progress"] = json!({"sent": progress.sent, "received": progress.received});
    }
    Ok(answer)
}

/// The names of the results of an operator, in the order of the client.
fn names(operator: &str, given: &Value) -> Vec<String> {
    let names: &[&str] = match operator {
        "sort" => match given["output"].as_str() {
            Some("indices") => &["indices"],
            Some("keys_and_indices") => &["keys", "indices"],
            _ => &["keys", "values"],
        },
        "sort_columns" => &["indices"],
        "merge" => &["keys", "values"],
        "expand" => &["values"],
        "load_balance" => &["objects", "ranks"],
        "search" | "search_columns" => &["positions"],
        "group" => return group_outputs(given).into_iter().map(str::to_owned).collect(),
        "combine_sets" if given["count_only"] == true => &["count"],
        "combine_sets" => &["keys", "values"],
        "join" if given["count_only"] == true => &["count"],
        "join" => &["left_rows", "right_rows"],
        "select" if given["output"] == "indices" => &["indices"],
        "partition" if given.get("values").is_none() => &["elements", "count"],
        "select" | "partition" | "remove" => &["elements", "values", "count"],
        "rank" => &["ranks"],
        _ => &["result"],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn chain(client: &Client, command: &Value) -> Outcome {
    check(command, &["id", "command", "client", "operations", "options", "digest"]);
    let operations = command["operations"].as_array().expect("operations");
    let mut memory = Memory::default();
    memory.load("a", &command["operations"]);
    let mut chain = client.chain();
    let mut links: Vec<(Vec<String>, Link<Named>)> = vec![];
    for (at, operation) in operations.iter().enumerate() {
        check(operation, &["operator", "arguments", "keep"]);
        let operator = operation["operator"].as_str().expect("an operator");
        let given = &operation["arguments"];
        let source = Source { memory: &memory, links: &links };
        let made = request(client, &source, &format!("a.{at}.arguments"), operator, given)?;
        let mut made = keep(made, operation, &order(operator, given));
        if at == 0 {
            made = options(made, &command["options"])?;
        }
        let link = chain.then(made);
        links.push((names(operator, given), link));
    }
    let mut found = within(&command["options"], chain.run()).await?;
    let mut answers = vec![];
    for (_, link) in links {
        // What a later operator took stayed on the server.
        let own = found.take(link).map_or_else(|_| json!({}), |named| results(&named, command["digest"] == true));
        answers.push(own);
    }
    Ok(json!({"operations": answers}))
}

async fn other(client: &Client, command: &Value) -> Outcome {
    let name = || command["name"].as_str().expect("a name");
    match command["command"].as_str().expect("a command") {
        "store" => {
            check(command, &["id", "command", "client", "name", "array", "expires_s", "sharded", "options"]);
            let mut memory = Memory::default();
            memory.load("a", &command["array"]);
            let array = Source { memory: &memory, links: &[] }.array("a", &command["array"])?;
            let mut store = client.store(name(), array);
            if let Some(limit) = command["options"].get("deadline_s").and_then(seconds) {
                store = store.deadline(limit);
            }
            if let Some(time) = command["expires_s"].as_f64() {
                store = store.expiry(Duration::from_secs_f64(time));
            }
            if command["sharded"] == true {
                store = store.sharded();
            }
            Ok(arrays::kept_json(&store.await?))
        }
        "fetch" => {
            let fetch = std::future::IntoFuture::into_future(client.fetch::<Array<'static>>(name()));
            let array = within(&command["options"], fetch).await?;
            Ok(json!({"array": arrays::answer(&array, false, command["digest"] == true)}))
        }
        "list" => {
            let found = client.kept_arrays().await?;
            let all: Vec<Value> = found.arrays.iter().map(arrays::kept_json).collect();
            Ok(json!({"arrays": all, "used_bytes": found.used_bytes, "quota_bytes": found.quota_bytes}))
        }
        "delete" => {
            client.delete(name()).await?;
            Ok(json!({}))
        }
        "info" => {
            let info = client.info().await?;
            let limits = info.limits.unwrap_or_default();
            let engine = info.engine().as_str_name().trim_start_matches("ENGINE_").to_lowercase();
            Ok(json!({"version": info.version, "engine": engine, "places": info.places,
                "max_request_bytes": limits.max_request_bytes, "max_chunk_bytes": limits.max_chunk_bytes,
                "max_parts": limits.max_parts}))
        }
        "health" => {
            let status = match client.health(command["service"].as_str().unwrap_or("")).await? {
                Health::Serving => "serving",
                Health::NotServing => "not_serving",
                Health::Unknown => "unknown",
            };
            Ok(json!({"status": status}))
        }
        "close" => {
            client.close();
            Ok(json!({}))
        }
        unknown => panic!("the driver does not know the command {unknown}"),
    }
}

fn error_json(error: &Error) -> Value {
    let code = if error.is_closed() { "CLOSED".to_owned() } else { code_name(error) };
    let mut found = json!({"code": code, "reason": error.reason, "field": error.field, "request_id": error.request_id,
        "retry_after_s": error.retry_after.map(|time| time.as_secs_f64()), "message": error.to_string()});
    if let Some(rows) = error.rows {
        found["rows"] = rows.into();
    }
    found
}

fn code_name(error: &Error) -> String {
    let name = format!("{:?}", error.code); // such as InvalidArgument
    let mut upper = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !upper.is_empty() {
            upper.push('_');
        }
        upper.extend(letter.to_uppercase());
    }
    upper
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut clients: HashMap<String, Client> = HashMap::new();
    for line in io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line.expect("stdin")).expect("JSON");
        let outcome = match command["command"].as_str().expect("a command") {
            "hello" => Ok(json!({"language": "rust", "version": env!("CARGO_PKG_VERSION"), "library": "tonic 0.14.9"})),
            "resources" => Ok(json!({})),
            "connect" => match connect(&command) {
                Ok(client) => {
                    clients.insert(command["client"].as_str().expect("a name").to_owned(), client);
                    Ok(json!({}))
                }
                Err(error) => Err(error.into()),
            },
            name => {
                let client = &clients[command["client"].as_str().expect("a client")];
                match name {
                    "call" => call(client, &command).await,
                    "chain" => chain(client, &command).await,
                    _ => other(client, &command).await,
                }
            }
        };
        let mut answer = json!({"id": command["id"]});
        match outcome {
            Ok(value) => answer["ok"] = value,
            Err(Failure::Client(error)) => answer["error"] = error_json(&error),
            Err(Failure::Unsupported("CANCELLED")) => {
                answer["error"] = json!({"code": "CANCELLED", "reason": "", "field": "", "retry_after_s": null,
                    "request_id": "", "message": "the future was dropped"});
            }
            Err(Failure::Unsupported(feature)) => answer["unsupported"] = feature.into(),
        }
        println!("{answer}");
        io::stdout().flush().expect("stdout");
    }
}
