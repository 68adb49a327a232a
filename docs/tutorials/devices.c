// Devices and tensors: which devices there are, tensors on them, and sums over several of them.
//
//     cc devices.c -ltroika -o devices
//     ./devices
#include <stdio.h>
#include <stdlib.h>
#include <troika/troika.h>

enum { MOST_DEVICES = 8 };

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "devices: %s\n", error.message);
  exit(1);
}

static void print_device(const char *label, troika_device device) {
  char name[16];
  check(troika_device_format(device, name, sizeof name, NULL, &error));
  printf("%s: %s\n", label, name);
}

static void print_tensor(troika_tensor tensor) {
  char text[400];
  check(troika_tensor_to_text(tensor, text, sizeof text, NULL, &error));
  puts(text);
}

static void print_devices(troika_context context) {
  int32_t cpus, gpus, found;
  check(troika_device_count(context, TROIKA_DEVICE_CPU, &cpus, &error));
  check(troika_device_count(context, TROIKA_DEVICE_CUDA, &gpus, &error));
  printf("%d CPU devices, %d GPUs\n", cpus, gpus);
  troika_device device, all[MOST_DEVICES];
  check(troika_device_try(context, 0, &device, &error));
  print_device("try_gpu(0)", device);
  check(troika_device_try(context, 10, &device, &error));
  print_device("try_gpu(10)", device);
  check(troika_devices_all(context, all, MOST_DEVICES, &found, &error));
  printf("try_all_gpus(): %d\n", found);
}

// Numbers on two devices do not meet by themselves.
static void add_on_two_devices(troika_context context, troika_device here, troika_device there) {
  const int64_t dims[] = {2, 3};
  troika_tensor x, y, z, sum;
  check(troika_tensor_full(context, here, TROIKA_DTYPE_F32, dims, 2, 1, &x, &error));
  check(troika_tensor_uniform(context, there, TROIKA_DTYPE_F32, dims, 2, 0, 1, 7, &y, &error));
  print_tensor(x);
  if (troika_tensor_add(x, y, &sum, &error) == TROIKA_OK) exit(1);
  printf("refused: %s\n", error.message);
  check(troika_tensor_to(x, there, &z, &error));
  check(troika_tensor_add(z, y, &sum, &error));
  print_tensor(sum);
  const troika_tensor made[] = {x, y, z, sum};
  for (int i = 0; i < 4; ++i) troika_tensor_destroy(made[i]);
}

static void all_reduce(troika_context context, const troika_device *devices) {
  const int64_t dims[] = {1, 2};
  troika_tensor data[2];
  for (int i = 0; i < 2; ++i)
    check(troika_tensor_full(context, devices[i], TROIKA_DTYPE_F32, dims, 2, i + 1, &data[i], &error));
  check(troika_tensor_all_reduce(data, 2, &error));
  for (int i = 0; i < 2; ++i) {
    print_tensor(data[i]);
    troika_tensor_destroy(data[i]);
  }
}

static void scatter(troika_context context, const troika_device *devices) {
  const int64_t dims[] = {4, 5};
  troika_tensor row, data, parts[2];
  check(troika_tensor_arange(context, devices[0], TROIKA_DTYPE_I32, 0, 1, 20, &row, &error));
  check(troika_tensor_reshape(row, dims, 2, &data, &error));
  check(troika_tensor_scatter(data, devices, 2, parts, &error));
  for (int i = 0; i < 2; ++i) {
    print_tensor(parts[i]);
    troika_tensor_destroy(parts[i]);
  }
  troika_tensor_destroy(data);
  troika_tensor_destroy(row);
}

int main(void) {
  troika_context context;
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  check(troika_context_create(NULL, &context, &error));
  print_devices(context);
  add_on_two_devices(context, devices[0], devices[1]);
  all_reduce(context, devices);
  scatter(context, devices);
  troika_context_destroy(context);
  return 0;
}
