//! Arrays that the server keeps.

use corank::{v1::destination::Place, Client};
use tonic::Code;

use crate::fake::{serve, Mode};

#[tokio::test]
async fn asks_for_sharded_arrays_and_results_and_shows_them() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let big = client.store("big", &[3i32, 1, 2]).sharded().await.unwrap();
    assert_eq!((big.name.as_str(), big.count, big.sharded), ("big", 3, true));
    let ordered = client.sort(&big).keep(&["ordered"]).sharded().await.unwrap();
    assert!(ordered[0].sharded);
    let whole = client.sort(&[3i32, 1, 2]).keep(&["whole"]).await.unwrap();
    assert!(!whole[0].sharded);
    assert!(!client.store("big", &[3i32, 1, 2]).await.unwrap().sharded);
    let sorted = server.sorted.lock().unwrap();
    let asked: Vec<_> = sorted
        .iter()
        .map(|destination| match destination.as_ref().and_then(|destination| destination.place.as_ref()) {
            Some(Place::Stored(place)) => (place.name.as_str(), place.sharded),
            _ => ("", false),
        })
        .collect();
    assert_eq!(asked, [("ordered", true), ("whole", false)]);
}

#[tokio::test]
async fn finds_kept_arrays_by_name() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    assert!(client.stored("big").await.unwrap().sharded);
    assert!(!client.stored("small").await.unwrap().sharded);
    let error = client.stored("none").await.unwrap_err();
    assert_eq!((error.code, error.message.contains("none")), (Code::NotFound, true), "{error}");
}

#[tokio::test]
async fn takes_options_of_calls_that_move_kept_arrays() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    assert_eq!(client.fetch::<Vec<i32>>("big").await.unwrap(), [7]);
    let error = client.fetch::<Vec<i32>>("big").traceparent(TRACE).retries(1).await.unwrap_err();
    assert_eq!((error.code, error.attempts), (Code::Unavailable, 2), "{error}");
    let error = client.store("big", &[1i32]).traceparent("00-1").await.unwrap_err();
    assert_eq!(error.field, "traceparent", "{error}");
    let error = client.sort(&[1i32]).traceparent("00-1").await.unwrap_err();
    assert_eq!(error.field, "traceparent", "{error}");
    let limit = std::time::Duration::from_millis(50);
    let error = client.fetch::<Vec<i32>>("silent").deadline(limit).await.unwrap_err();
    assert_eq!(error.code, Code::DeadlineExceeded, "{error}");
}
