//! Ranks of a server of the test, which answers as it is told.

use corank::{
    v1::{operation::Operation, RankRequest, SortOrder},
    Client, Positions, RankMethod, Selection,
};
use tonic::Code;

use crate::fake::{serve, Mode, Server};

const KEYS: [u16; 3] = [7, 1, 7];

fn asked(server: &Server) -> RankRequest {
    match server.selected.lock().unwrap().pop().unwrap() {
        Operation::Rank(request) => request,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ranks_come_back_by_every_method() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    for method in [RankMethod::Min, RankMethod::Max, RankMethod::Dense, RankMethod::Ordinal] {
        assert_eq!(client.rank(&KEYS, method).await.unwrap(), Positions::U32(vec![2, 1, 2]));
        let told = asked(&server);
        assert_eq!((told.method(), told.order(), told.keys_sorted), (method, SortOrder::Ascending, false));
        assert_eq!(client.rank(&KEYS, method).descending().keys_sorted().await.unwrap().get(2), 2);
        let told = asked(&server);
        assert_eq!((told.method(), told.order(), told.keys_sorted), (method, SortOrder::Descending, true));
    }
    assert_eq!(client.average_rank(&KEYS).await.unwrap(), [2.5, 1.0, 2.5]);
    let told = asked(&server);
    assert_eq!((told.method(), told.segment_offsets), (RankMethod::Average, None));
    client.rank(&KEYS, RankMethod::Min).segments(&[0i64, 1, 3]).await.unwrap();
    assert_eq!(asked(&server).segment_offsets.unwrap().count, Some(3));
}

#[tokio::test]
async fn refuses_ranks_that_cannot_be() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let wrong = [
        client.rank(&KEYS, RankMethod::Average).await.unwrap_err().field,
        client.rank(&KEYS, RankMethod::Unspecified).await.unwrap_err().field,
        client.average_rank(&KEYS).limit(1).await.unwrap_err().field,
        client.sort(&KEYS).keys_sorted().await.unwrap_err().field,
        client.average_rank(&KEYS).values(&KEYS).await.unwrap_err().field,
    ];
    assert_eq!(wrong, ["method", "method", "limit", "keys_sorted", "values"]);
    assert!(server.selected.lock().unwrap().is_empty());
    let error = client.average_rank(&KEYS[..2]).await.unwrap_err();
    assert_eq!(error.code, Code::Internal, "{error}");
    assert!(error.message.contains("3 elements of ranks, not Some(2)"), "{error}");
}

#[tokio::test]
async fn kept_keys_and_ranks_stay_on_the_server() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let ranks = client.rank(&KEYS, RankMethod::Dense).keep(&["ranks"]).await.unwrap();
    assert_eq!(ranks[0].count, 3);
    asked(&server);
    let again = client.average_rank(&ranks[0]).keep(&["means"]).await.unwrap();
    assert_eq!(again[0].name, "means");
    assert!(asked(&server).keys.unwrap().place.is_some());
}

#[tokio::test]
async fn a_chain_ranks_elements_whose_number_only_the_answer_tells() {
    let server = serve(Mode::Echo).await;
    let client = Client::connect(&server.address).unwrap();
    let mut chain = client.chain();
    let some = chain.then(client.select(&KEYS, Selection::positions(&[0i64, 2])));
    let means = chain.then(client.average_rank(&some).keep(&["means"]));
    assert_eq!(chain.run().await.unwrap().take(means).unwrap()[0].count, 2);
    assert_eq!(asked(&server).keys.unwrap().count, None);
}
