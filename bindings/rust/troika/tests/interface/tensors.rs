//! Devices and tensors.

use super::*;
use troika::dlpack::{DlDataType, DlDevice};
use troika::{DeviceKind, Dtype, Status, Tensor};

#[test]
fn devices() -> Result<()> {
    let context = context();
    assert_eq!("cpu:3".parse::<Device>()?, Device::cpu(3));
    assert_eq!("cuda:0".parse::<Device>()?, Device { kind: DeviceKind::Cuda, index: 0 });
    assert_eq!(Device::cuda(2).to_string(), "cuda:2");
    assert_eq!(format!("{:>6}", CPU), " cpu:0");
    assert!(Device::count(&context, DeviceKind::Cpu)? >= 8);
    let info = CPU.describe(&context)?;
    assert!(info.cores >= 1 && info.free_bytes <= info.memory_bytes && !info.name.is_empty());
    assert_eq!(Device::try_gpu(&context, 10_000)?, CPU);
    if Device::count(&context, DeviceKind::Cuda)? == 0 {
        assert_eq!(Device::all(&context)?, [CPU]);
        let error = Device::cuda(0).describe(&context).unwrap_err();
        assert_eq!(error.status(), Status::DeviceUnavailable);
    }
    Ok(())
}

#[test]
fn a_tensor_keeps_its_elements() -> Result<()> {
    let context = context();
    let mut tensor = Tensor::new(&context, CPU, &[2, 3], &[1.5_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let info = tensor.describe()?;
    assert_eq!((info.dims, info.dtype, info.device), (vec![2, 3], Dtype::F32, CPU));
    assert_eq!(info.size_bytes, 24);
    assert_eq!(tensor.to_vec::<f32>()?, [1.5, 2.0, 3.0, 4.0, 5.0, 6.0]);
    tensor.from_host(&[7.0_f32; 6])?;
    let mut read = [0.0_f32; 6];
    tensor.to_host(&mut read)?;
    assert_eq!(read, [7.0; 6]);
    let scalar = Tensor::new(&context, CPU, &[], &[42_i64])?;
    assert_eq!(scalar.describe()?.dims, []);
    assert_eq!(scalar.to_vec::<i64>()?, [42]);
    let empty = Tensor::new(&context, CPU, &[0, 4], &[0_u8; 0])?;
    assert_eq!(empty.to_vec::<u8>()?, []);
    Ok(())
}

#[test]
fn each_element_type() -> Result<()> {
    fn round<T: troika::Element + Default + PartialEq + std::fmt::Debug>(data: &[T]) -> Result<()> {
        let tensor = Tensor::new(&context(), CPU, &[data.len() as i64], data)?;
        assert_eq!(tensor.describe()?.dtype, T::DTYPE);
        assert_eq!(tensor.to_bytes()?.len(), data.len() * T::DTYPE.size());
        assert_eq!(tensor.to_vec::<T>()?, data);
        Ok(())
    }
    round(&[1.0_f32, f32::MIN])?;
    round(&[1.0_f64, f64::MAX])?;
    round(&[i32::MIN, 5])?;
    round(&[i64::MAX, 5])?;
    round(&[0_u8, 255])
}

#[test]
fn types_without_a_rust_type_are_bytes() -> Result<()> {
    let context = context();
    let one_and_two = [0x80, 0x3f, 0x00, 0x40]; // bf16
    let tensor = Tensor::from_bytes(&context, CPU, Dtype::Bf16, &[2], &one_and_two)?;
    assert_eq!(tensor.to_bytes()?, one_and_two);
    assert_eq!(Tensor::zeros(&context, CPU, Dtype::F16, &[3])?.to_bytes()?, [0; 6]);
    assert_eq!([Dtype::I16.size(), Dtype::Bool.size(), Dtype::F8E4M3.size()], [2, 1, 1]);
    Ok(())
}

#[test]
fn copies_between_devices() -> Result<()> {
    let context = context();
    let tensor = Tensor::new(&context, CPU, &[2], &[3_i32, 4])?;
    let moved = tensor.to(Device::cpu(1))?;
    assert_eq!(moved.describe()?.device, Device::cpu(1));
    let mut other = Tensor::zeros(&context, CPU, Dtype::I32, &[2])?;
    moved.copy(&mut other)?;
    assert_eq!(other.to_vec::<i32>()?, [3, 4]);
    let mut wrong = Tensor::zeros(&context, CPU, Dtype::I32, &[3])?;
    assert_eq!(tensor.copy(&mut wrong).unwrap_err().status(), Status::InvalidArgument);
    Ok(())
}

#[test]
fn scatter_and_all_reduce() -> Result<()> {
    let tensor = Tensor::new(&context(), CPU, &[3, 1], &[1.0_f32, 2.0, 3.0])?;
    let pieces = tensor.scatter(&[CPU, Device::cpu(1)])?;
    assert_eq!(pieces[0].to_vec::<f32>()?, [1.0, 2.0]);
    assert_eq!(pieces[1].to_vec::<f32>()?, [3.0]);
    assert_eq!(pieces[1].describe()?.device, Device::cpu(1));
    assert_eq!(tensor.scatter(&[]).unwrap_err().status(), Status::InvalidArgument);
    let mut tensors = [tensor.to(CPU)?, tensor.to(Device::cpu(1))?];
    Tensor::all_reduce(&mut tensors)?;
    for tensor in &tensors {
        assert_eq!(tensor.to_vec::<f32>()?, [2.0, 4.0, 6.0]);
    }
    Ok(())
}

#[test]
fn dlpack_and_back() -> Result<()> {
    let context = context();
    let tensor = || Tensor::new(&context, CPU, &[1, 2], &[8.0_f32, 9.0]);

    let managed = tensor()?.to_dlpack()?;
    assert_eq!(managed.dims(), [1, 2]);
    assert_eq!(managed.dtype(), DlDataType { code: 2, bits: 32, lanes: 1 });
    assert_eq!(managed.device(), DlDevice { device_type: 1, device_id: 0 });
    assert!(!managed.as_ptr().is_null());
    assert_eq!(Tensor::from_dlpack(&context, managed)?.to_vec::<f32>()?, [8.0, 9.0]);

    let managed = tensor()?.to_dlpack_versioned()?;
    assert_eq!(managed.dims(), [1, 2]);
    // Another thread may take and free it.
    let managed = std::thread::spawn(move || managed).join().unwrap();
    assert_eq!(Tensor::from_dlpack_versioned(&context, managed)?.to_vec::<f32>()?, [8.0, 9.0]);
    drop(tensor()?.to_dlpack()?);
    Ok(())
}
