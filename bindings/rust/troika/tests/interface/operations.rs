//! Operations on tensors, on numbers that are known.

use super::*;
use troika::{Conv2dOptions, Dtype, Pool2dOptions, Relation, Status, Tensor};

fn tensor(context: &Context, dims: &[i64], numbers: &[f32]) -> Tensor {
    Tensor::new(context, CPU, dims, numbers).unwrap()
}

#[track_caller]
fn is(result: Result<Tensor>, dims: &[i64], numbers: &[f32]) {
    let tensor = result.unwrap();
    assert_eq!(tensor.describe().unwrap().dims, dims);
    let found = tensor.to_vec::<f32>().unwrap();
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    assert!(found.len() == numbers.len() && found.iter().zip(numbers).all(near), "{found:?}");
}

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T>, status: Status, part: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.status(), status, "{error}");
    assert!(error.message().contains(part) && !error.message().contains('\n'), "{error}");
}

#[test]
fn new_tensors() -> Result<()> {
    let context = context();
    is(Tensor::full(&context, CPU, Dtype::F32, &[2, 1], 1.5), &[2, 1], &[1.5; 2]);
    is(Tensor::full(&context, CPU, Dtype::F32, &[], 2.0), &[], &[2.0]);
    is(Tensor::arange(&context, CPU, Dtype::F32, 1.0, 0.5, 3), &[3], &[1.0, 1.5, 2.0]);
    assert_eq!(Tensor::arange(&context, CPU, Dtype::I64, 5.0, -1.0, 2)?.to_vec::<i64>()?, [5, 4]);

    let uniform = |device| Tensor::uniform(&context, device, Dtype::F32, &[50, 20], -1.0..3.0, 7);
    let numbers = uniform(CPU)?.to_vec::<f32>()?;
    assert!(numbers.iter().all(|x| (-1.0..3.0).contains(x)));
    assert!((numbers.iter().sum::<f32>() / 1000.0 - 1.0).abs() < 0.2);
    assert_eq!(uniform(Device::cpu(1))?.to_vec::<f32>()?, numbers);

    let normal = |seed| Tensor::normal(&context, CPU, Dtype::F32, &[1000], 2.0, 0.5, seed);
    let numbers = normal(1)?.to_vec::<f32>()?;
    let mean = numbers.iter().sum::<f32>() / 1000.0;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 1000.0;
    assert!((mean - 2.0).abs() < 0.1 && (variance - 0.25).abs() < 0.05, "{mean} {variance}");
    assert_eq!(normal(1)?.to_vec::<f32>()?, numbers);
    assert_ne!(normal(2)?.to_vec::<f32>()?, numbers);
    Ok(())
}

#[test]
fn new_tensors_that_are_refused() {
    let context = context();
    let invalid = Status::InvalidArgument;
    fails(Tensor::full(&context, CPU, Dtype::F32, &[-2], 0.0), invalid, "-2");
    let f8 = Dtype::F8E4M3;
    fails(Tensor::full(&context, CPU, f8, &[2], 0.0), Status::Unsupported, "no arithmetic");
    let gpu = Device::cuda(99);
    fails(
        Tensor::arange(&context, gpu, Dtype::F32, 0.0, 1.0, 2),
        Status::DeviceUnavailable,
        "cuda:99",
    );
    fails(Tensor::arange(&context, CPU, Dtype::F32, 0.0, 1.0, usize::MAX), invalid, "length");
    let dtype = Dtype::F32;
    fails(Tensor::uniform(&context, CPU, dtype, &[2], 1.0..0.5, 0), invalid, "low is 1");
    fails(Tensor::normal(&context, CPU, dtype, &[2], 0.0, -1.0, 0), invalid, "deviation is -1");
}

#[test]
fn two_tensors() -> Result<()> {
    let context = context();
    let a = tensor(&context, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let b = tensor(&context, &[2], &[2.0, 4.0]);
    is(a.add(&b), &[2, 2], &[3.0, 6.0, 5.0, 8.0]);
    is(a.subtract(&b), &[2, 2], &[-1.0, -2.0, 1.0, 0.0]);
    is(b.subtract(&a), &[2, 2], &[1.0, 2.0, -1.0, 0.0]);
    is(a.multiply(&b), &[2, 2], &[2.0, 8.0, 6.0, 16.0]);
    is(a.divide(&b), &[2, 2], &[0.5, 0.5, 1.5, 1.0]);
    for (relation, wanted) in [
        (Relation::Equal, [0, 0, 0, 1]),
        (Relation::NotEqual, [1, 1, 1, 0]),
        (Relation::Less, [1, 1, 0, 0]),
        (Relation::LessOrEqual, [1, 1, 0, 1]),
        (Relation::Greater, [0, 0, 1, 0]),
        (Relation::GreaterOrEqual, [0, 0, 1, 1]),
    ] {
        assert_eq!(a.compare(&b, relation)?.to_vec::<u8>()?, wanted, "{relation:?}");
    }
    Ok(())
}

#[test]
fn operands_that_do_not_fit() -> Result<()> {
    let context = context();
    let (a, b) = (tensor(&context, &[2], &[1.0, 2.0]), tensor(&context, &[3], &[0.0; 3]));
    let invalid = Status::InvalidArgument;
    fails(a.add(&b), invalid, "[2] and [3]");
    let other = a.to(Device::cpu(1))?;
    fails(a.multiply(&other), invalid, "cpu:0 and cpu:1");
    let integers = Tensor::zeros(&context, CPU, Dtype::I32, &[2])?;
    fails(integers.add(&integers), Status::Unsupported, "i32");
    fails(a.divide(&a.cast(Dtype::F16)?), invalid, "f16");
    fails(a.softmax(1), invalid, "axis");
    fails(a.reshape(&[3]), invalid, "cannot become [3]");
    fails(a.transpose(Some(&[0, 1])), invalid, "order: 2 axes, the tensor has 1");
    fails(a.slice(0, 1..5), invalid, "1 to 5");
    fails(a.matmul(&b, false, false), invalid, "need matrices");
    fails(a.sum(Some(&[0, 0]), false), invalid, "twice");
    fails(Tensor::concat(&[], 0), invalid, "tensor_count is 0");
    Ok(())
}

#[test]
fn one_tensor() -> Result<()> {
    let context = context();
    let x = tensor(&context, &[3], &[-1.0, 0.0, 2.0]);
    is(x.scale(2.0, 1.0), &[3], &[-1.0, 1.0, 5.0]);
    is(x.relu(), &[3], &[0.0, 0.0, 2.0]);
    is(x.sigmoid(), &[3], &[0.268_941_4, 0.5, 0.880_797]);
    is(x.tanh(), &[3], &[-0.761_594_2, 0.0, 0.964_027_6]);
    is(x.gelu(), &[3], &[-0.158_655_3, 0.0, 1.954_499_7]);
    is(x.silu(), &[3], &[-0.268_941_4, 0.0, 1.761_594]);
    is(x.leaky_relu(0.25), &[3], &[-0.25, 0.0, 2.0]);
    is(x.abs(), &[3], &[1.0, 0.0, 2.0]);
    is(x.exp(), &[3], &[0.367_879_4, 1.0, 7.389_056]);
    let positive = tensor(&context, &[2], &[1.0, 4.0]);
    is(positive.log(), &[2], &[0.0, 1.386_294_4]);
    is(positive.sqrt(), &[2], &[1.0, 2.0]);
    let halves = tensor(&context, &[3], &[-1.5, 2.5, f32::NAN]);
    assert_eq!(halves.cast(Dtype::I32)?.to_vec::<i32>()?, [-1, 2, 0]);
    assert_eq!(halves.cast(Dtype::U8)?.to_vec::<u8>()?, [0, 2, 0]);
    let bf16 = positive.cast(Dtype::Bf16)?;
    assert_eq!(bf16.to_bytes()?, [0x80, 0x3f, 0x80, 0x40]);
    is(bf16.cast(Dtype::F32), &[2], &[1.0, 4.0]);
    Ok(())
}

#[test]
fn in_place() -> Result<()> {
    let context = context();
    let mut x = tensor(&context, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    x.add_in_place(&tensor(&context, &[2], &[10.0, 20.0]), -0.5)?;
    assert_eq!(x.to_vec::<f32>()?, [-4.0, -8.0, -2.0, -6.0]);
    x.scale_in_place(-1.0, 1.0)?;
    assert_eq!(x.to_vec::<f32>()?, [5.0, 9.0, 3.0, 7.0]);
    let larger = tensor(&context, &[3, 2, 2], &[0.0; 12]);
    fails(x.add_in_place(&larger, 1.0), Status::InvalidArgument, "[3, 2, 2]");
    Ok(())
}

#[test]
fn matrices_and_images() -> Result<()> {
    let context = context();
    let a = tensor(&context, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let b = tensor(&context, &[2, 1], &[5.0, 6.0]);
    is(a.matmul(&b, false, false), &[2, 1], &[17.0, 39.0]);
    is(a.matmul(&b, true, false), &[2, 1], &[23.0, 34.0]);
    is(b.matmul(&a, true, true), &[1, 2], &[17.0, 39.0]);

    let image = tensor(&context, &[1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let weight = tensor(&context, &[1, 1, 2, 2], &[1.0, 0.0, 0.0, -1.0]);
    is(image.conv2d(&weight, None, &Default::default()), &[1, 1, 1, 1], &[-3.0]);
    let bias = tensor(&context, &[1], &[10.0]);
    let options = Conv2dOptions { padding: [1, 1], stride: [2, 2], ..Default::default() };
    let wanted = [9.0, 10.0, 10.0, 14.0];
    is(image.conv2d(&weight, Some(&bias), &options), &[1, 1, 2, 2], &wanted);

    let options = Pool2dOptions { kernel: [2, 2], ..Default::default() };
    is(image.max_pool2d(&options), &[1, 1, 1, 1], &[4.0]);
    is(image.avg_pool2d(&options), &[1, 1, 1, 1], &[2.5]);
    fails(image.avg_pool2d(&Default::default()), Status::InvalidArgument, "kernel");
    Ok(())
}

#[test]
fn shapes() -> Result<()> {
    let context = context();
    let x = tensor(&context, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(x.reshape(&[3, -1]), &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(x.transpose(None), &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    is(x.transpose(Some(&[0, 1])), &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(x.slice(-1, 1..3), &[2, 2], &[2.0, 3.0, 5.0, 6.0]);
    let row = tensor(&context, &[1, 3], &[7.0, 8.0, 9.0]);
    let joined = Tensor::concat(&[&row, &x], 0);
    is(joined, &[3, 3], &[7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(row.expand(&[2, 3]), &[2, 3], &[7.0, 8.0, 9.0, 7.0, 8.0, 9.0]);
    Ok(())
}

/// A view shares the memory, so neither tensor changes while both live.
#[test]
fn a_view_keeps_the_memory_unchanged() -> Result<()> {
    let context = context();
    let mut x = tensor(&context, &[2], &[1.0, 2.0]);
    let mut view = x.reshape(&[2, 1])?;
    let one = tensor(&context, &[1], &[1.0]);
    let (invalid, message) = (Status::InvalidArgument, "tensor: another tensor shares its memory");
    fails(x.add_in_place(&one, 1.0), invalid, message);
    fails(x.scale_in_place(2.0, 0.0), invalid, message);
    fails(x.from_host(&[0.0_f32; 2]), invalid, message);
    fails(tensor(&context, &[2, 1], &[0.0; 2]).copy(&mut view), invalid, message);
    fails(Tensor::all_reduce(std::slice::from_mut(&mut view)), invalid, message);
    drop(x);
    view.add_in_place(&one, 1.0)?;
    assert_eq!(view.to_vec::<f32>()?, [2.0, 3.0]);
    let another = view.reshape(&[2])?;
    fails(view.to_dlpack(), invalid, message);
    is(Ok(another), &[2], &[2.0, 3.0]);
    Ok(())
}

#[test]
fn along_axes() -> Result<()> {
    let context = context();
    let x = tensor(&context, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(x.sum(None, false), &[], &[21.0]);
    is(x.sum(Some(&[0]), false), &[3], &[5.0, 7.0, 9.0]);
    is(x.sum(Some(&[-1]), true), &[2, 1], &[6.0, 15.0]);
    is(x.sum(Some(&[]), false), &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(x.mean(Some(&[1, 0]), true), &[1, 1], &[3.5]);
    is(x.mean(None, false), &[], &[3.5]);
    is(tensor(&context, &[2], &[3.0, -4.0]).norm(), &[], &[5.0]);
    let logits = tensor(&context, &[2, 2], &[0.0, 3.0_f32.ln(), 1.0, 1.0]);
    is(logits.softmax(1), &[2, 2], &[0.25, 0.75, 0.5, 0.5]);
    let places = logits.argmax(-1)?;
    assert_eq!(places.to_vec::<i64>()?, [1, 0]);
    is(logits.cross_entropy(&places), &[2], &[(4.0_f32 / 3.0).ln(), 2.0_f32.ln()]);
    fails(logits.cross_entropy(&x), Status::Unsupported, "labels");
    let more = Tensor::new(&context, CPU, &[3], &[0_i64; 3])?;
    fails(logits.cross_entropy(&more), Status::InvalidArgument, "labels");
    Ok(())
}

#[test]
fn text() -> Result<()> {
    let context = context();
    let x = tensor(&context, &[2, 2], &[1.5, -2.0, 3.0, 4.0]);
    let text = x.to_text()?;
    assert_eq!(text, x.to_string());
    assert!(text.contains("f32") && text.contains("cpu:0") && text.contains("-2"), "{text}");
    assert!(format!("{x:>200}").ends_with(&text));
    let large = Tensor::zeros(&context, CPU, Dtype::F32, &[100, 100])?.to_text()?;
    assert!(large.len() < 1000 && large.contains("..."), "{large}");
    Ok(())
}

#[test]
fn synchronize() -> Result<()> {
    let context = context();
    CPU.synchronize(&context)?;
    fails(Device::cuda(99).synchronize(&context), Status::DeviceUnavailable, "cuda:99");
    Ok(())
}

/// Results need neither their operands nor the context.
#[test]
fn a_result_lives_alone() -> Result<()> {
    let sum = {
        let context = context();
        let x = tensor(&context, &[2], &[1.0, 2.0]);
        x.add(&x)?.reshape(&[1, 2])?
    };
    is(sum.exp()?.log(), &[1, 2], &[2.0, 4.0]);
    Ok(())
}

#[test]
fn threads_share_tensors() -> Result<()> {
    let context = context();
    let x = tensor(&context, &[2], &[1.0, 2.0]);
    std::thread::scope(|scope| {
        let add = |_| scope.spawn(|| (0..50).for_each(|_| is(x.add(&x), &[2], &[2.0, 4.0])));
        let threads: Vec<_> = (0..4).map(add).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    Ok(())
}
