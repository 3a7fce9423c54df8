//! The memory of the server of the tests.

use std::{
    future::{pending, Future},
    pin::Pin,
};

use corank::v1::{memory_service_server::MemoryService, *};
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

/// Takes every array, says that it divided a sharded one among two GPUs, and lists one of each kind. Never sends the
/// array `silent`.
pub struct FakeMemory;

type Answers<A> = Pin<Box<dyn Stream<Item = Result<A, Status>> + Send>>;

#[tonic::async_trait]
impl MemoryService for FakeMemory {
    type OpenLeaseStream = Answers<OpenLeaseResponse>;
    type FetchArrayStream = Answers<FetchArrayResponse>;

    async fn store_array(
        &self,
        request: Request<Streaming<StoreArrayRequest>>,
    ) -> Result<Response<StoreArrayResponse>, Status> {
        let (mut messages, mut stored) = (request.into_inner(), StoredArray::default());
        while let Some(message) = messages.message().await? {
            if let Some(store_array_request::Part::Header(header)) = message.part {
                let array = header.array.unwrap_or_default();
                stored = StoredArray {
                    name: header.name,
                    r#type: array.r#type,
                    count: array.count.unwrap_or(0),
                    shards: if header.sharded { 2 } else { 0 },
                    ..StoredArray::default()
                };
            }
        }
        Ok(Response::new(StoreArrayResponse { array: Some(stored) }))
    }

    async fn list_arrays(&self, _: Request<ListArraysRequest>) -> Result<Response<ListArraysResponse>, Status> {
        let array = |name: &str, shards| StoredArray { name: name.to_owned(), shards, ..StoredArray::default() };
        let arrays = vec![array("big", 2), array("small", 0)];
        Ok(Response::new(ListArraysResponse { arrays, ..ListArraysResponse::default() }))
    }

    async fn fetch_array(
        &self,
        request: Request<FetchArrayRequest>,
    ) -> Result<Response<Self::FetchArrayStream>, Status> {
        if request.metadata().contains_key("traceparent") {
            return Err(Status::unavailable("traced calls find nobody here"));
        }
        if request.get_ref().name == "silent" {
            pending::<()>().await;
        }
        let stored = StoredArray { name: request.into_inner().name, count: 1, ..StoredArray::default() };
        let array = Some(StoredArray { r#type: ElementType::Int32.into(), ..stored });
        let chunk = Some(ArrayChunk { data: vec![7, 0, 0, 0].into(), ..ArrayChunk::default() });
        let answers = [FetchArrayResponse { array, ..Default::default() }, FetchArrayResponse { chunk, array: None }];
        Ok(Response::new(Box::pin(tokio_stream::iter(answers.map(Ok)))))
    }

    unimplemented_methods! {
        register_shared_memory: RegisterSharedMemoryRequest => RegisterSharedMemoryResponse,
        register_cuda_ipc: RegisterCudaIpcRequest => RegisterCudaIpcResponse,
        open_lease: OpenLeaseRequest => Self::OpenLeaseStream,
        list_regions: ListRegionsRequest => ListRegionsResponse,
        unregister_region: UnregisterRegionRequest => UnregisterRegionResponse,
        delete_array: DeleteArrayRequest => DeleteArrayResponse
    }
}
