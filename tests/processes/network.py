"""Machines of a test: network namespaces, and a relay between them that is slow, loses packets, or is cut.

A namespace has one interface, "net0", a TUN device whose other end the relay reads. So the packets are those of real
sockets, and no module of the kernel is needed to delay or lose them.
"""
import collections
import fcntl
import json
import os
import pathlib
import random
import select
import shutil
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import Skipped  # pylint: disable=wrong-import-position

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 16000  # few packets: the relay is written in Python
HEADER = 20  # of IPv4


class Link:
    """The way into a namespace: a queue with a rate, a delay and a loss."""

    def __init__(self):
        self.queue = collections.deque()  # (time of arrival, packet)
        self.free_at = 0.0  # when the wire has sent all packets
        self.packets = self.bytes = 0  # that have arrived


def ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


class Machines:
    """Network namespaces with the addresses 10.77.0.1, 10.77.0.2 ... of their interfaces."""

    def __init__(self, count):
        self.names = [f"troika{os.getpid()}-{i}" for i in range(count)]

    def address(self, machine):
        return f"10.77.0.{machine + 1}"

    def command(self, machine, *command):
        return ["ip", "netns", "exec", self.names[machine], *map(str, command)]

    def bring_up(self, machine, *options):
        """The interface is there. `options` are of `ip link set`."""
        name = self.names[machine]
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "net0", *options, "up")
        ip("-n", name, "address", "add", f"{self.address(machine)}/24", "dev", "net0")

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           check=False)


class SlowCable(Machines):
    """Two machines, connected by the kernel at a rate: no process relays. Use it in a `with` statement."""

    def __init__(self, bits_per_s):
        super().__init__(2)
        self.bits_per_s = bits_per_s

    def bytes_sent(self):
        """By both machines, with the headers of packets. The kernel cuts data into packets on their way, so that the
        counts of the devices lack most headers."""
        queues = [subprocess.run(["tc", "-n", name, "-s", "-j", "qdisc", "show", "dev", "net0"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout for name in self.names]
        return sum(json.loads(queue)[0]["bytes"] for queue in queues)

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise Skipped("network namespaces need root and iproute2")
        try:
            for name in self.names:
                ip("netns", "add", name)
            first, second = self.names
            ip("link", "add", "net0", "netns", first, "type", "veth", "peer", "name", "net0", "netns", second)
            for machine, name in enumerate(self.names):
                self.bring_up(machine)
                subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "net0", "root", "tbf", "rate",
                                f"{self.bits_per_s:.0f}bit", "burst", "128kb", "latency", "400ms"], check=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except (OSError, subprocess.CalledProcessError) as reason:
            self.remove()
            raise Skipped(f"this machine cannot slow down a cable: {reason}") from reason
        return self

    def __exit__(self, *_):
        self.remove()


class Network(Machines):
    """Machines whose packets a relay passes on. Use it in a `with` statement."""

    def __init__(self, machines, delay_s=0.0, loss=0.0, bits_per_s=None):
        super().__init__(machines)
        self.delay_s, self.loss, self.bits_per_s = delay_s, loss, bits_per_s
        self.is_cut = False
        self.links = [Link() for _ in range(machines)]
        self.devices = []
        self.ends = False
        self.random = random.Random(1)
        self.thread = threading.Thread(target=self.relay)

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip") or not os.path.exists("/dev/net/tun"):
            raise Skipped("network namespaces need root, iproute2 and /dev/net/tun")
        try:
            for machine, name in enumerate(self.names):
                self.add(machine, name)
        except (OSError, subprocess.CalledProcessError) as reason:
            self.remove()
            raise Skipped(f"this machine forbids network namespaces: {reason}") from reason
        self.thread.start()
        return self

    def add(self, machine, name):
        ip("netns", "add", name)
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self.devices.append(device)
        interface = f"tr{os.getpid() % 100000}n{machine}"
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", interface.encode(), IFF_TUN | IFF_NO_PI))
        ip("link", "set", interface, "netns", name, "name", "net0")
        self.bring_up(machine, "mtu", str(MTU))

    def remove(self):
        for device in self.devices:
            os.close(device)
        super().remove()

    def __exit__(self, *_):
        self.ends = True
        self.thread.join()
        self.remove()

    def relay(self):
        while not self.ends:
            now = time.monotonic()
            due = [link.queue[0][0] for link in self.links if link.queue]
            pause = min([max(moment - now, 0) for moment in due], default=0.05)
            readable, _, _ = select.select(self.devices, [], [], min(pause, 0.05))
            for device in readable:
                self.take(device)
            now = time.monotonic()
            for device, link in zip(self.devices, self.links):
                while link.queue and link.queue[0][0] <= now:
                    self.deliver(device, link, link.queue.popleft()[1])

    def take(self, device):
        """Reads the packets of a machine, and puts each into the queue of its receiver."""
        while True:
            try:
                packet = os.read(device, 1 << 16)
            except BlockingIOError:
                return
            receiver = packet[19] - 1 if len(packet) >= HEADER and packet[0] >> 4 == 4 else -1
            if self.is_cut or not 0 <= receiver < len(self.links) or self.random.random() < self.loss:
                continue
            link = self.links[receiver]
            wire = len(packet) * 8 / self.bits_per_s if self.bits_per_s else 0
            link.free_at = max(link.free_at, time.monotonic()) + wire
            link.queue.append((link.free_at + self.delay_s, packet))

    def deliver(self, device, link, packet):
        if self.is_cut:
            return
        link.packets += 1
        link.bytes += len(packet)
        try:
            os.write(device, packet)
        except OSError:  # the interface is down, or its queue is full: a lost packet
            pass
