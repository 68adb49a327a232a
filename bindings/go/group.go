package troika

/*
#include <troika/troika.h>
*/
import "C"

// A Group is the processes of a job, which train together. Trainers keep it alive.
//
// Except Describe, its calls are collective: all processes make them, in the same order. If a
// process does not come before the deadline, the call returns ErrComm on all of them, and the group
// cannot be used any more. One goroutine per group at a time.
type Group struct {
	object[C.troika_group]
}

// NewGroup joins a group, and returns when all processes have joined. nil options are the defaults:
// a launcher's variables, or one process. Errors: ErrInvalidArgument, ErrComm, ErrIO,
// ErrUnsupported, ErrOutOfMemory. Any goroutine.
func NewGroup(context *Context, options *GroupOptions) (*Group, error) {
	var out C.troika_group
	err := do(func(c *call) C.troika_status {
		return C.troika_group_create(context.handle, options.toC(c), &out, &c.error)
	}, context)
	if err != nil {
		return nil, err
	}
	group := new(Group)
	group.init(out, "group", func(h C.troika_group) { C.troika_group_destroy(h) }, context.shared)
	return closeWhenCollected(group), nil
}

// Close leaves the group. Other processes notice when they wait for this one.
func (g *Group) Close() error { return closeUnlessNil(g) }

// Describe returns the place of this process. Any goroutine.
func (g *Group) Describe() (GroupInfo, error) {
	info := defaultGroupInfo
	err := do(func(c *call) C.troika_status { return C.troika_group_describe(g.handle, &info, &c.error) }, g)
	return groupInfoOf(&info), err
}

// Barrier returns when all processes have called it. Errors: ErrComm.
func (g *Group) Barrier() error {
	return do(func(c *call) C.troika_status { return C.troika_group_barrier(g.handle, &c.error) }, g)
}

// AllReduce replaces the elements of a tensor by their sums over all processes, which have the same
// bits in each. Errors: ErrInvalidArgument, ErrUnsupported (the type), ErrMismatch (names the rank
// and what differs), ErrComm, ErrOutOfMemory, ErrBusy. Writes the tensor.
func (g *Group) AllReduce(tensor *Tensor) error {
	return do(func(c *call) C.troika_status { return C.troika_group_all_reduce(g.handle, tensor.handle, &c.error) }, g, tensor)
}

// Broadcast replaces the elements of a tensor by those of process root. Errors: those of AllReduce.
// Writes the tensor.
func (g *Group) Broadcast(tensor *Tensor, root int32) error {
	return do(func(c *call) C.troika_status {
		return C.troika_group_broadcast(g.handle, tensor.handle, C.int32_t(root), &c.error)
	}, g, tensor)
}

// AllGather returns a tensor with those of all processes, one after another along axis 0. Errors:
// those of AllReduce. Reads the tensor.
func (g *Group) AllGather(tensor *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_group_all_gather(g.handle, tensor.handle, out, &c.error)
	}, g, tensor)
}

// ReduceScatter returns a tensor with this process's rows of the sum over all processes. Errors:
// those of AllReduce. Reads the tensor.
func (g *Group) ReduceScatter(tensor *Tensor) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_group_reduce_scatter(g.handle, tensor.handle, out, &c.error)
	}, g, tensor)
}

// Send sends the elements of a tensor to process to, which calls Receive. It returns when the
// tensor may change. Errors: those of AllReduce. Reads the tensor.
func (g *Group) Send(tensor *Tensor, to int32) error {
	return do(func(c *call) C.troika_status {
		return C.troika_group_send(g.handle, tensor.handle, C.int32_t(to), &c.error)
	}, g, tensor)
}

// Receive replaces the elements of a tensor by those that process from sends. Errors: those of
// AllReduce. Writes the tensor.
func (g *Group) Receive(tensor *Tensor, from int32) error {
	return do(func(c *call) C.troika_status {
		return C.troika_group_receive(g.handle, tensor.handle, C.int32_t(from), &c.error)
	}, g, tensor)
}
