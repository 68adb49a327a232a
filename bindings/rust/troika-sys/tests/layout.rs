// Written by bindings/generate.py from the C headers; do not edit.
//! Sizes and offsets as the C compiler has them.

#![cfg(target_pointer_width = "64")]

use std::mem::{size_of, MaybeUninit};
use std::ptr::addr_of;
use troika_sys::*;

macro_rules! offset {
    ($kind:ty, $field:ident) => {{
        let value = MaybeUninit::<$kind>::uninit();
        let start = value.as_ptr();
        // Safety: no memory is read; only an address is computed.
        unsafe { addr_of!((*start).$field) as usize - start as usize }
    }};
}

#[test]
fn layout_of_troika_arrays() {
    assert_eq!(size_of::<troika_arrays>(), 104);
    assert_eq!(offset!(troika_arrays, struct_size), 0);
    assert_eq!(offset!(troika_arrays, dtype), 4);
    assert_eq!(offset!(troika_arrays, inputs), 8);
    assert_eq!(offset!(troika_arrays, dims), 16);
    assert_eq!(offset!(troika_arrays, rank), 24);
    assert_eq!(offset!(troika_arrays, tokens), 28);
    assert_eq!(offset!(troika_arrays, n), 32);
    assert_eq!(offset!(troika_arrays, targets), 40);
    assert_eq!(offset!(troika_arrays, target_dtype), 48);
    assert_eq!(offset!(troika_arrays, borrow), 52);
    assert_eq!(offset!(troika_arrays, target_size), 56);
    assert_eq!(offset!(troika_arrays, mean), 64);
    assert_eq!(offset!(troika_arrays, std), 72);
    assert_eq!(offset!(troika_arrays, ignore_index), 80);
    assert_eq!(offset!(troika_arrays, destroy), 88);
    assert_eq!(offset!(troika_arrays, user), 96);
}

#[test]
fn layout_of_troika_batch_info() {
    assert_eq!(size_of::<troika_batch_info>(), 136);
    assert_eq!(offset!(troika_batch_info, struct_size), 0);
    assert_eq!(offset!(troika_batch_info, rank), 4);
    assert_eq!(offset!(troika_batch_info, n), 8);
    assert_eq!(offset!(troika_batch_info, dims), 16);
    assert_eq!(offset!(troika_batch_info, inputs), 80);
    assert_eq!(offset!(troika_batch_info, labels), 88);
    assert_eq!(offset!(troika_batch_info, values), 96);
    assert_eq!(offset!(troika_batch_info, value_size), 104);
    assert_eq!(offset!(troika_batch_info, tokens), 112);
    assert_eq!(offset!(troika_batch_info, label_size), 120);
    assert_eq!(offset!(troika_batch_info, weights), 128);
}

#[test]
fn layout_of_troika_context_options() {
    assert_eq!(size_of::<troika_context_options>(), 88);
    assert_eq!(offset!(troika_context_options, struct_size), 0);
    assert_eq!(offset!(troika_context_options, cpu_threads), 4);
    assert_eq!(offset!(troika_context_options, seed), 8);
    assert_eq!(offset!(troika_context_options, log), 16);
    assert_eq!(offset!(troika_context_options, log_user), 24);
    assert_eq!(offset!(troika_context_options, log_level), 32);
    assert_eq!(offset!(troika_context_options, use_environment), 36);
    assert_eq!(offset!(troika_context_options, log_user_destroy), 40);
    assert_eq!(offset!(troika_context_options, backends), 48);
    assert_eq!(offset!(troika_context_options, log_topics), 56);
    assert_eq!(offset!(troika_context_options, backend_folder), 64);
    assert_eq!(offset!(troika_context_options, cache_folder), 72);
    assert_eq!(offset!(troika_context_options, predict_threads), 80);
    assert_eq!(offset!(troika_context_options, reserved), 84);
}

#[test]
fn layout_of_troika_conv1d_options() {
    assert_eq!(size_of::<troika_conv1d_options>(), 56);
    assert_eq!(offset!(troika_conv1d_options, struct_size), 0);
    assert_eq!(offset!(troika_conv1d_options, no_bias), 4);
    assert_eq!(offset!(troika_conv1d_options, out_channels), 8);
    assert_eq!(offset!(troika_conv1d_options, kernel), 16);
    assert_eq!(offset!(troika_conv1d_options, stride), 24);
    assert_eq!(offset!(troika_conv1d_options, padding), 32);
    assert_eq!(offset!(troika_conv1d_options, dilation), 40);
    assert_eq!(offset!(troika_conv1d_options, groups), 48);
}

#[test]
fn layout_of_troika_conv2d_options() {
    assert_eq!(size_of::<troika_conv2d_options>(), 104);
    assert_eq!(offset!(troika_conv2d_options, struct_size), 0);
    assert_eq!(offset!(troika_conv2d_options, no_bias), 4);
    assert_eq!(offset!(troika_conv2d_options, out_channels), 8);
    assert_eq!(offset!(troika_conv2d_options, kernel), 16);
    assert_eq!(offset!(troika_conv2d_options, stride), 32);
    assert_eq!(offset!(troika_conv2d_options, padding), 48);
    assert_eq!(offset!(troika_conv2d_options, dilation), 64);
    assert_eq!(offset!(troika_conv2d_options, groups), 80);
    assert_eq!(offset!(troika_conv2d_options, output_padding), 88);
}

#[test]
fn layout_of_troika_dataset_info() {
    assert_eq!(size_of::<troika_dataset_info>(), 112);
    assert_eq!(offset!(troika_dataset_info, struct_size), 0);
    assert_eq!(offset!(troika_dataset_info, rank), 4);
    assert_eq!(offset!(troika_dataset_info, n), 8);
    assert_eq!(offset!(troika_dataset_info, dims), 16);
    assert_eq!(offset!(troika_dataset_info, classes), 80);
    assert_eq!(offset!(troika_dataset_info, label_size), 88);
    assert_eq!(offset!(troika_dataset_info, words), 96);
    assert_eq!(offset!(troika_dataset_info, dtype), 104);
    assert_eq!(offset!(troika_dataset_info, reserved), 108);
}

#[test]
fn layout_of_troika_dataset_options() {
    assert_eq!(size_of::<troika_dataset_options>(), 40);
    assert_eq!(offset!(troika_dataset_options, struct_size), 0);
    assert_eq!(offset!(troika_dataset_options, reserved), 4);
    assert_eq!(offset!(troika_dataset_options, resize_height), 8);
    assert_eq!(offset!(troika_dataset_options, resize_width), 16);
    assert_eq!(offset!(troika_dataset_options, mean), 24);
    assert_eq!(offset!(troika_dataset_options, std), 32);
}

#[test]
fn layout_of_troika_device() {
    assert_eq!(size_of::<troika_device>(), 8);
    assert_eq!(offset!(troika_device, kind), 0);
    assert_eq!(offset!(troika_device, index), 4);
}

#[test]
fn layout_of_troika_device_info() {
    assert_eq!(size_of::<troika_device_info>(), 280);
    assert_eq!(offset!(troika_device_info, struct_size), 0);
    assert_eq!(offset!(troika_device_info, cores), 4);
    assert_eq!(offset!(troika_device_info, memory_bytes), 8);
    assert_eq!(offset!(troika_device_info, free_bytes), 16);
    assert_eq!(offset!(troika_device_info, name), 24);
}

#[test]
fn layout_of_troika_error() {
    assert_eq!(size_of::<troika_error>(), 1024);
    assert_eq!(offset!(troika_error, status), 0);
    assert_eq!(offset!(troika_error, message), 4);
}

#[test]
fn layout_of_troika_forward_options() {
    assert_eq!(size_of::<troika_forward_options>(), 24);
    assert_eq!(offset!(troika_forward_options, struct_size), 0);
    assert_eq!(offset!(troika_forward_options, input_gradient), 4);
    assert_eq!(offset!(troika_forward_options, own_loss), 8);
    assert_eq!(offset!(troika_forward_options, reserved), 12);
    assert_eq!(offset!(troika_forward_options, weight), 16);
}

#[test]
fn layout_of_troika_group_info() {
    assert_eq!(size_of::<troika_group_info>(), 32);
    assert_eq!(offset!(troika_group_info, struct_size), 0);
    assert_eq!(offset!(troika_group_info, rank), 4);
    assert_eq!(offset!(troika_group_info, processes), 8);
    assert_eq!(offset!(troika_group_info, local_rank), 12);
    assert_eq!(offset!(troika_group_info, local_processes), 16);
    assert_eq!(offset!(troika_group_info, node), 20);
    assert_eq!(offset!(troika_group_info, nodes), 24);
    assert_eq!(offset!(troika_group_info, reserved), 28);
}

#[test]
fn layout_of_troika_group_options() {
    assert_eq!(size_of::<troika_group_options>(), 56);
    assert_eq!(offset!(troika_group_options, struct_size), 0);
    assert_eq!(offset!(troika_group_options, rank), 4);
    assert_eq!(offset!(troika_group_options, processes), 8);
    assert_eq!(offset!(troika_group_options, node), 12);
    assert_eq!(offset!(troika_group_options, rendezvous), 16);
    assert_eq!(offset!(troika_group_options, network), 24);
    assert_eq!(offset!(troika_group_options, transport), 32);
    assert_eq!(offset!(troika_group_options, secret), 40);
    assert_eq!(offset!(troika_group_options, connect_timeout_ms), 48);
    assert_eq!(offset!(troika_group_options, deadline_ms), 52);
}

#[test]
fn layout_of_troika_layer_info() {
    assert_eq!(size_of::<troika_layer_info>(), 488);
    assert_eq!(offset!(troika_layer_info, struct_size), 0);
    assert_eq!(offset!(troika_layer_info, input_count), 4);
    assert_eq!(offset!(troika_layer_info, inputs), 8);
    assert_eq!(offset!(troika_layer_info, output), 72);
    assert_eq!(offset!(troika_layer_info, parameters), 80);
    assert_eq!(offset!(troika_layer_info, operations), 88);
    assert_eq!(offset!(troika_layer_info, dtype), 96);
    assert_eq!(offset!(troika_layer_info, rank), 100);
    assert_eq!(offset!(troika_layer_info, dims), 104);
    assert_eq!(offset!(troika_layer_info, kind), 168);
    assert_eq!(offset!(troika_layer_info, name), 232);
}

#[test]
fn layout_of_troika_load_options() {
    assert_eq!(size_of::<troika_load_options>(), 40);
    assert_eq!(offset!(troika_load_options, struct_size), 0);
    assert_eq!(offset!(troika_load_options, allow_partial), 4);
    assert_eq!(offset!(troika_load_options, strip_prefix), 8);
    assert_eq!(offset!(troika_load_options, skip_mismatching), 16);
    assert_eq!(offset!(troika_load_options, reserved), 20);
    assert_eq!(offset!(troika_load_options, skip), 24);
    assert_eq!(offset!(troika_load_options, name_map), 32);
}

#[test]
fn layout_of_troika_load_report() {
    assert_eq!(size_of::<troika_load_report>(), 4120);
    assert_eq!(offset!(troika_load_report, struct_size), 0);
    assert_eq!(offset!(troika_load_report, loaded), 4);
    assert_eq!(offset!(troika_load_report, missing), 8);
    assert_eq!(offset!(troika_load_report, unexpected), 12);
    assert_eq!(offset!(troika_load_report, mismatching), 16);
    assert_eq!(offset!(troika_load_report, kept), 20);
    assert_eq!(offset!(troika_load_report, names), 24);
}

#[test]
fn layout_of_troika_loader_options() {
    assert_eq!(size_of::<troika_loader_options>(), 64);
    assert_eq!(offset!(troika_loader_options, struct_size), 0);
    assert_eq!(offset!(troika_loader_options, shuffle), 4);
    assert_eq!(offset!(troika_loader_options, batch), 8);
    assert_eq!(offset!(troika_loader_options, drop_last), 16);
    assert_eq!(offset!(troika_loader_options, prefetch), 20);
    assert_eq!(offset!(troika_loader_options, seed), 24);
    assert_eq!(offset!(troika_loader_options, weights), 32);
    assert_eq!(offset!(troika_loader_options, epoch_samples), 40);
    assert_eq!(offset!(troika_loader_options, group), 48);
    assert_eq!(offset!(troika_loader_options, flip), 56);
    assert_eq!(offset!(troika_loader_options, crop), 60);
}

#[test]
fn layout_of_troika_loader_position() {
    assert_eq!(size_of::<troika_loader_position>(), 32);
    assert_eq!(offset!(troika_loader_position, struct_size), 0);
    assert_eq!(offset!(troika_loader_position, reserved), 4);
    assert_eq!(offset!(troika_loader_position, epoch), 8);
    assert_eq!(offset!(troika_loader_position, batch), 16);
    assert_eq!(offset!(troika_loader_position, batches), 24);
}

#[test]
fn layout_of_troika_memory_info() {
    assert_eq!(size_of::<troika_memory_info>(), 48);
    assert_eq!(offset!(troika_memory_info, struct_size), 0);
    assert_eq!(offset!(troika_memory_info, plans), 4);
    assert_eq!(offset!(troika_memory_info, arena_bytes), 8);
    assert_eq!(offset!(troika_memory_info, parameter_bytes), 16);
    assert_eq!(offset!(troika_memory_info, gradient_bytes), 24);
    assert_eq!(offset!(troika_memory_info, optimizer_bytes), 32);
    assert_eq!(offset!(troika_memory_info, sample_bytes), 40);
}

#[test]
fn layout_of_troika_mesh() {
    assert_eq!(size_of::<troika_mesh>(), 16);
    assert_eq!(offset!(troika_mesh, data), 0);
    assert_eq!(offset!(troika_mesh, layer), 4);
    assert_eq!(offset!(troika_mesh, channel), 8);
    assert_eq!(offset!(troika_mesh, reserved), 12);
}

#[test]
fn layout_of_troika_metrics() {
    assert_eq!(size_of::<troika_metrics>(), 64);
    assert_eq!(offset!(troika_metrics, struct_size), 0);
    assert_eq!(offset!(troika_metrics, reserved), 4);
    assert_eq!(offset!(troika_metrics, loss), 8);
    assert_eq!(offset!(troika_metrics, accuracy), 16);
    assert_eq!(offset!(troika_metrics, samples), 24);
    assert_eq!(offset!(troika_metrics, correct), 32);
    assert_eq!(offset!(troika_metrics, seconds), 40);
    assert_eq!(offset!(troika_metrics, labels), 48);
    assert_eq!(offset!(troika_metrics, skipped_steps), 56);
}

#[test]
fn layout_of_troika_model_info() {
    assert_eq!(size_of::<troika_model_info>(), 432);
    assert_eq!(offset!(troika_model_info, struct_size), 0);
    assert_eq!(offset!(troika_model_info, is_complete), 4);
    assert_eq!(offset!(troika_model_info, layers), 8);
    assert_eq!(offset!(troika_model_info, entries), 12);
    assert_eq!(offset!(troika_model_info, parameters), 16);
    assert_eq!(offset!(troika_model_info, operations), 24);
    assert_eq!(offset!(troika_model_info, input_dtype), 32);
    assert_eq!(offset!(troika_model_info, input_rank), 36);
    assert_eq!(offset!(troika_model_info, input_dims), 40);
    assert_eq!(offset!(troika_model_info, output_dtype), 104);
    assert_eq!(offset!(troika_model_info, output_rank), 108);
    assert_eq!(offset!(troika_model_info, output_dims), 112);
    assert_eq!(offset!(troika_model_info, name), 176);
}

#[test]
fn layout_of_troika_model_options() {
    assert_eq!(size_of::<troika_model_options>(), 56);
    assert_eq!(offset!(troika_model_options, struct_size), 0);
    assert_eq!(offset!(troika_model_options, reserved), 4);
    assert_eq!(offset!(troika_model_options, classes), 8);
    assert_eq!(offset!(troika_model_options, input_channels), 16);
    assert_eq!(offset!(troika_model_options, input_height), 24);
    assert_eq!(offset!(troika_model_options, input_width), 32);
    assert_eq!(offset!(troika_model_options, hidden), 40);
    assert_eq!(offset!(troika_model_options, steps), 48);
}

#[test]
fn layout_of_troika_parameter_group() {
    assert_eq!(size_of::<troika_parameter_group>(), 80);
    assert_eq!(offset!(troika_parameter_group, struct_size), 0);
    assert_eq!(offset!(troika_parameter_group, frozen), 4);
    assert_eq!(offset!(troika_parameter_group, pattern), 8);
    assert_eq!(offset!(troika_parameter_group, learning_rate), 16);
    assert_eq!(offset!(troika_parameter_group, weight_decay), 24);
    assert_eq!(offset!(troika_parameter_group, momentum), 32);
    assert_eq!(offset!(troika_parameter_group, beta1), 40);
    assert_eq!(offset!(troika_parameter_group, beta2), 48);
    assert_eq!(offset!(troika_parameter_group, eps), 56);
    assert_eq!(offset!(troika_parameter_group, alpha), 64);
    assert_eq!(offset!(troika_parameter_group, trust), 72);
}

#[test]
fn layout_of_troika_parameter_info() {
    assert_eq!(size_of::<troika_parameter_info>(), 344);
    assert_eq!(offset!(troika_parameter_info, struct_size), 0);
    assert_eq!(offset!(troika_parameter_info, dtype), 4);
    assert_eq!(offset!(troika_parameter_info, rank), 8);
    assert_eq!(offset!(troika_parameter_info, is_buffer), 12);
    assert_eq!(offset!(troika_parameter_info, is_initialized), 16);
    assert_eq!(offset!(troika_parameter_info, reserved), 20);
    assert_eq!(offset!(troika_parameter_info, dims), 24);
    assert_eq!(offset!(troika_parameter_info, name), 88);
}

#[test]
fn layout_of_troika_trainer_options() {
    assert_eq!(size_of::<troika_trainer_options>(), 432);
    assert_eq!(offset!(troika_trainer_options, struct_size), 0);
    assert_eq!(offset!(troika_trainer_options, loss), 4);
    assert_eq!(offset!(troika_trainer_options, reduction), 8);
    assert_eq!(offset!(troika_trainer_options, precision), 12);
    assert_eq!(offset!(troika_trainer_options, learning_rate), 16);
    assert_eq!(offset!(troika_trainer_options, momentum), 24);
    assert_eq!(offset!(troika_trainer_options, weight_decay), 32);
    assert_eq!(offset!(troika_trainer_options, nesterov), 40);
    assert_eq!(offset!(troika_trainer_options, schedule), 44);
    assert_eq!(offset!(troika_trainer_options, schedule_period), 48);
    assert_eq!(offset!(troika_trainer_options, schedule_gamma), 56);
    assert_eq!(offset!(troika_trainer_options, schedule_min), 64);
    assert_eq!(offset!(troika_trainer_options, warmup_steps), 72);
    assert_eq!(offset!(troika_trainer_options, bucket_bytes), 80);
    assert_eq!(offset!(troika_trainer_options, seed), 88);
    assert_eq!(offset!(troika_trainer_options, groups), 96);
    assert_eq!(offset!(troika_trainer_options, group_count), 104);
    assert_eq!(offset!(troika_trainer_options, deadline_ms), 108);
    assert_eq!(offset!(troika_trainer_options, collect_trace), 112);
    assert_eq!(offset!(troika_trainer_options, no_fusion), 116);
    assert_eq!(offset!(troika_trainer_options, loss_scale), 120);
    assert_eq!(offset!(troika_trainer_options, loss_scale_interval), 128);
    assert_eq!(offset!(troika_trainer_options, micro_batches), 136);
    assert_eq!(offset!(troika_trainer_options, logical_shards), 140);
    assert_eq!(offset!(troika_trainer_options, mesh), 144);
    assert_eq!(offset!(troika_trainer_options, layer_schedule), 160);
    assert_eq!(offset!(troika_trainer_options, layer_chunks), 164);
    assert_eq!(offset!(troika_trainer_options, layer_cuts), 168);
    assert_eq!(offset!(troika_trainer_options, recompute_segments), 176);
    assert_eq!(offset!(troika_trainer_options, sync_batch_norm), 180);
    assert_eq!(offset!(troika_trainer_options, recompute_layers), 184);
    assert_eq!(offset!(troika_trainer_options, activation_budget_bytes), 192);
    assert_eq!(offset!(troika_trainer_options, max_gradient_norm), 200);
    assert_eq!(offset!(troika_trainer_options, shard_optimizer), 208);
    assert_eq!(offset!(troika_trainer_options, gradient_compression), 212);
    assert_eq!(offset!(troika_trainer_options, samples_on_host), 216);
    assert_eq!(offset!(troika_trainer_options, launches_in_turn), 220);
    assert_eq!(offset!(troika_trainer_options, optimizer), 224);
    assert_eq!(offset!(troika_trainer_options, skip_decay_one_axis), 228);
    assert_eq!(offset!(troika_trainer_options, beta1), 232);
    assert_eq!(offset!(troika_trainer_options, beta2), 240);
    assert_eq!(offset!(troika_trainer_options, eps), 248);
    assert_eq!(offset!(troika_trainer_options, alpha), 256);
    assert_eq!(offset!(troika_trainer_options, trust), 264);
    assert_eq!(offset!(troika_trainer_options, average_decay), 272);
    assert_eq!(offset!(troika_trainer_options, evaluate_parameters), 280);
    assert_eq!(offset!(troika_trainer_options, schedule_maximize), 284);
    assert_eq!(offset!(troika_trainer_options, schedule_power), 288);
    assert_eq!(offset!(troika_trainer_options, schedule_rise), 296);
    assert_eq!(offset!(troika_trainer_options, schedule_divisor), 304);
    assert_eq!(offset!(troika_trainer_options, schedule_final_divisor), 312);
    assert_eq!(offset!(troika_trainer_options, schedule_threshold), 320);
    assert_eq!(offset!(troika_trainer_options, schedule_patience), 328);
    assert_eq!(offset!(troika_trainer_options, schedule_milestones), 336);
    assert_eq!(offset!(troika_trainer_options, schedule_table), 344);
    assert_eq!(offset!(troika_trainer_options, schedule_milestone_count), 352);
    assert_eq!(offset!(troika_trainer_options, schedule_table_count), 356);
    assert_eq!(offset!(troika_trainer_options, label_smoothing), 360);
    assert_eq!(offset!(troika_trainer_options, ignore_index), 368);
    assert_eq!(offset!(troika_trainer_options, skip_not_finite), 376);
    assert_eq!(offset!(troika_trainer_options, late_updates), 380);
    assert_eq!(offset!(troika_trainer_options, group), 384);
    assert_eq!(offset!(troika_trainer_options, huber_delta), 392);
    assert_eq!(offset!(troika_trainer_options, class_weights), 400);
    assert_eq!(offset!(troika_trainer_options, class_weight_count), 408);
    assert_eq!(offset!(troika_trainer_options, sample_weights), 412);
    assert_eq!(offset!(troika_trainer_options, shares), 416);
    assert_eq!(offset!(troika_trainer_options, share_count), 424);
    assert_eq!(offset!(troika_trainer_options, reserved2), 428);
}

#[test]
fn layout_of_troika_plan_options() {
    assert_eq!(size_of::<troika_plan_options>(), 160);
    assert_eq!(offset!(troika_plan_options, struct_size), 0);
    assert_eq!(offset!(troika_plan_options, devices), 4);
    assert_eq!(offset!(troika_plan_options, batch), 8);
    assert_eq!(offset!(troika_plan_options, loss), 16);
    assert_eq!(offset!(troika_plan_options, precision), 20);
    assert_eq!(offset!(troika_plan_options, momentum), 24);
    assert_eq!(offset!(troika_plan_options, micro_batches), 32);
    assert_eq!(offset!(troika_plan_options, layer_schedule), 36);
    assert_eq!(offset!(troika_plan_options, layer_chunks), 40);
    assert_eq!(offset!(troika_plan_options, device_kind), 44);
    assert_eq!(offset!(troika_plan_options, memory_bytes), 48);
    assert_eq!(offset!(troika_plan_options, operations_per_second), 56);
    assert_eq!(offset!(troika_plan_options, memory_bandwidth), 64);
    assert_eq!(offset!(troika_plan_options, link_bandwidth), 72);
    assert_eq!(offset!(troika_plan_options, link_latency), 80);
    assert_eq!(offset!(troika_plan_options, logical_shards), 88);
    assert_eq!(offset!(troika_plan_options, recompute_segments), 92);
    assert_eq!(offset!(troika_plan_options, shard_optimizer), 96);
    assert_eq!(offset!(troika_plan_options, gradient_compression), 100);
    assert_eq!(offset!(troika_plan_options, recompute_layers), 104);
    assert_eq!(offset!(troika_plan_options, activation_budget_bytes), 112);
    assert_eq!(offset!(troika_plan_options, max_gradient_norm), 120);
    assert_eq!(offset!(troika_plan_options, trainer), 128);
    assert_eq!(offset!(troika_plan_options, devices_per_node), 136);
    assert_eq!(offset!(troika_plan_options, reserved), 140);
    assert_eq!(offset!(troika_plan_options, node_bandwidth), 144);
    assert_eq!(offset!(troika_plan_options, node_latency), 152);
}

#[test]
fn layout_of_troika_plan_result() {
    assert_eq!(size_of::<troika_plan_result>(), 88);
    assert_eq!(offset!(troika_plan_result, struct_size), 0);
    assert_eq!(offset!(troika_plan_result, fits), 4);
    assert_eq!(offset!(troika_plan_result, mesh), 8);
    assert_eq!(offset!(troika_plan_result, parameter_bytes), 24);
    assert_eq!(offset!(troika_plan_result, gradient_bytes), 32);
    assert_eq!(offset!(troika_plan_result, optimizer_bytes), 40);
    assert_eq!(offset!(troika_plan_result, activation_bytes), 48);
    assert_eq!(offset!(troika_plan_result, total_bytes), 56);
    assert_eq!(offset!(troika_plan_result, sent_bytes), 64);
    assert_eq!(offset!(troika_plan_result, bubble), 72);
    assert_eq!(offset!(troika_plan_result, seconds), 80);
}

#[test]
fn layout_of_troika_pool2d_options() {
    assert_eq!(size_of::<troika_pool2d_options>(), 56);
    assert_eq!(offset!(troika_pool2d_options, struct_size), 0);
    assert_eq!(offset!(troika_pool2d_options, exclude_padding), 4);
    assert_eq!(offset!(troika_pool2d_options, kernel), 8);
    assert_eq!(offset!(troika_pool2d_options, stride), 24);
    assert_eq!(offset!(troika_pool2d_options, padding), 40);
}

#[test]
fn layout_of_troika_progress() {
    assert_eq!(size_of::<troika_progress>(), 128);
    assert_eq!(offset!(troika_progress, struct_size), 0);
    assert_eq!(offset!(troika_progress, reserved), 4);
    assert_eq!(offset!(troika_progress, batch), 8);
    assert_eq!(offset!(troika_progress, batches), 16);
    assert_eq!(offset!(troika_progress, epoch), 24);
    assert_eq!(offset!(troika_progress, samples), 32);
    assert_eq!(offset!(troika_progress, correct), 40);
    assert_eq!(offset!(troika_progress, loss), 48);
    assert_eq!(offset!(troika_progress, seconds), 56);
    assert_eq!(offset!(troika_progress, training), 64);
    assert_eq!(offset!(troika_progress, skipped), 68);
    assert_eq!(offset!(troika_progress, batch_loss), 72);
    assert_eq!(offset!(troika_progress, batch_samples), 80);
    assert_eq!(offset!(troika_progress, batch_correct), 88);
    assert_eq!(offset!(troika_progress, learning_rate), 96);
    assert_eq!(offset!(troika_progress, labels), 104);
    assert_eq!(offset!(troika_progress, batch_labels), 112);
    assert_eq!(offset!(troika_progress, wait_seconds), 120);
}

#[test]
fn layout_of_troika_read_request() {
    assert_eq!(size_of::<troika_read_request>(), 64);
    assert_eq!(offset!(troika_read_request, struct_size), 0);
    assert_eq!(offset!(troika_read_request, reserved), 4);
    assert_eq!(offset!(troika_read_request, n), 8);
    assert_eq!(offset!(troika_read_request, indices), 16);
    assert_eq!(offset!(troika_read_request, epoch), 24);
    assert_eq!(offset!(troika_read_request, first), 32);
    assert_eq!(offset!(troika_read_request, inputs), 40);
    assert_eq!(offset!(troika_read_request, labels), 48);
    assert_eq!(offset!(troika_read_request, values), 56);
}

#[test]
fn layout_of_troika_save_options() {
    assert_eq!(size_of::<troika_save_options>(), 16);
    assert_eq!(offset!(troika_save_options, struct_size), 0);
    assert_eq!(offset!(troika_save_options, keep), 4);
    assert_eq!(offset!(troika_save_options, in_background), 8);
    assert_eq!(offset!(troika_save_options, reserved), 12);
}

#[test]
fn layout_of_troika_scores() {
    assert_eq!(size_of::<troika_scores>(), 64);
    assert_eq!(offset!(troika_scores, struct_size), 0);
    assert_eq!(offset!(troika_scores, top), 4);
    assert_eq!(offset!(troika_scores, n), 8);
    assert_eq!(offset!(troika_scores, accuracy), 16);
    assert_eq!(offset!(troika_scores, top_accuracy), 24);
    assert_eq!(offset!(troika_scores, precision), 32);
    assert_eq!(offset!(troika_scores, recall), 40);
    assert_eq!(offset!(troika_scores, f1), 48);
    assert_eq!(offset!(troika_scores, auc), 56);
}

#[test]
fn layout_of_troika_source() {
    assert_eq!(size_of::<troika_source>(), 96);
    assert_eq!(offset!(troika_source, struct_size), 0);
    assert_eq!(offset!(troika_source, dtype), 4);
    assert_eq!(offset!(troika_source, dims), 8);
    assert_eq!(offset!(troika_source, rank), 16);
    assert_eq!(offset!(troika_source, reserved), 20);
    assert_eq!(offset!(troika_source, n), 24);
    assert_eq!(offset!(troika_source, classes), 32);
    assert_eq!(offset!(troika_source, words), 40);
    assert_eq!(offset!(troika_source, label_size), 48);
    assert_eq!(offset!(troika_source, value_size), 56);
    assert_eq!(offset!(troika_source, ignore_index), 64);
    assert_eq!(offset!(troika_source, read), 72);
    assert_eq!(offset!(troika_source, user), 80);
    assert_eq!(offset!(troika_source, user_destroy), 88);
}

#[test]
fn layout_of_troika_step_result() {
    assert_eq!(size_of::<troika_step_result>(), 80);
    assert_eq!(offset!(troika_step_result, struct_size), 0);
    assert_eq!(offset!(troika_step_result, reserved), 4);
    assert_eq!(offset!(troika_step_result, loss), 8);
    assert_eq!(offset!(troika_step_result, samples), 16);
    assert_eq!(offset!(troika_step_result, correct), 24);
    assert_eq!(offset!(troika_step_result, step), 32);
    assert_eq!(offset!(troika_step_result, learning_rate), 40);
    assert_eq!(offset!(troika_step_result, seconds), 48);
    assert_eq!(offset!(troika_step_result, loss_scale), 56);
    assert_eq!(offset!(troika_step_result, gradient_norm), 64);
    assert_eq!(offset!(troika_step_result, labels), 72);
}

#[test]
fn layout_of_troika_tensor_info() {
    assert_eq!(size_of::<troika_tensor_info>(), 96);
    assert_eq!(offset!(troika_tensor_info, struct_size), 0);
    assert_eq!(offset!(troika_tensor_info, dtype), 4);
    assert_eq!(offset!(troika_tensor_info, rank), 8);
    assert_eq!(offset!(troika_tensor_info, device), 12);
    assert_eq!(offset!(troika_tensor_info, reserved), 20);
    assert_eq!(offset!(troika_tensor_info, dims), 24);
    assert_eq!(offset!(troika_tensor_info, size_bytes), 88);
}

#[test]
fn layout_of_troika_trainer_info() {
    assert_eq!(size_of::<troika_trainer_info>(), 64);
    assert_eq!(offset!(troika_trainer_info, struct_size), 0);
    assert_eq!(offset!(troika_trainer_info, device_count), 4);
    assert_eq!(offset!(troika_trainer_info, mesh), 8);
    assert_eq!(offset!(troika_trainer_info, step), 24);
    assert_eq!(offset!(troika_trainer_info, learning_rate), 32);
    assert_eq!(offset!(troika_trainer_info, loss_scale), 40);
    assert_eq!(offset!(troika_trainer_info, trained_elements), 48);
    assert_eq!(offset!(troika_trainer_info, trained_entries), 56);
    assert_eq!(offset!(troika_trainer_info, is_usable), 60);
}

#[test]
fn layout_of_troika_value_info() {
    assert_eq!(size_of::<troika_value_info>(), 80);
    assert_eq!(offset!(troika_value_info, struct_size), 0);
    assert_eq!(offset!(troika_value_info, layer), 4);
    assert_eq!(offset!(troika_value_info, dtype), 8);
    assert_eq!(offset!(troika_value_info, rank), 12);
    assert_eq!(offset!(troika_value_info, dims), 16);
}
