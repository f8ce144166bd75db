"""A real Slurm of two nodes on this host's loopback interface: munged, slurmctld and two slurmd.

It needs Debian's packages slurm-wlm and munge, nothing under /etc, no accounting and no root. Every
daemon is a child of this process, is asked by the kernel to end when it ends, and is ended by its id.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psutil
from workspace import call

PROGRAMS = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm", "munged": "munge"}
CLIENTS = "sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun", "sshare"
NODES = ("n1", "n2")
CPUS = 2  # of each node, in Slurm's books
MEMORY = 12_000  # MB, likewise
GPUS = 2  # likewise: the character devices of gres.conf
PARTITION = "main"
SECONDS = 60  # for the daemons to start, and for the last jobs to end

SLURM_CONF = """\
ClusterName=paragone
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={state}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={state}/controller
SlurmdSpoolDir={state}/spool-%n
SlurmctldPidFile={state}/slurmctld.pid
SlurmdPidFile={state}/slurmd-%n.pid
SlurmctldLogFile={state}/slurmctld.log
SlurmdLogFile={state}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
GresTypes=gpu
EnforcePartLimits=ALL
ReturnToService=2
MinJobAge=3600
KillWait=2
MessageTimeout=20
SlurmdTimeout=60
PropagateResourceLimits=NONE
{nodes}
PartitionName={partition} Nodes=ALL Default=NO MaxTime=60 DefMemPerCPU=500 OverSubscribe=NO
"""
NODE = (
    "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
    "CPUs={cpus} RealMemory={memory} Gres=gpu:fake:{gpus}"
)


def missing() -> list[str]:
    """The Debian packages that a cluster needs and this host lacks, sorted."""
    return sorted({name for program, name in PROGRAMS.items() if not shutil.which(_path(program))})


class Cluster:
    """The running cluster; `start` and `stop` it. `state`: its folder, with every log."""

    def __init__(self) -> None:
        # Not pytest's: the path of munge's socket must be short.
        self.state = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.state.chmod(0o755)
        self._daemons: list[subprocess.Popen] = []

    @property
    def variables(self) -> dict[str, str]:
        """PATH with clients that find this cluster, whatever of the environment they are given."""
        return {"PATH": f"{self.state}/bin{os.pathsep}{os.environ['PATH']}"}

    def start(self) -> None:
        """Start all daemons and wait until both nodes are idle."""
        self._configure()
        socket_, key = self.state / "munge.socket", self.state / "munge.key"
        files = [f"--{name}-file={self.state}/munged.{name}" for name in ("log", "pid", "seed")]
        self._spawn(
            "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_}", *files
        )
        self._wait(socket_.exists, "munged's socket")
        self._spawn("slurmctld", "-D", "-c")
        for name in NODES:
            self._spawn("slurmd", "-D", "-N", name)
        states = ["idle"] * len(NODES)
        idle = lambda: self.call("sinfo", "-hNo%T").stdout.split() == states  # noqa: E731
        self._wait(idle, "both nodes to be idle")

    def stop(self) -> None:
        """End the jobs, then the daemons, and remove their folder."""
        try:
            self.call("scancel", f"--partition={PARTITION}")
            self._wait(lambda: not self.call("squeue", "-h").stdout, "the last jobs to end")
        finally:
            for daemon in reversed(self._daemons):
                daemon.terminate()
                daemon.wait(SECONDS)
            shutil.rmtree(self.state)

    def call(self, *line: str) -> subprocess.CompletedProcess:
        """Run a client of the cluster."""
        return call([*line], SECONDS, **self.variables)

    def jobs(self) -> list[dict[str, str]]:
        """Every job since the start, as `scontrol show job` describes it, in order of submission."""
        text = self.call("scontrol", "show", "job", "--oneliner").stdout
        jobs = [
            dict(word.partition("=")[::2] for word in line.split() if "=" in word)
            for line in text.splitlines()
            if line.startswith("JobId=")
        ]
        return sorted(jobs, key=lambda job: int(job["JobId"]))

    def _configure(self) -> None:
        (self.state / "munge.key").write_bytes(os.urandom(128))
        (self.state / "munge.key").chmod(0o400)
        for name in ("bin", "controller", *(f"spool-{node}" for node in NODES)):
            (self.state / name).mkdir()
        ports = _free_ports(len(NODES) + 1)
        nodes = [
            NODE.format(name=name, port=port, cpus=CPUS, memory=MEMORY, gpus=GPUS)
            for name, port in zip(NODES, ports[1:], strict=True)
        ]
        conf = self.state / "slurm.conf"
        about = {"user": psutil.Process().username(), "state": self.state, "partition": PARTITION}
        about |= {"control_port": ports[0], "nodes": "\n".join(nodes)}
        conf.write_text(SLURM_CONF.format(**about))
        # Any character devices do: nothing but their count and numbers is looked at.
        gpus = ",".join(["/dev/null", "/dev/zero"][:GPUS])
        (self.state / "gres.conf").write_text(f"Name=gpu Type=fake File={gpus}\n")
        for name in CLIENTS:
            # The executor's job step drops SLURM_CONF before it calls srun.
            client = self.state / "bin" / name
            client.write_text(f'#!/bin/sh\nSLURM_CONF={conf} exec {_path(name)} "$@"\n')
            client.chmod(0o755)

    def _spawn(self, program: str, *arguments: str) -> None:
        ends_with_us = ["setpriv", "--pdeathsig", "TERM"]
        line = [*_as_localhost(), *ends_with_us, _path(program), *arguments]
        variables = os.environ | {"SLURM_CONF": f"{self.state}/slurm.conf"}
        with (self.state / f"{program}.out").open("a") as out:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out}
            daemon = subprocess.Popen(line, env=variables, **streams)
        self._daemons.append(daemon)

    def _wait(self, reached: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + SECONDS
        while not reached():
            dead = [daemon.args for daemon in self._daemons if daemon.poll() is not None]
            if dead or time.monotonic() > end:
                logs = [f"{path.name}:\n{path.read_text()}" for path in self.state.glob("*.[lo]*")]
                raise AssertionError(f"waited for {what}; ended: {dead}\n" + "\n".join(logs))
            time.sleep(0.1)


def _path(program: str) -> str:
    """Daemons lie where an ordinary user's PATH does not look."""
    path = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])
    return shutil.which(program, path=path) or program


def _as_localhost() -> list[str]:
    """What makes a daemon bind to loopback where the host's name resolves to another address."""
    try:
        if socket.gethostbyname(socket.gethostname()) == "127.0.0.1":
            return []
    except OSError:
        pass
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--uts", *user, "sh", "-c", 'hostname localhost; exec "$0" "$@"']


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        return [stack.enter_context(server).getsockname()[1] for server in servers]
