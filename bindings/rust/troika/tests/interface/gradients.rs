//! Gradients of what tensors compute.

use super::*;
use troika::{Dtype, Gradients, Status, Tensor};

#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T>, part: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{error}");
    assert!(error.message().contains(part) && !error.message().contains('\n'), "{error}");
}

#[test]
fn of_a_product() -> Result<()> {
    let context = context();
    let mut a = Tensor::new(&context, CPU, &[2], &[1.0_f32, 2.0])?;
    let mut b = Tensor::new(&context, CPU, &[2], &[3.0_f32, 4.0])?;
    let gradients = Gradients::new(&context)?;
    gradients.watch([&mut a, &mut b])?;
    gradients.watch([&mut a])?; // once more changes nothing
    let sum = a.multiply(&b)?.sum(None, false)?;
    let computed = gradients.of(&sum, &[&b, &a])?;
    assert_eq!(computed[0].to_vec::<f32>()?, [1.0, 2.0]);
    assert_eq!(computed[1].to_vec::<f32>()?, [3.0, 4.0]);
    let squares = a.multiply(&a)?.sum(None, false)?;
    assert_eq!(gradients.of(&squares, &[&a])?[0].to_vec::<f32>()?, [2.0, 4.0]);
    drop((gradients, context, sum, a, b));
    assert_eq!(computed[0].add(&computed[1])?.to_vec::<f32>()?, [4.0, 6.0]);
    Ok(())
}

#[test]
fn misuse() -> Result<()> {
    let context = context();
    let mut tensors = vec![
        Tensor::new(&context, CPU, &[2], &[1.0_f32, 2.0])?,
        Tensor::new(&context, CPU, &[2], &[3.0_f32, 4.0])?,
    ];
    let gradients = Gradients::new(&context)?;
    gradients.watch(&mut tensors)?;
    fails(Gradients::new(&context)?.watch(&mut tensors), "another gradients object");
    let mut integers = Tensor::zeros(&context, CPU, Dtype::I32, &[2])?;
    fails(gradients.watch([&mut integers]), "i32");
    let number = tensors[0].sum(None, false)?;
    fails(gradients.of(&number, &[]), "tensor_count is 0");
    fails(gradients.of(&tensors[0], &[&tensors[0]]), "need one number");
    fails(gradients.of(&number, &[&tensors[1]]), "does not depend");
    fails(gradients.of(&number, &[&integers]), "tensors[0]");
    fails(Gradients::new(&context)?.of(&number, &[&tensors[0]]), "number");
    fails(tensors[0].scale_in_place(2.0, 0.0), "recorded");
    drop(gradients);
    tensors[0].scale_in_place(2.0, 0.0)?;
    assert_eq!(tensors[0].to_vec::<f32>()?, [2.0, 4.0]);
    Ok(())
}

/// y = 3 x1 - 2 x2 + 1, learnt from random points.
#[test]
fn a_linear_regression_trains() -> Result<()> {
    let context = context();
    let x = Tensor::normal(&context, CPU, Dtype::F32, &[64, 2], 0.0, 1.0, 5)?;
    let known = Tensor::new(&context, CPU, &[2, 1], &[3.0_f32, -2.0])?;
    let y = x.matmul(&known, false, false)?.scale(1.0, 1.0)?;
    let mut w = Tensor::zeros(&context, CPU, Dtype::F32, &[2, 1])?;
    let mut b = Tensor::zeros(&context, CPU, Dtype::F32, &[1])?;
    let mut losses = Vec::new();
    for _ in 0..100 {
        let gradients = Gradients::new(&context)?;
        gradients.watch([&mut w, &mut b])?;
        let difference = x.matmul(&w, false, false)?.add(&b)?.subtract(&y)?;
        let loss = difference.multiply(&difference)?.mean(None, false)?;
        let changes = gradients.of(&loss, &[&w, &b])?;
        drop(gradients);
        w.add_in_place(&changes[0], -0.1)?;
        b.add_in_place(&changes[1], -0.1)?;
        losses.extend(loss.to_vec::<f32>()?);
    }
    assert!(losses[0] > 5.0 && losses[10] < losses[0] / 10.0, "{losses:?}");
    assert!(losses[99] < 1e-6, "{losses:?}");
    let found = [w.to_vec::<f32>()?, b.to_vec::<f32>()?].concat();
    for (found, wanted) in found.iter().zip([3.0, -2.0, 1.0]) {
        assert!((found - wanted).abs() < 1e-3, "{found} {wanted}");
    }
    Ok(())
}
