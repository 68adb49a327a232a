//! Learns which spiral a point is on: `spirals [--epochs N] [--devices cpu:0,cpu:1]`
//!
//! The dataset is a closure: point i is computed when a batch wants it, and no point is stored.

use std::error::Error;
use std::f32::consts::TAU;
use troika::{
    Context, Dataset, Device, Loader, LoaderOptions, Model, Optimizer, ReadRequest, Source,
    SourceError, TrainerOptions,
};

const SPIRALS: i64 = 3;

/// Writes points (x, y) of the plane and the number of their spiral. The radius is any fraction,
/// because multiples of the golden ratio are spread evenly between integers.
fn read_points(request: &mut ReadRequest<'_>) -> Result<usize, SourceError> {
    let points = request.inputs.chunks_exact_mut(2).zip(request.labels.iter_mut());
    for (&index, (point, label)) in request.indices.iter().zip(points) {
        let spiral = index % SPIRALS;
        let radius = (index as f64 * 0.618_033_988_75).fract() as f32;
        let angle = TAU * (1.5 * radius + spiral as f32 / SPIRALS as f32);
        point.copy_from_slice(&[radius * angle.cos(), radius * angle.sin()]);
        *label = spiral as i32;
    }
    Ok(request.n)
}

fn network(context: &Context) -> troika::Result<Model> {
    let mut model = Model::create_empty(context, "spirals")?;
    let mut x = model.add_input("point", &[2])?;
    for name in ["first", "second"] {
        x = model.add_linear(name, x, 64, true)?;
        x = model.add_relu(&format!("{name}_relu"), x)?;
    }
    x = model.add_linear("spiral", x, SPIRALS, true)?;
    model.set_output(x)?;
    Ok(model)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut epochs, mut devices) = (20, vec![Device::cpu(0)]);
    let mut arguments = std::env::args().skip(1);
    while let (Some(option), value) = (arguments.next(), arguments.next().unwrap_or_default()) {
        match option.as_str() {
            "--epochs" => epochs = value.parse()?,
            "--devices" => devices = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            _ => return Err(format!("'{option}' is unknown, try --epochs or --devices").into()),
        }
    }

    let context = Context::new(&Default::default())?;
    let source = Source { dims: vec![2], n: 4000, classes: SPIRALS, ..Default::default() };
    let points = Dataset::create_callback(&context, &source, read_points)?;
    let [train, test]: [Dataset; 2] =
        points.split(&[3000, 1000], true, 1)?.try_into().expect("two sizes, two parts");
    let options = LoaderOptions { batch: 50, shuffle: true, ..Default::default() };
    let mut train = Loader::new(&train, &options)?;
    let mut test = Loader::new(&test, &LoaderOptions { batch: 500, ..Default::default() })?;

    let adam = Optimizer::Adam;
    let options = TrainerOptions { optimizer: adam, learning_rate: 0.01, ..Default::default() };
    let mut trainer = network(&context)?.attach(&devices, &options)?;
    for epoch in 1..=epochs {
        let loss = trainer.train_epoch(&mut train)?.loss;
        println!("epoch {epoch:2} loss {loss:.4}");
    }
    println!("accuracy {:.3}", trainer.evaluate(&mut test)?.accuracy);
    Ok(())
}
