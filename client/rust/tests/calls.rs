//! Calls of a server of the test, which answers as it is told.

use std::{
    future::{pending, Future},
    pin::Pin,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc, Mutex,
    },
    time::Duration,
};

use corank::{
    v1::{
        corank_service_server::{CorankService, CorankServiceServer},
        *,
    },
    Client, ConnectOptions, Positions,
};
use tokio::net::TcpListener;
use tokio_stream::{wrappers::TcpListenerStream, Stream};
use tonic::{Code, Request, Response, Status, Streaming};

type Answers = Pin<Box<dyn Stream<Item = Result<ExecuteResponse, Status>> + Send>>;

/// How Sort is answered.
#[derive(Clone, Copy)]
enum Mode {
    Echo,
    OtherType,
    TooShort,
    Never,
    Refused,
}

/// Counts calls that run.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Fake {
    mode: Mode,
    calls: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    grouped: Grouped,
    combined: Combined,
}

/// The last CombineSets.
type Combined = Arc<Mutex<Option<CombineSetsRequest>>>;

/// How the last Group was asked: its input, its order, and whether it had values.
type Grouped = Arc<Mutex<Option<(GroupInput, SortOrder, bool)>>>;

macro_rules! unimplemented_methods {
    ($($name:ident: $request:ty => $response:ty),*) => {$(
        // As #[async_trait] writes it, which does not see into macros.
        fn $name<'life0, 'async_trait>(
            &'life0 self,
            _: Request<$request>,
        ) -> Pin<Box<dyn Future<Output = Result<Response<$response>, Status>> + Send + 'async_trait>>
        where
            'life0: 'async_trait,
        {
            Box::pin(async { Err(Status::unimplemented("not in this test")) })
        }
    )*};
}

#[tonic::async_trait]
impl CorankService for Fake {
    type ExecuteStream = Answers;

    async fn sort(&self, request: Request<SortRequest>) -> Result<Response<SortResponse>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(self.running.clone());
        let mut keys = request.into_inner().keys.unwrap_or_default();
        match self.mode {
            Mode::Echo => {}
            Mode::OtherType => keys.set_type(ElementType::Int64),
            Mode::TooShort => keys.place = Some(array::Place::InlineData(vec![0; 4].into())),
            Mode::Never => pending().await,
            Mode::Refused => return Err(Status::invalid_argument("keys: are not welcome")),
        }
        Ok(Response::new(SortResponse { keys: Some(keys), ..SortResponse::default() }))
    }

    async fn execute(&self, request: Request<Streaming<ExecuteRequest>>) -> Result<Response<Answers>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let first = request.into_inner().message().await?.and_then(|request| request.part);
        let plan = match first {
            Some(execute_request::Part::Plan(plan)) => plan,
            _ => return Err(Status::invalid_argument("plan: is not there")),
        };
        if let Some(operation::Operation::Group(_)) = &plan.operations[0].operation {
            let counts = [199_999i64, 1].map(i64::to_le_bytes).concat();
            let chunk = ArrayChunk { stream_id: 0, first_element: 0, data: counts.into() };
            let counts = Some(Array { r#type: ElementType::Int64.into(), count: Some(2), ..Array::default() });
            let group = operation_result::Result::Group(GroupResponse { counts, ..GroupResponse::default() });
            let result = execute_response::Part::Result(OperationResult { result: Some(group) });
            let parts = [execute_response::Part::Chunk(chunk), result];
            return Ok(Response::new(Box::pin(tokio_stream::iter(
                parts.map(|part| Ok(ExecuteResponse { part: Some(part) })),
            ))));
        }
        if let Some(operation::Operation::CombineSets(_)) = &plan.operations[0].operation {
            let Some(operation::Operation::CombineSets(last)) = plan.operations[1].operation.clone() else {
                return Err(Status::invalid_argument("plan.operations[1]: is not CombineSets"));
            };
            *self.combined.lock().unwrap() = Some(last);
            let array = |kind: ElementType, count, bytes: Option<Vec<u8>>| {
                let place = bytes.map(|bytes| array::Place::InlineData(bytes.into()));
                Some(Array { r#type: kind.into(), count: Some(count), record_bytes: 0, place })
            };
            let sets = [
                CombineSetsResponse { keys: array(ElementType::Uint16, 4, None), ..Default::default() },
                CombineSetsResponse {
                    count: array(ElementType::Int64, 1, Some(vec![2, 0, 0, 0, 0, 0, 0, 0])),
                    ..Default::default()
                },
            ];
            let results =
                sets.map(|sets| OperationResult { result: Some(operation_result::Result::CombineSets(sets)) });
            let parts = results.map(|result| ExecuteResponse { part: Some(execute_response::Part::Result(result)) });
            return Ok(Response::new(Box::pin(tokio_stream::iter(parts.map(Ok)))));
        }
        let chunk = ArrayChunk { stream_id: 7, first_element: 0, data: vec![0; 4].into() };
        let answer = ExecuteResponse { part: Some(execute_response::Part::Chunk(chunk)) };
        Ok(Response::new(Box::pin(tokio_stream::once(Ok(answer)))))
    }

    /// Answers two groups: of the results that the request names, or one time where results are kept.
    async fn group(&self, request: Request<GroupRequest>) -> Result<Response<GroupResponse>, Status> {
        let request = request.into_inner();
        if self.calls.fetch_add(1, Ordering::SeqCst) > 0 && request.keys_destination.is_some() {
            return Err(Status::unavailable("gone"));
        }
        let inline = |kind: ElementType, bytes: Vec<u8>| {
            let place = request.keys_destination.is_none().then(|| array::Place::InlineData(bytes.into()));
            Some(Array { r#type: kind.into(), count: Some(2), record_bytes: 0, place })
        };
        let floats = |pair: [f32; 2]| inline(ElementType::Float32, pair.map(f32::to_le_bytes).concat());
        let mut answer = GroupResponse::default();
        for output in request.outputs() {
            match output {
                GroupOutput::Keys => answer.keys = inline(ElementType::Uint16, vec![1, 0, 3, 0]),
                GroupOutput::Counts => {
                    answer.counts = inline(ElementType::Int64, [1i64, 2].map(i64::to_le_bytes).concat())
                }
                GroupOutput::Firsts => answer.firsts = inline(ElementType::Uint32, vec![1, 0, 0, 0, 0, 0, 0, 0]),
                GroupOutput::Sums => {
                    answer.sums = inline(ElementType::Float64, [0.5f64, 2.5].map(f64::to_le_bytes).concat())
                }
                GroupOutput::Minima => answer.minima = floats([0.5, 1.0]),
                _ => answer.maxima = floats([0.5, 1.5]),
            }
        }
        let told = (request.input(), request.order(), request.values.is_some());
        *self.grouped.lock().unwrap() = Some(told);
        Ok(Response::new(answer))
    }

    /// Answers two keys and what else the request asks for, or one time where results are kept.
    async fn combine_sets(
        &self,
        request: Request<CombineSetsRequest>,
    ) -> Result<Response<CombineSetsResponse>, Status> {
        let request = request.into_inner();
        let kept = request.keys_destination.is_some() || request.count_destination.is_some();
        if self.calls.fetch_add(1, Ordering::SeqCst) > 0 && kept {
            return Err(Status::unavailable("gone"));
        }
        let array = |kind: ElementType, count: i64, bytes: Vec<u8>| {
            let place = (!kept).then(|| array::Place::InlineData(bytes.into()));
            Some(Array { r#type: kind.into(), count: Some(count), record_bytes: 0, place })
        };
        let mut answer = CombineSetsResponse::default();
        if request.count_only {
            answer.count = array(ElementType::Int64, 1, vec![2, 0, 0, 0, 0, 0, 0, 0]);
        } else {
            answer.keys = array(ElementType::Uint16, 2, vec![1, 0, 3, 0]);
            answer.values = request.left_values.as_ref().and_then(|_| array(ElementType::Uint8, 2, vec![7, 8]));
        }
        *self.combined.lock().unwrap() = Some(request);
        Ok(Response::new(answer))
    }

    async fn get_server_info(
        &self,
        _: Request<GetServerInfoRequest>,
    ) -> Result<Response<GetServerInfoResponse>, Status> {
        let limits = ServerLimits {
            max_response_bytes: 1 << 20,
            max_chunk_bytes: 1 << 20,
            max_parts: 64,
            ..ServerLimits::default()
        };
        let places = vec!["inline".into(), "stream".into()];
        Ok(Response::new(GetServerInfoResponse { limits: Some(limits), places, ..GetServerInfoResponse::default() }))
    }

    unimplemented_methods! {
        merge: MergeRequest => MergeResponse,
        expand_intervals: ExpandIntervalsRequest => ExpandIntervalsResponse,
        move_intervals: MoveIntervalsRequest => MoveIntervalsResponse,
        gather_intervals: GatherIntervalsRequest => GatherIntervalsResponse,
        scatter_intervals: ScatterIntervalsRequest => ScatterIntervalsResponse,
        load_balance: LoadBalanceRequest => LoadBalanceResponse,
        search: SearchRequest => SearchResponse,
        join: JoinRequest => JoinResponse
    }
}

struct Server {
    address: String,
    calls: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
    grouped: Grouped,
    combined: Combined,
}

async fn serve(mode: Mode) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (calls, running) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (grouped, combined) = (Grouped::default(), Combined::default());
    let fake = Fake {
        mode,
        calls: calls.clone(),
        running: running.clone(),
        grouped: grouped.clone(),
        combined: combined.clone(),
    };
    let served = tonic::transport::Server::builder().add_service(CorankServiceServer::new(fake));
    tokio::spawn(served.serve_with_incoming(TcpListenerStream::new(listener)));
    Server { address, calls, running, grouped, combined }
}

#[tokio::test]
async fn returns_what_the_server_answers() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    assert_eq!(client.sort(&[3.5f64, -1.0]).await.unwrap(), [3.5, -1.0]);
    assert_eq!(client.sort(vec![[1u8, 2, 3]; 2]).await.unwrap(), [[1, 2, 3]; 2]);
    assert_eq!(client.sort(&Vec::<i32>::new()).await.unwrap(), []);
}

#[tokio::test]
async fn refuses_answers_that_do_not_fit() {
    for mode in [Mode::OtherType, Mode::TooShort] {
        let server = serve(mode).await;
        let error = Client::connect(&server.address).unwrap().sort(&[1i32, 2]).await.unwrap_err();
        assert_eq!(error.code, Code::Internal, "{error}");
    }
}

#[tokio::test]
async fn refuses_chunks_of_streams_that_it_does_not_have() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let error = client.sort(&vec![0u8; 100_000]).via(corank::Place::Stream).await.unwrap_err();
    assert_eq!(error.code, Code::Internal, "{error}");
    assert!(error.message.contains("stream 7"), "{error}");
}

#[tokio::test]
async fn cancels_a_call_whose_future_is_dropped() {
    let server = serve(Mode::Never).await;
    let client = Client::connect(&server.address).unwrap();
    let call = tokio::spawn(async move { client.sort(&[1i32]).await });
    while server.running.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    let gone = async {
        while server.running.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("the server's call ended");
}

#[tokio::test]
async fn ends_a_call_at_its_deadline() {
    let server = serve(Mode::Never).await;
    let client = Client::connect(&server.address).unwrap();
    let error = client.sort(&[1i32]).deadline(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded, "{error}");
}

#[tokio::test]
async fn does_not_repeat_what_would_fail_again() {
    let server = serve(Mode::Refused).await;
    let error = Client::connect(&server.address).unwrap().sort(&[1i32]).await.unwrap_err();
    assert_eq!((error.code, error.attempts), (Code::InvalidArgument, 1), "{error}");
    assert_eq!(server.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn says_where_there_is_no_server() {
    let client = Client::connect("127.0.0.1:1").unwrap();
    let error = client.sort(&[1i32]).retries(1).await.unwrap_err();
    assert_eq!((error.code, error.attempts), (Code::Unavailable, 2), "{error}");
    assert!(error.message.contains("no answer from a corank server at 127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn says_that_it_is_closed() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    client.close();
    let error = client.sort(&[1i32]).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
    assert_eq!(server.calls.load(Ordering::SeqCst), 0);
}

#[test]
fn refuses_addresses_and_options_before_any_call() {
    for address in ["localhost", "http://localhost:1", "a b:1", "unix:", "dns:///name"] {
        assert_eq!(Client::connect(address).err().expect(address).field, "address");
    }
    let options = ConnectOptions { token: Some("secret".into()), ..ConnectOptions::default() };
    assert_eq!(Client::connect_with("example.com:1", options.clone()).err().unwrap().field, "token");
    assert!(Client::connect_with("localhost:1", options).is_ok(), "this host may have it");
    let options = ConnectOptions { traceparent: Some("00-1-1-01".into()), ..ConnectOptions::default() };
    assert_eq!(Client::connect_with("localhost:1", options).err().unwrap().field, "traceparent");
}

#[tokio::test]
async fn refuses_arguments_before_any_call() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let wrong = [
        client.expand(&[1, 2], &[1i64]).await.unwrap_err().field,
        client.gather(&[1, 2], &[0i64], &[3i64]).await.unwrap_err().field,
        client.merge(Vec::<&[i32]>::new()).await.unwrap_err().field,
        client.sort(&[1]).keep(&[]).await.unwrap_err().field,
        client.sort(&[1]).allow_overlap().await.unwrap_err().field,
        client.sort(&[1]).algorithm("bubble").await.unwrap_err().field,
    ];
    assert_eq!(wrong, ["counts", "counts", "keys", "keep", "allow_overlap", "algorithm"]);
    assert_eq!(server.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn groups_return_the_results_that_are_named() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let (keys, values) = ([3u16, 1, 3], [1f32, 0.5, 1.5]);
    let asked = || server.grouped.lock().unwrap().unwrap();
    let counted = client.group(&keys).await.unwrap();
    assert_eq!(counted.keys.unwrap().into_vec::<u16>().unwrap(), [1, 3]);
    assert_eq!((counted.counts.unwrap(), counted.sums.is_none()), (vec![1, 2], true));
    assert_eq!(asked(), (GroupInput::Unspecified, SortOrder::Unspecified, false));
    let wanted = [GroupOutput::Maxima, GroupOutput::Sums, GroupOutput::Firsts];
    let reduced = client.group(&keys).outputs(&wanted).values(&values).input(GroupInput::Sorted).await.unwrap();
    assert_eq!(reduced.sums.unwrap().into_vec::<f64>().unwrap(), [0.5, 2.5]);
    assert_eq!(reduced.maxima.unwrap().into_vec::<f32>().unwrap(), [0.5, 1.5]);
    assert_eq!((reduced.firsts, reduced.keys.is_none()), (Some(Positions::U32(vec![1, 0])), true));
    assert_eq!(asked(), (GroupInput::Sorted, SortOrder::Unspecified, true));
    assert_eq!(client.unique(&keys).descending().await.unwrap(), [1, 3]);
    assert_eq!(asked(), (GroupInput::Unspecified, SortOrder::Descending, false));
    assert_eq!(client.run_length_encode(&keys).await.unwrap(), (vec![1, 3], vec![1, 2]));
    assert_eq!(asked(), (GroupInput::Runs, SortOrder::Unspecified, false));
}

#[tokio::test]
async fn kept_groups_are_not_found_twice() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let kept = client.unique(&[3u16, 1, 3]).keep(&["distinct"]).await.unwrap();
    assert_eq!(kept[0].count, 2);
    let error = client.unique(&[3u16, 1, 3]).keep(&["distinct"]).await.unwrap_err();
    assert_eq!((error.code, error.attempts), (Code::Unavailable, 1), "{error}");
}

#[tokio::test]
async fn groups_travel_in_chunks_if_one_for_each_key_would_not_fit_into_a_message() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let found = client.group(vec![0u8; 200_000]).outputs(&[GroupOutput::Counts]).await.unwrap();
    assert_eq!(found.counts.unwrap(), [199_999, 1]);
}

#[tokio::test]
async fn refuses_groups_that_cannot_be() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let error = client.unique(&[3u16]).await.unwrap_err();
    assert_eq!(error.code, Code::Internal, "{error}");
    assert!(error.message.contains("2 elements of keys"), "{error}");
    let error = client.unique(&[3u32, 1]).await.unwrap_err();
    assert_eq!(error.code, Code::Internal, "{error}");
    let wrong = [
        client.group(&[1]).outputs(&[]).await.err().unwrap().field,
        client.group(&[1]).outputs(&[GroupOutput::Keys, GroupOutput::Unspecified]).await.err().unwrap().field,
        client.group(&[1]).limit(1).await.err().unwrap().field,
    ];
    assert_eq!(wrong, ["outputs", "outputs[1]", "limit"]);
}

const SET_OPERATIONS: [SetOperation; 4] =
    [SetOperation::Union, SetOperation::Intersection, SetOperation::Difference, SetOperation::SymmetricDifference];

#[tokio::test]
async fn sets_travel_with_both_sides_and_their_values() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let (left, right, values) = ([1u16, 3, 3], [3u16, 4], [7u8, 8, 9]);
    let asked = || server.combined.lock().unwrap().take().unwrap();
    for operation in SET_OPERATIONS {
        assert_eq!(client.combine_sets(operation, &left, &right).await.unwrap(), [1, 3]);
        let plain = asked();
        let told = (plain.operation(), plain.order(), plain.count_only, plain.left_values, plain.right_values);
        assert_eq!(told, (operation, SortOrder::Ascending, false, None, None));
        let inline = |array: &Option<Array>| match array.as_ref().unwrap().place.clone().unwrap() {
            array::Place::InlineData(data) => data.to_vec(),
            other => panic!("{other:?}"),
        };
        assert_eq!((inline(&plain.left), inline(&plain.right)), (vec![1, 0, 3, 0, 3, 0], vec![3, 0, 4, 0]));

        let from_left = matches!(operation, SetOperation::Intersection | SetOperation::Difference);
        let request = client.combine_sets(operation, &left, &right).descending();
        let request = match from_left {
            true => request.values_of([&values[..]]),
            false => request.values_of([&values[..], &values[..2]]),
        };
        assert_eq!(request.await.unwrap(), (vec![1, 3], vec![7, 8]));
        let with = asked();
        assert_eq!((with.order(), inline(&with.left_values)), (SortOrder::Descending, vec![7, 8, 9]));
        assert_eq!(with.right_values.is_none(), from_left);

        assert_eq!(client.count_sets(operation, &left, &right).await.unwrap(), 2);
        assert!(asked().count_only);
    }
}

#[tokio::test]
async fn refuses_sets_that_cannot_be() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let (none, one, three) = ([0u16; 0], [3u16], [1u16, 3, 3]);
    for (at, (left, right)) in [(&none[..], &one[..]), (&three, &one), (&one, &three), (&one, &none)].iter().enumerate()
    {
        let error = client.combine_sets(SET_OPERATIONS[at], *left, *right).await.unwrap_err();
        assert_eq!(error.code, Code::Internal, "{error}");
        assert!(error.message.contains("2 elements of keys, not Some(1)"), "{error}");
    }
    let sets = || client.combine_sets(SetOperation::Union, &three, &one);
    let wrong = [
        sets().values_of([&one; 0]).await.err().unwrap().field,
        sets().values_of([&one, &one, &one]).await.err().unwrap().field,
        sets().limit(1).await.err().unwrap().field,
    ];
    assert_eq!(wrong, ["values", "values", "limit"]);
}

#[tokio::test]
async fn kept_sets_are_not_combined_twice() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let count = || client.count_sets(SetOperation::Union, &[3u16], &[3u16]).keep(&["number"]);
    assert_eq!(count().await.unwrap()[0].count, 1);
    let error = count().await.unwrap_err();
    assert_eq!((error.code, error.attempts), (Code::Unavailable, 1), "{error}");
}

#[tokio::test]
async fn later_operators_of_a_chain_name_no_length_of_sets() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let mut chain = client.chain();
    let union = chain.then(client.combine_sets(SetOperation::Union, &[1u16, 3], &[2u16, 3]));
    let count = chain.then(client.count_sets(SetOperation::Difference, &union, &[2u16]));
    assert_eq!(chain.run().await.unwrap().take(count).unwrap(), 2);
    let left = server.combined.lock().unwrap().take().unwrap().left.unwrap();
    assert_eq!(left.count, None);
    assert!(matches!(left.place, Some(array::Place::Stored(stored)) if stored.temporary));
}
