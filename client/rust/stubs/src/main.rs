//! Writes the messages and stubs of corank.v1 into a folder. scripts/stubs.sh runs it.
//!
//!     corank-stubs IMAGE FOLDER      IMAGE: what `buf build` makes of the protos

use std::{env, error::Error, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [image, folder] = arguments.as_slice() else {
        return Err("usage: corank-stubs IMAGE FOLDER".into());
    };
    let mut files = prost_types::FileDescriptorSet::decode(fs::read(image)?.as_slice())?;
    files.file.retain(|file| {
        ["corank.v1", "corank.wire.v1"].contains(&file.package()) || file.package() == "google.protobuf"
    });
    fs::create_dir_all(folder)?;
    tonic_prost_build::configure().bytes(".").out_dir(folder).compile_fds(files)?;
    Ok(())
}
