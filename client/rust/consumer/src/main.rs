//! A program of a user: sorts 10 million floats.

#[tokio::main]
async fn main() -> corank::Result<()> {
    let floats: Vec<f32> = (0..10_000_000u32).map(|i| i.wrapping_mul(2_654_435_761) as f32).collect();

    let client = corank::Client::connect("")?;
    let sorted = client.sort(&floats).await?;
    println!("{} floats from {} to {}", sorted.len(), sorted[0], sorted[sorted.len() - 1]);

    let mut expected = floats;
    expected.sort_by(f32::total_cmp);
    assert_eq!(sorted, expected);
    Ok(())
}
