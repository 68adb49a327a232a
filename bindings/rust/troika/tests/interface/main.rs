//! Tests of the safe crate, in one program: each module is one subject.

mod callbacks;
mod data;
mod errors;
mod gradients;
mod groups;
mod leaks;
mod models;
mod operations;
mod tensors;
mod threads;
mod training;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use troika::{
    Context, Dataset, Device, Loader, LoaderOptions, Model, Result, Trainer, TrainerOptions,
};

const CPU: Device = Device::cpu(0);

fn context() -> Context {
    Context::new(&Default::default()).unwrap()
}

/// 32 samples of 4 numbers and 3 classes.
fn dataset(context: &Context) -> Dataset {
    Dataset::create_synthetic(context, &[4], 32, 3, 7).unwrap()
}

fn loader(context: &Context, batch: i64) -> Loader {
    Loader::new(&dataset(context), &LoaderOptions { batch, ..Default::default() }).unwrap()
}

/// A linear layer from 4 numbers to 3 classes, with weights 0 and biases 0, 1 and 2.
fn model(context: &Context) -> Model {
    let mut model = Model::create_empty(context, "net").unwrap();
    let x = model.add_input("x", &[4]).unwrap();
    let x = model.add_linear("fc", x, 3, true).unwrap();
    model.set_output(x).unwrap();
    model.set_parameter("fc.weight", &[0.0_f32; 12]).unwrap();
    model.set_parameter("fc.bias", &[0.0_f32, 1.0, 2.0]).unwrap();
    model
}

fn trainer(context: &Context, options: &TrainerOptions) -> Trainer {
    model(context).attach(&[CPU], options).unwrap()
}

fn bias(model: &Model) -> Result<Vec<f32>> {
    let mut bias = vec![0.0; 3];
    model.get_parameter("fc.bias", &mut bias)?;
    Ok(bias)
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("troika-rust-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
