//! Calls of a server of the test, which answers as it is told.

use std::{
    future::{pending, Future},
    pin::Pin,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Arc,
    },
    time::Duration,
};

use corank::{
    v1::{
        corank_service_server::{CorankService, CorankServiceServer},
        *,
    },
    Client, ConnectOptions,
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

    async fn execute(&self, _: Request<Streaming<ExecuteRequest>>) -> Result<Response<Answers>, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let chunk = ArrayChunk { stream_id: 7, first_element: 0, data: vec![0; 4].into() };
        let answer = ExecuteResponse { part: Some(execute_response::Part::Chunk(chunk)) };
        Ok(Response::new(Box::pin(tokio_stream::once(Ok(answer)))))
    }

    async fn get_server_info(
        &self,
        _: Request<GetServerInfoRequest>,
    ) -> Result<Response<GetServerInfoResponse>, Status> {
        let limits = ServerLimits { max_chunk_bytes: 1 << 20, max_parts: 64, ..ServerLimits::default() };
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
        group: GroupRequest => GroupResponse
    }
}

struct Server {
    address: String,
    calls: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
}

async fn serve(mode: Mode) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (calls, running) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let fake = Fake { mode, calls: calls.clone(), running: running.clone() };
    let served = tonic::transport::Server::builder().add_service(CorankServiceServer::new(fake));
    tokio::spawn(served.serve_with_incoming(TcpListenerStream::new(listener)));
    Server { address, calls, running }
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
