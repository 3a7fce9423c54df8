//! Joins of a server of the test, which answers as it is told.

use std::sync::atomic::Ordering;

use corank::{
    v1::{array, Array, JoinRequest},
    Client, JoinKind, Rows,
};
use tonic::Code;

use crate::fake::{serve, Mode};

const KINDS: [JoinKind; 6] =
    [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];
const LEFT: [u16; 3] = [3, 1, 3];
const RIGHT: [u16; 2] = [4, 3];

fn inline(array: &Option<Array>) -> Vec<u8> {
    match array.as_ref().unwrap().place.clone().unwrap() {
        array::Place::InlineData(data) => data.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn both_sides_travel_and_row_numbers_come_back() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let asked = || server.joined.lock().unwrap().pop().unwrap();
    for kind in KINDS {
        let right = (!matches!(kind, JoinKind::Semi | JoinKind::Anti)).then(|| Rows::I32(vec![1, -1]));
        let found = client.join(kind, &LEFT, &RIGHT).await.unwrap();
        assert_eq!((found.left.len(), found.left, &found.right), (2, Rows::I32(vec![0, 2]), &right));
        let JoinRequest { left, right, .. } = asked();
        assert_eq!((inline(&left), inline(&right)), (vec![3, 0, 1, 0, 3, 0], vec![4, 0, 3, 0]));

        let found = client.join(kind, &LEFT, &RIGHT).right_sorted().max_rows(2).await.unwrap();
        assert_eq!((found.left.get(1), found.right.map(|rows| rows.get(1)).unwrap_or(None)), (Some(2), None));
        let told = asked();
        assert_eq!((told.kind(), told.right_sorted, told.max_rows, told.count_only), (kind, true, Some(2), false));

        assert_eq!(client.count_join(kind, &LEFT, &RIGHT).right_sorted().await.unwrap(), 2);
        let told = asked();
        assert_eq!((told.kind(), told.right_sorted, told.max_rows, told.count_only), (kind, true, None, true));
    }
}

#[tokio::test]
async fn the_server_chooses_the_width_of_row_numbers() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let found = client.join(JoinKind::Full, &LEFT, &RIGHT).right_sorted().await.unwrap();
    assert_eq!((found.left, found.right), (Rows::I64(vec![0, 2]), Some(Rows::I64(vec![1, -1]))));
}

#[tokio::test]
async fn a_join_with_more_rows_than_both_sides_is_called_again_once() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let found = client.join(JoinKind::Inner, &LEFT, &LEFT).await.unwrap();
    assert_eq!((found.left.len(), found.right.unwrap().len()), (9, 9));
    let asked: Vec<_> = server.joined.lock().unwrap().iter().map(|request| request.max_rows).collect();
    assert_eq!(asked, [None, Some(9)]);

    let error = client.join(JoinKind::Inner, &LEFT, &LEFT).max_rows(8).await.err().unwrap();
    let told = (error.code, error.reason.as_str(), error.field.as_str(), error.rows);
    assert_eq!(told, (Code::InvalidArgument, "TOO_MANY_ROWS", "max_rows", Some(9)));
    assert_eq!(server.calls.load(Ordering::SeqCst), 3);

    let mut chain = client.chain();
    let _ = chain.then(client.join(JoinKind::Inner, &LEFT, &LEFT));
    assert_eq!(chain.run().await.err().unwrap().rows, Some(9));
    assert_eq!(server.calls.load(Ordering::SeqCst), 4, "a chain does not run again");
}

#[tokio::test]
async fn refuses_joins_that_cannot_be() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let (none, one, two) = ([0u16; 0], [3u16], [3u16, 4]);
    for (kind, left, right) in [
        (JoinKind::Inner, &one[..], &two[..1]),
        (JoinKind::Left, &one, &none),
        (JoinKind::Right, &none, &one),
        (JoinKind::Full, &one, &none),
        (JoinKind::Semi, &one, &two),
        (JoinKind::Anti, &one, &two),
    ] {
        let error = client.join(kind, left, right).max_rows(1).await.err().unwrap();
        if left == right {
            assert_eq!(error.rows, Some(9));
            continue;
        }
        assert_eq!(error.code, Code::Internal, "{error}");
        assert!(error.message.contains("2 elements of left_rows, not Some(1)"), "{error}");
    }
    let wrong = [
        client.join(JoinKind::Inner, &LEFT, &RIGHT).descending().await.err().unwrap().field,
        client.count_join(JoinKind::Inner, &LEFT, &RIGHT).max_rows(1).await.err().unwrap().field,
        client.sort(&LEFT).right_sorted().await.err().unwrap().field,
    ];
    assert_eq!(wrong, ["order", "max_rows", "right_sorted"]);
}

#[tokio::test]
async fn later_operators_of_a_chain_name_no_number_of_rows() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let mut chain = client.chain();
    let rows = chain.then(client.join(JoinKind::Left, &LEFT, &RIGHT).max_rows(4).named());
    let count = chain.then(client.count_join(JoinKind::Inner, &rows, &[2i32]));
    let mut links = chain.run().await.unwrap();
    assert_eq!(links.take(count).unwrap(), 2);
    let left_over = links.take(rows).unwrap();
    assert_eq!(left_over.len(), 1);
    let (name, right) = left_over.into_iter().next().unwrap();
    assert_eq!((name.as_str(), right.into_vec::<i32>().unwrap()), ("right_rows", vec![1, -1]));
    let asked = server.joined.lock().unwrap();
    assert_eq!(asked[0].max_rows, Some(4));
    let left = asked[1].left.as_ref().unwrap();
    assert_eq!(left.count, None);
    assert!(matches!(&left.place, Some(array::Place::Stored(stored)) if stored.temporary));
}
