"""Attacks that look for what is not theirs, or change what others use. Each runs in the same session.

Names in capitals are filled in by the test: HOME (the user's home folder), SERVICE (the service's home folder), PID
(the service's process), PORT and NAME (a listening TCP port and an abstract socket of this machine), SITE (installed
packages), CODE (the deployed code), OTHER (a file of another session), KEY (the service's access key).
"""

import json

from attack import Attack, Outcome, holds_nothing, is_refused

_LIBC = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
_CONNECT = """
import socket
def reach(*address, family=socket.AF_INET):
    with socket.socket(family) as probe:
        probe.settimeout(2)
        probe.connect(*address)
        return probe.recv(100).decode()
"""
_READ_ALL = """
import glob
result = []
for path in glob.glob(PATTERN):
    try:
        result.append(open(path, "rb").read().decode("latin-1"))
    except OSError:
        pass
"""
_NAMESPACE = (
    _LIBC
    + """
import errno, glob, json, stat

def use(found):
    user, group = os.getuid(), os.getgid()
    if libc.unshare(0x10000000 | 0x00020000):
        found["namespace"] = errno.errorcode[ctypes.get_errno()]
        return
    found["namespace"] = "made"
    for name, content in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(content)
    found["user"] = os.getuid()
    os.makedirs("/tmp/inner", exist_ok=True)

    def attempt(what, result):
        if result == 0:
            found["opened"].append(what)

    for line in reversed(open("/proc/self/mountinfo").readlines()):
        point = line.split(" ")[4]
        attempt("unmounted " + point, libc.umount2(point.encode(), 2))
    attempt("/usr is writable", libc.mount(None, b"/usr", None, 0x1020, None))
    for kind in ("user", "mnt", "net"):
        try:
            entered = os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)
            attempt(f"entered {kind} of the first process", libc.setns(entered, 0))
        except OSError:
            pass
    try:
        os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, os.makedev(254, 0))
        attempt("a disk", 0)
    except OSError:
        pass
    if libc.unshare(0x20000000) == 0:
        inner = os.fork()
        if inner == 0:
            os._exit(libc.mount(b"proc", b"/tmp/inner", b"proc", 0, None) != 0)
        attempt("another /proc", os.waitpid(inner, 0)[1])
    secrets = ["HOME/.aws/credentials", "HOME/.ssh/id_ed25519", "SERVICE/service.json", "SERVICE/resources.db", "OTHER"]
    own = os.readlink("/proc/self")
    others = [path for path in glob.glob("/proc/[0-9]*/environ") if path.split("/")[2] != own]
    for path in (*secrets, *others, *glob.glob("/home/*/.aws/*")):
        try:
            found["opened"].append(open(path, "rb").read().decode("latin-1") or path)
        except OSError:
            found["tried"] += 1

reader, writer = os.pipe()
child = os.fork()  # the kernel refuses to make a user namespace for a process of several threads, as the agent is
if child == 0:
    found = {"tried": 0, "opened": []}
    try:
        use(found)
    except Exception as failure:
        found["failure"] = repr(failure)
    os.write(writer, json.dumps(found).encode()[:60_000])
    os._exit(0)
os.close(writer)
with open(reader, "rb") as report:
    result = report.read().decode()
os.waitpid(child, 0)
"""
)


def is_contained(outcome: Outcome) -> bool:
    """The user namespace was refused, or nothing that is outside opened up to its root."""
    report = json.loads(outcome.text)
    if report["namespace"] != "made":
        return is_without_namespace(outcome)
    return "failure" not in report and report["user"] == 0 and report["tried"] >= 5 and report["opened"] == []


def is_without_namespace(outcome: Outcome) -> bool:
    """The kernel refused a user namespace, for its number or for want of a permission."""
    return json.loads(outcome.text)["namespace"] in ("ENOSPC", "EPERM")


NAMESPACE_ATTACK = Attack("makes a user namespace and looks around in it", _NAMESPACE, is_contained)

ATTACKS = (
    Attack("reads its own environment", "import os; result = dict(os.environ)", holds_nothing),
    Attack(
        "reads its parent's environment",
        "import os; result = open(f'/proc/{os.getppid()}/environ').read()",
        holds_nothing,
    ),
    Attack("reads every environment", _READ_ALL.replace("PATTERN", "'/proc/[0-9]*/environ'"), holds_nothing),
    Attack("reads every command line", _READ_ALL.replace("PATTERN", "'/proc/[0-9]*/cmdline'"), holds_nothing),
    Attack("reads the service's environment", "result = open('/proc/PID/environ').read()", is_refused),
    Attack("reads the service's memory", "result = open('/proc/PID/mem', 'rb').read(1).hex()", is_refused),
    Attack("reads AWS credentials", "result = open('HOME/.aws/credentials').read()", is_refused),
    Attack("reads SSH keys", "result = open('HOME/.ssh/id_ed25519').read()", is_refused),
    Attack("lists the user's home folder", "import os; result = os.listdir('HOME')", is_refused),
    Attack("looks for credentials everywhere", _READ_ALL.replace("PATTERN", "'/home/*/.aws/*'"), holds_nothing),
    Attack("reads the service's keys", "result = open('SERVICE/service.json').read()", is_refused),
    Attack("reads the service's database", "result = open('SERVICE/resources.db', 'rb').read().hex()", is_refused),
    Attack("reads a file of another session", "result = open('OTHER').read()", is_refused),
    Attack(
        "lists other sessions",
        "import os; result = len(os.listdir('SERVICE/sessions'))",
        lambda outcome: outcome.text in ("1", "2"),  # its own folder, and a link of it
    ),
    Attack(
        "lists other processes",
        """
import os, time
end = time.monotonic() + 8  # processes of ended sessions of the same version may be there for another moment
while (result := len([name for name in os.listdir("/proc") if name.isdigit()])) >= 10 and time.monotonic() < end:
    time.sleep(0.1)
""",
        lambda outcome: int(outcome.text) < 10,
    ),
    Attack("reads the kernel's keyring list", "result = open('/proc/keys').read()", holds_nothing),
    Attack("reads the kernel's messages", "result = open('/proc/kmsg').read(10) or 1/0", is_refused),
    Attack("reads a disk", "import os\nos.open('/dev/vda', os.O_RDONLY)\nresult = 'open'", is_refused),
    Attack("reads physical memory", "result = open('/dev/mem', 'rb').read(1).hex()", is_refused),
    Attack("signals the service", "import os; os.kill(PID, 9); result = 'sent'", is_refused),
    Attack("traces the service", _LIBC + "result = libc.ptrace(16, PID, 0, 0)", lambda outcome: outcome.text == "-1"),
    Attack("writes a start file for all agents", "open('SITE/evil.pth', 'w').write('import os')", is_refused),
    Attack("writes a program", "open('/usr/bin/python3', 'ab').write(b'x')", is_refused),
    Attack("writes the deployed code", "open('CODE/agent.py', 'a').write('import evil')", is_refused),
    Attack("writes into /etc", "open('/etc/passwd', 'a').write('evil')", is_refused),
    Attack("writes into the root folder", "open('/evil', 'w').write('x')", is_refused),
    Attack(
        "sets the kernel's core pattern", "open('/proc/sys/kernel/core_pattern', 'w').write('|/tmp/evil')", is_refused
    ),
    Attack("sets memory ranges", "open('/proc/mtrr', 'w').write('x')", is_refused),
    Attack("reboots by sysrq", "open('/proc/sysrq-trigger', 'w').write('h')", is_refused),
    Attack(
        "links to a secret",
        "import os; os.symlink('HOME/.aws/credentials', 'link'); result = open('link').read()",
        is_refused,
    ),
    Attack(
        "links a secret hard",
        "import os; os.link('SERVICE/service.json', 'hard'); result = open('hard').read()",
        is_refused,
    ),
    Attack(
        "leaves a link for the clean-up to follow",
        "import os; os.symlink('HOME', 'followed'); result = 'left'",
        holds_nothing,
    ),
    Attack(
        "mounts a file system",
        _LIBC + "result = libc.mount(b'none', b'/usr', b'tmpfs', 0, None)",
        lambda outcome: outcome.text == "-1",
    ),
    Attack(
        "mounts again to write",
        _LIBC + "result = libc.mount(None, b'/usr', None, 0x1020, None)",
        lambda outcome: outcome.text == "-1",
    ),
    Attack("unmounts a cover", _LIBC + "result = libc.umount2(b'/proc/sys', 2)", lambda outcome: outcome.text == "-1"),
    NAMESPACE_ATTACK,
    Attack("becomes root", "import os; os.setuid(0); result = os.getuid()", is_refused),
    Attack("changes its root folder", "import os; os.chroot('/tmp'); result = 'done'", is_refused),
    Attack("sets the clock", "import time; time.clock_settime(0, 0); result = 'done'", is_refused),
    Attack("names the machine", "import socket; socket.sethostname('evil'); result = 'done'", is_refused),
    Attack(
        "opens a raw socket",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); result = 'open'",
        is_refused,
    ),
    Attack(
        "reaches a port of this machine",
        _CONNECT + "result = reach(('127.0.0.1', PORT))",
        is_refused,
        needs_own_network=True,
    ),
    Attack(
        "reaches a port through the gateway",
        _CONNECT + "result = reach(('10.0.2.2', PORT))",
        is_refused,
        needs_own_network=True,
    ),
    Attack(
        "reaches a port over the socket that it serves on",
        _CONNECT
        + """
import os
result = []
for number in range(3, 64):
    try:
        own = socket.socket(fileno=os.dup(number))
        own.connect_ex(("", 0))
        import ctypes
        ctypes.CDLL(None).connect(own.fileno(), bytes(16), 16)
        own.settimeout(1)
        own.connect(("127.0.0.1", PORT))
        result.append(own.recv(100).decode())
    except (OSError, TypeError):
        pass
""",
        holds_nothing,
        needs_own_network=True,
        own_session=True,
    ),
    Attack(
        "reaches an abstract socket of this machine",
        _CONNECT + r"result = reach('\0NAME', family=socket.AF_UNIX)",
        is_refused,
        needs_own_network=True,
    ),
    Attack(
        "looks for container and desktop sockets",
        "import os\nplaces = ('/var/run/docker.sock', '/run/dbus/system_bus_socket', '/run/user')\n"
        "result = [path for path in places if os.path.exists(path)]",
        lambda outcome: outcome.text == "[]",
    ),
    Attack(
        "sends junk and descriptors to the service",
        """
import os, socket
for number in range(3, 64):
    try:
        lifeline = socket.socket(fileno=os.dup(number))
        if lifeline.family == socket.AF_UNIX:
            socket.send_fds(lifeline, [b"@@@+-n"], [0, 1, 2])
    except OSError:
        pass
result = "sent"
""",
        holds_nothing,
        own_session=True,
    ),
    Attack(
        "kills the first process of its session",
        "import os; os.kill(1, 9); result = 'sent'",
        holds_nothing,
        own_session=True,
    ),
)
