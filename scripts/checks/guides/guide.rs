//! The blocks of the Rust guide, which scripts/checks/guide_code.py puts here. They use the server in CORANK_SERVER.
#![allow(unused)]

// each block: begin
async fn NAME(client: &corank::Client) -> corank::Result<()> {
    // What the guide takes for granted.
    let (keys, rows) = (vec![3f32, 1., 2.], vec![0u32, 1, 2]);
    let prices = keys.clone();
    let (first, second) = (vec![1f32, 3.], vec![2f32]);
    let (sorted, needles) = (vec![1f32, 2., 3.], vec![2f32]);
    let (values, source) = (vec![7u8, 8, 9], vec![7u8, 8, 9]);
    let (from, to, counts) = (vec![0i64, 1, 2], vec![500i64, 0, 999], vec![1i64, 1, 1]);
    let offsets = from.clone();
    let (names, years) = (b"UB".to_vec(), vec![2001u16, 2003]);
    let minutes = vec![7i32, 9];
    let (monday, tuesday) = (vec![1u32, 3, 3], vec![2u32, 3]);
    let (orders, customers) = (vec![7u64, 5, 7, 9], vec![5u64, 7]);
    BLOCK
    Ok(())
}

// each block: end
#[tokio::main]
async fn main() -> corank::Result<()> {
    let client = corank::Client::connect("")?;
    // each call: begin
    NAME(&client).await?;
    // each call: end
    println!("the blocks of the guide ran");
    Ok(())
}
