//! Sorts ten million numbers on a corank server, finds the three largest, and sorts a table by two columns.

use corank::{Client, Column};

#[tokio::main]
async fn main() -> corank::Result<()> {
    let delays: Vec<f32> = (0..10_000_000u32).map(|i| i.wrapping_mul(2_654_435_761) as f32 / 7e7).collect();

    let client = Client::connect("")?; // the server in CORANK_SERVER, else 127.0.0.1:50051
    let sorted = client.sort(&delays).await?;
    assert!(sorted.is_sorted() && sorted.len() == delays.len());
    println!("{} delays from {} s to {} s", sorted.len(), sorted[0], sorted[sorted.len() - 1]);

    let (worst, rows) = client.sort(&delays).with_indices().descending().limit(3).await?;
    let of_rows: Vec<f32> = rows.iter().map(|row| delays[row]).collect();
    assert_eq!(worst, of_rows);
    println!("the worst are {worst:?}");

    // The strings Ulm, Bonn, Ulm, one after the other, and where each begins and ends.
    let cities = Column::strings(b"UlmBonnUlm", &[0i64, 3, 7, 10]);
    let minutes = Column::new(&[7i32, 9, 3]).descending();
    let order = client.argsort_columns(vec![cities, minutes]).await?;
    assert_eq!(order.iter().collect::<Vec<_>>(), [1, 0, 2]);
    Ok(())
}
