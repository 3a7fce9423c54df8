//! A server of the tests, which answers as it is told.

use std::{
    future::{pending, Future},
    pin::Pin,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc, Mutex,
    },
};

use corank::v1::{
    corank_service_server::{CorankService, CorankServiceServer},
    memory_service_server::MemoryServiceServer,
    *,
};
use tokio::net::TcpListener;
use tokio_stream::{wrappers::TcpListenerStream, Stream};
use tonic::{Request, Response, Status, Streaming};

use crate::{
    fake_memory::FakeMemory,
    fake_selection::{self, Selections},
};

type Answers = Pin<Box<dyn Stream<Item = Result<ExecuteResponse, Status>> + Send>>;

/// How Sort is answered.
#[derive(Clone, Copy)]
pub enum Mode {
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
    joined: Joins,
    selected: Selections,
    sorted: Sorts,
}

/// The destinations of the keys of Sort.
pub type Sorts = Arc<Mutex<Vec<Option<Destination>>>>;

/// The last CombineSets.
pub type Combined = Arc<Mutex<Option<CombineSetsRequest>>>;

/// The requests of Join.
pub type Joins = Arc<Mutex<Vec<JoinRequest>>>;

/// How the last Group was asked: its input, its order, and whether it had values.
pub type Grouped = Arc<Mutex<Option<(GroupInput, SortOrder, bool)>>>;

fn inline(kind: ElementType, count: usize, bytes: Vec<u8>) -> Option<Array> {
    let place = Some(array::Place::InlineData(bytes.into()));
    Some(Array { r#type: kind.into(), count: Some(count as i64), record_bytes: 0, place })
}

fn int32s(numbers: &[i32]) -> Option<Array> {
    inline(ElementType::Int32, numbers.len(), numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

fn int64s(numbers: &[i64]) -> Option<Array> {
    inline(ElementType::Int64, numbers.len(), numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

/// Refuses a join as the server does: google.rpc.Status with a BadRequest and an ErrorInfo.
fn too_many_rows(rows: &str) -> Status {
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(bytes.len()).expect("it is short")], bytes].concat()
    }
    let any = |name: &str, message: &[u8]| {
        let url = format!("type.googleapis.com/google.rpc.{name}");
        field(3, &[field(1, url.as_bytes()), field(2, message)].concat())
    };
    let entry = [field(1, b"rows"), field(2, rows.as_bytes())].concat();
    let info = [field(1, b"TOO_MANY_ROWS"), field(2, b"corank"), field(3, &entry)].concat();
    let details = [any("BadRequest", &field(1, &field(1, b"max_rows"))), any("ErrorInfo", &info)].concat();
    Status::with_details(tonic::Code::InvalidArgument, "too many rows", details.into())
}

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
        let request = request.into_inner();
        self.sorted.lock().unwrap().push(request.keys_destination);
        let mut keys = request.keys.unwrap_or_default();
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
        if let Some(operation::Operation::Join(first)) = plan.operations[0].operation.clone() {
            *self.joined.lock().unwrap() = vec![first.clone()];
            if first.max_rows.is_none() {
                return Err(too_many_rows("9"));
            }
            let Some(operation::Operation::Join(last)) = plan.operations[1].operation.clone() else {
                return Err(Status::invalid_argument("plan.operations[1]: is not Join"));
            };
            self.joined.lock().unwrap().push(last);
            let kept = Some(Array { r#type: ElementType::Int32.into(), count: Some(2), ..Array::default() });
            let joins = [
                JoinResponse { left_rows: kept, right_rows: int32s(&[1, -1]), ..JoinResponse::default() },
                JoinResponse { count: int64s(&[2]), ..JoinResponse::default() },
            ];
            let results = joins.map(|join| OperationResult { result: Some(operation_result::Result::Join(join)) });
            let parts = results.map(|result| ExecuteResponse { part: Some(execute_response::Part::Result(result)) });
            return Ok(Response::new(Box::pin(tokio_stream::iter(parts.map(Ok)))));
        }
        if let Some(operation::Operation::Select(_)) = &plan.operations[0].operation {
            let operations = plan.operations.iter().filter_map(|operation| operation.operation.clone());
            self.selected.lock().unwrap().extend(operations);
            let parts = fake_selection::execute(&plan).into_iter().map(Ok);
            return Ok(Response::new(Box::pin(tokio_stream::iter(parts))));
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
                GroupOutput::ValueCounts => {
                    answer.value_counts = inline(ElementType::Int64, [1i64, 0].map(i64::to_le_bytes).concat())
                }
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

    /// Answers the rows 0 and 2, or 9 rows of zeros if both sides are equal, for which a request needs room.
    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        let request = request.into_inner();
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.joined.lock().unwrap().push(request.clone());
        let many = request.left == request.right;
        if many && !request.count_only && request.max_rows.unwrap_or(0) < 9 {
            return Err(too_many_rows("9"));
        }
        let mut answer = JoinResponse::default();
        if request.count_only {
            answer.count = int64s(&[2]);
        } else {
            let is_wide = request.right_sorted;
            let rows = |rows: [i64; 2]| if is_wide { int64s(&rows) } else { int32s(&rows.map(|row| row as i32)) };
            answer.left_rows = if many { int32s(&[0; 9]) } else { rows([0, 2]) };
            let has_right = !matches!(request.kind(), JoinKind::Semi | JoinKind::Anti);
            answer.right_rows = if many { int32s(&[0; 9]) } else { rows([1, -1]) }.filter(|_| has_right);
        }
        Ok(Response::new(answer))
    }

    /// Selects, or never answers.
    async fn select(&self, request: Request<SelectRequest>) -> Result<Response<SelectResponse>, Status> {
        let request = request.into_inner();
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(self.running.clone());
        if matches!(self.mode, Mode::Never) {
            pending().await
        }
        self.selected.lock().unwrap().push(operation::Operation::Select(request.clone()));
        Ok(Response::new(fake_selection::select(&request)))
    }

    async fn rank(&self, request: Request<RankRequest>) -> Result<Response<RankResponse>, Status> {
        let request = request.into_inner();
        self.selected.lock().unwrap().push(operation::Operation::Rank(request.clone()));
        Ok(Response::new(fake_selection::rank(&request)))
    }

    async fn gather_intervals(
        &self,
        request: Request<GatherIntervalsRequest>,
    ) -> Result<Response<GatherIntervalsResponse>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        Ok(Response::new(fake_selection::gather(&request.into_inner())))
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
        scatter_intervals: ScatterIntervalsRequest => ScatterIntervalsResponse,
        load_balance: LoadBalanceRequest => LoadBalanceResponse,
        search: SearchRequest => SearchResponse
    }
}

pub struct Server {
    pub address: String,
    pub calls: Arc<AtomicUsize>,
    pub running: Arc<AtomicUsize>,
    pub grouped: Grouped,
    pub combined: Combined,
    pub joined: Joins,
    pub selected: Selections,
    pub sorted: Sorts,
}

pub async fn serve(mode: Mode) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (calls, running) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (grouped, combined) = (Grouped::default(), Combined::default());
    let (joined, selected, sorted) = (Joins::default(), Selections::default(), Sorts::default());
    let fake = Fake {
        mode,
        calls: calls.clone(),
        running: running.clone(),
        grouped: grouped.clone(),
        combined: combined.clone(),
        joined: joined.clone(),
        selected: selected.clone(),
        sorted: sorted.clone(),
    };
    let memory = MemoryServiceServer::new(FakeMemory);
    let served = tonic::transport::Server::builder().add_service(CorankServiceServer::new(fake)).add_service(memory);
    tokio::spawn(served.serve_with_incoming(TcpListenerStream::new(listener)));
    Server { address, calls, running, grouped, combined, joined, selected, sorted }
}
