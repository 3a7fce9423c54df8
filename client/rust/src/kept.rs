//! Arrays that stay on the server under a name.

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::{pin, Pin},
    time::{Duration, Instant},
};

use futures_util::future::{select, Either};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use crate::{
    array::{Array, Data, FromArray, Input},
    error::{Error, Result},
    request::{call_options, Options},
    retry::Repeat,
    stream::{arrived, chunk_bytes, Sink},
    v1::{self, memory_service_client::MemoryServiceClient, store_array_request, ElementType},
    Client,
};

const PAGE: i32 = 1000;
/// How long the server may still hold an array after the answer to the request that used it.
const RELEASE_TIME: Duration = Duration::from_secs(2);

/// An array that the server keeps. Operators take it by reference. It says nothing to the server: the array stays there
/// until it is deleted, or until nobody has used it for its expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptArray {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub element_type: ElementType,
    /// The number of its elements.
    pub count: usize,
    /// Bytes of a record for [`ElementType::Record`], else 0.
    pub record_bytes: u32,
    /// Whether the server divides it among its GPUs; see [`Store::sharded`].
    pub sharded: bool,
    /// The time after which the server deletes it, unless a request uses it before. `None`: not told.
    pub expires_in: Option<Duration>,
}

/// The kept arrays of a tenant.
#[derive(Clone, Debug)]
pub struct KeptArrays {
    /// Ordered by name.
    pub arrays: Vec<KeptArray>,
    /// Bytes that they use, over all devices.
    pub used_bytes: u64,
    /// Bytes that they may use.
    pub quota_bytes: u64,
}

impl KeptArray {
    pub(crate) fn from_result(array: Array<'static>) -> Result<Self> {
        match &array.data {
            Data::Kept(place) => Ok(Self {
                name: place.name.clone(),
                element_type: array.kind,
                count: array.len(),
                record_bytes: array.record_bytes,
                sharded: place.sharded,
                expires_in: None,
            }),
            _ => Err(Error::internal("the server did not keep the result")),
        }
    }

    fn from_message(array: v1::StoredArray) -> Self {
        Self {
            element_type: array.r#type(),
            count: usize::try_from(array.count).unwrap_or(0),
            record_bytes: array.record_bytes,
            sharded: array.shards > 0,
            expires_in: array.expires_in.and_then(|time| time.try_into().ok()),
            name: array.name,
        }
    }
}

impl<'a> Input<'a> for &KeptArray {
    type Owned = Array<'static>;
    fn into_array(self) -> Array<'a> {
        Array {
            kind: self.element_type,
            record_bytes: self.record_bytes,
            count: Some(self.count),
            data: Data::Kept(v1::StoredPlace { name: self.name.clone(), temporary: false, sharded: self.sharded }),
        }
    }
}

/// A call that stores an array: give it options, then await it.
#[must_use = "a request does nothing until it is awaited"]
pub struct Store<'a> {
    client: &'a Client,
    name: String,
    array: Array<'a>,
    expiry: Option<Duration>,
    sharded: bool,
    options: Options,
}

impl<'a> Store<'a> {
    /// The time without use after which the server deletes the array. Default: the server's.
    pub fn expiry(mut self, time: Duration) -> Self {
        self.expiry = Some(time);
        self
    }

    /// Has the server divide the array among its GPUs, so that it may be larger than the memory of one. It can be
    /// fetched, listed and deleted. All GPUs work on merges, on sorts and on intervals; other
    /// operators bring its parts to one GPU, which must have room for them.
    pub fn sharded(mut self) -> Self {
        self.sharded = true;
        self
    }

    call_options!();

    async fn run(self) -> Result<KeptArray> {
        let Self { client, name, array, expiry, sharded, options } = &self;
        if !array.is_here() {
            return Err(Error::invalid("array", "the server keeps it already"));
        }
        let deadline = client.deadline(options, array.bytes_here());
        let limits = client.known_info(deadline).await?.limits;
        let each = (chunk_bytes(limits.as_ref()) / array.width().max(1)).max(1);
        let expiry = expiry.map(prost_types::Duration::try_from).transpose();
        let expiry = expiry.map_err(|_| Error::invalid("expiry", "is too long"))?;
        let place = Some(v1::array::Place::Stream(v1::StreamPlace { stream_id: 0 }));
        let array_message = Some(array.message(place));
        let header = v1::StoreArrayHeader { name: name.clone(), array: array_message, expiry, sharded: *sharded };
        let once = |channel, left| {
            let header = header.clone();
            async move {
                let (to_server, messages) = mpsc::channel(2);
                let send = pin!(async move {
                    let message = |part| v1::StoreArrayRequest { part: Some(part) };
                    let mut is_open = to_server.send(message(store_array_request::Part::Header(header))).await.is_ok();
                    let mut from = 0;
                    while is_open && from < array.len() {
                        let to = (from + each).min(array.len());
                        let data = array.piece(from, to);
                        let chunk = v1::ArrayChunk { stream_id: 0, first_element: from as i64, data };
                        is_open = to_server.send(message(store_array_request::Part::Chunk(chunk))).await.is_ok();
                        from = to;
                    }
                });
                let receive = pin!(async {
                    let mut stub = MemoryServiceClient::new(channel).max_encoding_message_size(usize::MAX);
                    let request = client.request(ReceiverStream::new(messages), options, left)?;
                    Ok(stub.store_array(request).await.map_err(|status| client.failed(&status))?.into_inner())
                });
                match select(send, receive).await {
                    Either::Left(((), receive)) => receive.await,
                    Either::Right((answer, _)) => answer,
                }
            }
        };
        let answer: v1::StoreArrayResponse =
            client.call(options, "StoreArray", Repeat::UnlessLost, deadline, once).await?;
        let stored = answer.array.ok_or_else(|| Error::internal("the server's answer lacks the array"))?;
        Ok(KeptArray::from_message(stored))
    }
}

impl<'a> IntoFuture for Store<'a> {
    type Output = Result<KeptArray>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A call that copies a kept array: give it options, then await it. `A` is what it returns.
#[must_use = "a request does nothing until it is awaited"]
pub struct Fetch<'a, A> {
    client: &'a Client,
    name: String,
    options: Options,
    result: PhantomData<fn() -> A>,
}

impl<A: FromArray> Fetch<'_, A> {
    call_options!();

    async fn run(self) -> Result<A> {
        let Self { client, name, options, .. } = &self;
        let once = |channel, left| async move {
            let failed = |status: tonic::Status| client.failed(&status);
            let mut stub = MemoryServiceClient::new(channel).max_decoding_message_size(usize::MAX);
            let request = client.request(v1::FetchArrayRequest { name: name.clone() }, options, left)?;
            let mut stream = stub.fetch_array(request).await.map_err(failed)?.into_inner();
            let mut whole: Option<(v1::StoredArray, Sink)> = None;
            while let Some(message) = stream.message().await.map_err(failed)? {
                if let Some(array) = message.array {
                    let width = crate::array::checked_width(array.r#type(), array.record_bytes)?;
                    let count = usize::try_from(array.count).ok();
                    whole = Some((array, Sink::new(width, count, A::make_buffer().0)));
                }
                let (_, sink) = whole.as_ref().ok_or_else(|| Error::internal("the server sent a chunk first"))?;
                if let Some(chunk) = message.chunk {
                    sink.write(chunk.first_element, &chunk.data)?;
                }
            }
            // Without trailers, the connection ended before the call did.
            stream.trailers().await.map_err(failed)?.ok_or_else(|| Error::lost(&client.address()))?;
            whole.ok_or_else(|| Error::internal("the server sent nothing"))
        };
        let deadline = client.deadline(options, 0);
        let (array, sink) = client.call(options, "FetchArray", Repeat::Always, deadline, once).await?;
        let count = usize::try_from(array.count).unwrap_or(0);
        let header = v1::Array { r#type: array.r#type, record_bytes: array.record_bytes, count: None, place: None };
        A::from_array(arrived(&header, count, Data::Owned(sink.take(count)?)))
    }
}

impl<'a, A: FromArray + 'a> IntoFuture for Fetch<'a, A> {
    type Output = Result<A>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Client {
    /// Keeps an array on the server under a name. It replaces an array of that name once the call succeeds.
    pub fn store<'a>(&'a self, name: &str, array: impl Input<'a>) -> Store<'a> {
        let (array, options) = (array.into_array(), Options::default());
        Store { client: self, name: name.to_owned(), array, expiry: None, sharded: false, options }
    }

    /// The elements of a kept array, as `Vec<T>` or [`Array`]. It fails with NOT_FOUND if there is none of this name,
    /// and with `InvalidArgument` if its elements are of another type.
    pub fn fetch<A: FromArray>(&self, name: &str) -> Fetch<'_, A> {
        Fetch { client: self, name: name.to_owned(), options: Options::default(), result: PhantomData }
    }

    /// All kept arrays of the caller's tenant, and its quota.
    ///
    /// # Errors
    ///
    /// As of every call.
    pub async fn kept_arrays(&self) -> Result<KeptArrays> {
        let options = &Options::default();
        let mut found = KeptArrays { arrays: vec![], used_bytes: 0, quota_bytes: 0 };
        let mut page_token = String::new();
        loop {
            let token = &page_token;
            let once = |channel, left| async move {
                let mut stub = MemoryServiceClient::new(channel).max_decoding_message_size(usize::MAX);
                let message = v1::ListArraysRequest { page_size: PAGE, page_token: token.clone() };
                let request = self.request(message, options, left)?;
                Ok(stub.list_arrays(request).await.map_err(|status| self.failed(&status))?.into_inner())
            };
            let page = self.call(options, "ListArrays", Repeat::Always, self.deadline(options, 0), once).await?;
            found.arrays.extend(page.arrays.into_iter().map(KeptArray::from_message));
            found.used_bytes = u64::try_from(page.used_bytes).unwrap_or(0);
            found.quota_bytes = u64::try_from(page.quota_bytes).unwrap_or(0);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(found);
            }
        }
    }

    /// The handle of the kept array of this name.
    ///
    /// # Errors
    ///
    /// NOT_FOUND if there is none.
    pub async fn stored(&self, name: &str) -> Result<KeptArray> {
        let found = self.kept_arrays().await?.arrays.into_iter().find(|array| array.name == name);
        found.ok_or_else(|| Error::new(Code::NotFound, format!("the server keeps no array {name:?}")))
    }

    /// Has the server forget a kept array. Retries briefly while an answered request still holds it.
    ///
    /// # Errors
    ///
    /// NOT_FOUND if there is none of this name, FAILED_PRECONDITION while a request uses it.
    pub async fn delete(&self, name: &str) -> Result<()> {
        let options = &Options::default();
        let (began, mut pause) = (Instant::now(), Duration::from_millis(1));
        loop {
            let once = |channel, left| async move {
                let mut stub = MemoryServiceClient::new(channel);
                let request = self.request(v1::DeleteArrayRequest { name: name.to_owned() }, options, left)?;
                stub.delete_array(request).await.map_err(|status| self.failed(&status))
            };
            let done = self.call(options, "DeleteArray", Repeat::UnlessLost, self.deadline(options, 0), once).await;
            match done {
                Err(error)
                    if error.code == Code::FailedPrecondition
                        && !error.is_closed()
                        && began.elapsed() < RELEASE_TIME =>
                {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => return other.map(|_| ()),
            }
        }
    }
}
