//! What clients leave behind. One test, because it counts the sockets and tasks of its process.
#![cfg(target_os = "linux")]

use std::{fs, future::IntoFuture, time::Duration};

use corank::{Client, ConnectOptions};
use tokio::{io::AsyncReadExt, net::TcpListener, runtime::Handle, time::timeout};
use tonic::Code;

/// Sockets and tasks.
fn held() -> (usize, usize) {
    let is_socket = |entry: fs::DirEntry| {
        fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    let sockets = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok).map(is_socket).filter(|is| *is).count();
    (sockets, Handle::current().metrics().num_alive_tasks())
}

/// A server that takes all and answers nothing.
async fn serve_silence(listener: TcpListener) {
    loop {
        let (mut connection, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while connection.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
        });
    }
}

#[tokio::test]
async fn leaves_no_sockets_and_no_tasks() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(serve_silence(listener));
    tokio::task::yield_now().await;
    let before = held();
    for round in 0..8 {
        let options = ConnectOptions { retries: Some(0), ..ConnectOptions::default() };
        let client = Client::connect_with(&address, options).unwrap();
        let error = client.sort(&[2i32, 1]).deadline(Duration::from_millis(30)).await.unwrap_err();
        assert_eq!(error.code, Code::DeadlineExceeded, "{error}");
        let dropped = client.sort(vec![0u8; 200_000]).into_future();
        assert!(timeout(Duration::from_millis(30), dropped).await.is_err(), "the server is silent");
        assert!(held().0 > before.0, "the client is connected");
        if round % 2 == 0 {
            client.close();
        }
    }
    let freed = async {
        while held() != before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(timeout(Duration::from_secs(10), freed).await.is_ok(), "{before:?} before, {:?} after", held());
}
