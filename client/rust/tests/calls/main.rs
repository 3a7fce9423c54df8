//! Calls of a server of the test, which answers as it is told.

#[macro_use]
mod fake;
mod fake_memory;
mod fake_selection;
mod joins;
mod kept;
mod ranks;
mod selections;

use std::{sync::atomic::Ordering, time::Duration};

use corank::{v1::*, Client, ConnectOptions, Positions};
use fake::{serve, Mode};
use tonic::Code;

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
    let bitmap = corank::pack_validity([false, true, false]);
    let nullable = client.group(&keys).values(&values).values_validity(&bitmap).outputs(&[GroupOutput::ValueCounts]);
    assert_eq!(nullable.await.unwrap().value_counts.unwrap(), [1, 0]);
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
