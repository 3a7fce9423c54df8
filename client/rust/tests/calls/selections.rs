//! Selections of a server of the test, which answers as the contract says.

use std::{sync::atomic::Ordering, time::Duration};

use corank::{
    v1::{array, operation::Operation, SelectRequest},
    Array, Client, Comparison, Positions, Selection,
};
use tonic::Code;

use crate::fake::{serve, Mode, Server};

const ELEMENTS: [u16; 4] = [7, 1, 7, 9];
const VALUES: [[u8; 3]; 4] = [*b"aaa", *b"bbb", *b"ccc", *b"ddd"];

fn asked(server: &Server) -> SelectRequest {
    match server.selected.lock().unwrap().pop().unwrap() {
        Operation::Select(request) => request,
        other => panic!("{other:?}"),
    }
}

/// Everything that selects the elements 0, 1 and 3.
fn selections() -> [Selection<'static>; 5] {
    [
        Selection::flags(&[1u8, 255, 0, 64]),
        Selection::mask([true, true, false, true]),
        Selection::bitmap(&[0b1011u8]),
        Selection::positions(&[3i64, 0, 1, 0]),
        Selection::compare(Comparison::GreaterOrEqual, &[0u16]),
    ]
}

#[tokio::test]
async fn selects_by_flags_bits_positions_and_a_comparison() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    for at in 0..4 {
        let by = || selections().into_iter().nth(at).unwrap();
        assert_eq!(client.select(&ELEMENTS, by()).await.unwrap(), [7, 1, 9]);
        let told = asked(&server);
        let given = [&told.flags, &told.bitmap, &told.positions, &told.threshold];
        assert_eq!(given.iter().filter(|array| array.is_some()).count(), 1);
        assert_eq!((told.comparison(), told.partition), (Comparison::Unspecified, false));
        let (elements, values) = client.select(&ELEMENTS, by()).values(&VALUES).await.unwrap();
        assert_eq!((elements, values), (vec![7, 1, 9], vec![*b"aaa", *b"bbb", *b"ddd"]));
        let (values, indices) = client.select(&VALUES, by()).with_indices().await.unwrap();
        assert_eq!((values.len(), indices), (3, Positions::U32(vec![0, 1, 3])));
        assert_eq!(client.select(&ELEMENTS, by()).negate().await.unwrap(), [7]);
        assert_eq!(client.argselect(&ELEMENTS, by()).negate().await.unwrap(), Positions::U32(vec![2]));
        let (indices, values) = client.argselect(&ELEMENTS, by()).values(&VALUES).await.unwrap();
        assert_eq!((indices.get(2), values[2]), (3, *b"ddd"));
    }
    let everything = selections().into_iter().nth(4).unwrap();
    assert_eq!(client.select(&ELEMENTS, everything).await.unwrap(), ELEMENTS);
}

#[tokio::test]
async fn selects_by_every_comparison() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    for (comparison, expected) in [
        (Comparison::Less, &[1u16][..]),
        (Comparison::Equal, &[7, 7]),
        (Comparison::LessOrEqual, &[7, 1, 7]),
        (Comparison::Greater, &[9]),
        (Comparison::NotEqual, &[1, 9]),
        (Comparison::GreaterOrEqual, &[7, 7, 9]),
    ] {
        let found = client.select(&ELEMENTS, Selection::compare(comparison, &[7u16])).await.unwrap();
        assert_eq!(found, expected, "{comparison:?}");
    }
    let bytes = [7u8, 0];
    let bound = Array::from_bytes(corank::v1::ElementType::Uint16, 0, &bytes).unwrap();
    let found = client.argselect(&ELEMENTS, Selection::compare(Comparison::Less, bound)).await.unwrap();
    assert_eq!(found, Positions::U32(vec![1]));
}

#[tokio::test]
async fn partitions_and_removes() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let by = || Selection::compare(Comparison::Equal, &[7u16]);
    assert_eq!(client.partition(&ELEMENTS, by()).await.unwrap(), (vec![7, 7, 1, 9], 2));
    assert!(asked(&server).partition);
    let parts = client.partition(&ELEMENTS, by()).negate().values(&VALUES).await.unwrap();
    assert_eq!(parts, (vec![1, 9, 7, 7], vec![*b"bbb", *b"ddd", *b"aaa", *b"ccc"], 2));
    assert_eq!(client.remove(&ELEMENTS, &[3i64, 0, 3]).await.unwrap(), [1, 7]);
    assert!(asked(&server).negate);
    let rest = client.remove(&VALUES, &[0i64; 0]).values(&ELEMENTS).await.unwrap();
    assert_eq!(rest, (VALUES.to_vec(), ELEMENTS.to_vec()));
}

#[tokio::test]
async fn inserts_before_positions_in_any_order() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let found = client.insert(&[1u16, 2, 3], &[3, 0, 1, 3, 0], &[10u16, 20, 30, 40, 50]).await.unwrap();
    assert_eq!(found, [20, 50, 1, 30, 2, 3, 10, 40]);
    assert_eq!(client.insert(vec![1u16, 2], &[], vec![0u16; 0]).await.unwrap(), [1, 2]);
    assert_eq!(client.insert(&[0u16; 0], &[0, 0], &[7u16, 8]).await.unwrap(), [7, 8]);
    assert_eq!(client.insert(&VALUES[..2], &[1], &VALUES[3..]).await.unwrap(), [*b"aaa", *b"ddd", *b"bbb"]);
    let mut random = 7u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    for turn in 0..50usize {
        let elements: Vec<i32> = (0..turn as i32 % 9).collect();
        let positions: Vec<i64> = (0..turn % 11).map(|_| next(elements.len() + 1) as i64).collect();
        let inserted: Vec<i32> = (0..positions.len() as i32).map(|at| -1 - at).collect();
        let mut expected = vec![];
        for at in 0..=elements.len() {
            let here = inserted.iter().zip(&positions).filter(|(_, position)| **position == at as i64);
            expected.extend(here.map(|(each, _)| *each));
            expected.extend(elements.get(at));
        }
        assert_eq!(client.insert(&elements, &positions, &inserted).await.unwrap(), expected, "{positions:?}");
    }
}

#[tokio::test]
async fn refuses_insertions_before_any_call() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let kept = client.select(&ELEMENTS, Selection::positions(&[0i64])).keep(&["kept"]).await.unwrap();
    let calls = server.calls.load(Ordering::SeqCst);
    let (few, two) = ([1u16, 2, 3], [7u16, 8]);
    let wrong = [
        client.insert(&few, &[3, 4], &two).await.unwrap_err().field,
        client.insert(&few, &[-1, 4], &two).await.unwrap_err().field,
        client.insert(&few, &[1], &two).await.unwrap_err().field,
        client.insert(&few, &[1, 1], &[7i16, 8]).await.unwrap_err().field,
        client.insert(&VALUES, &[1], &[[0u8; 4]]).await.unwrap_err().field,
        client.insert(&kept[0], &[0, 0], &two).await.unwrap_err().field,
        client.insert(&few, &[0], &kept[0]).await.unwrap_err().field,
    ];
    let expected = ["positions[1]", "positions[0]", "positions", "inserted", "inserted", "elements", "inserted"];
    assert_eq!(wrong, expected);
    assert_eq!(server.calls.load(Ordering::SeqCst), calls);
}

#[tokio::test]
async fn refuses_selections_that_cannot_be() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let by = || Selection::positions(&[0i64]);
    let wrong = [
        client.select(&ELEMENTS, by()).limit(1).await.unwrap_err().field,
        client.select(&ELEMENTS, by()).descending().await.unwrap_err().field,
        client.sort(&ELEMENTS).negate().await.unwrap_err().field,
        client.select(&ELEMENTS, by()).keep(&["a", "b"]).await.err().unwrap().field,
    ];
    assert_eq!(wrong, ["limit", "order", "negate", "keep"]);
    // The server counts more flags than there are elements.
    let error = client.select(&ELEMENTS[..1], Selection::flags(&[0u8, 1])).await.unwrap_err();
    assert_eq!(error.code, Code::Internal, "{error}");
}

#[tokio::test]
async fn kept_arrays_are_elements_and_results() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let by = || Selection::mask([true, false, false, true]);
    let names = ["elements", "values", "number"];
    let kept = client.partition(&ELEMENTS, by()).values(&VALUES).keep(&names).await.unwrap();
    assert_eq!((kept[0].count, kept[1].count, kept[2].count), (4, 4, 1));
    let told = asked(&server);
    let stored = |destination: Option<corank::v1::Destination>| match destination.unwrap().place {
        Some(corank::v1::destination::Place::Stored(stored)) => stored.name,
        other => panic!("{other:?}"),
    };
    let places = [told.elements_destination, told.values_destination, told.count_destination];
    assert_eq!(places.map(stored), names);
    let some = client.select(&ELEMENTS, by()).keep(&["some"]).await.unwrap();
    assert_eq!(some[0].count, 2);
}

#[tokio::test]
async fn later_operators_of_a_chain_name_no_number_of_elements() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let mut chain = client.chain();
    let some = chain.then(client.select(&ELEMENTS, Selection::flags(&[1u8, 0, 0, 1])));
    let by = Selection::compare(Comparison::Less, &[8u16]);
    let parts = chain.then(client.partition(&some, by).keep(&["parts", "number"]));
    let kept = chain.run().await.unwrap().take(parts).unwrap();
    assert_eq!((kept[0].count, kept[1].count), (2, 1));
    let elements = asked(&server).elements.unwrap();
    assert_eq!(elements.count, None);
    assert!(matches!(&elements.place, Some(array::Place::Stored(stored)) if stored.temporary));
}

#[tokio::test]
async fn elements_travel_in_chunks_if_all_would_not_fit_into_a_message() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let elements = vec![[0u8; 5]; 300_000];
    let found = client.select(&elements, Selection::flags(vec![1u8; 300_000])).await.unwrap();
    assert_eq!(found, [[7; 5]; 2]);
    let told = asked(&server);
    let is_stream = |array: Option<corank::v1::Array>| matches!(array.unwrap().place, Some(array::Place::Stream(_)));
    assert!(is_stream(told.elements) && is_stream(told.flags));
}

#[tokio::test]
async fn cancels_a_selection_whose_future_is_dropped() {
    let server = serve(Mode::Never).await;
    let client = Client::connect(&server.address).unwrap();
    let call = tokio::spawn(async move { client.remove(&ELEMENTS, &[0i64]).await });
    let until = |running: usize| {
        let running_now = server.running.clone();
        let reached = async move {
            while running_now.load(Ordering::SeqCst) != running {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), reached)
    };
    until(1).await.expect("the server has the call");
    call.abort();
    until(0).await.expect("the server's call ended");
}
