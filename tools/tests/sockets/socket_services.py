# SPDX-License-Identifier: BSD-3-Clause
"""The servers that socket_programs.csv names: each makes its configuration in a folder of its own and returns the words that run it in
the foreground. No service of the system is touched; a server that does not run as root runs as a user without privileges.
"""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time

import harness

POSTGRES_FOLDERS = "/usr/lib/postgresql/*/bin"
SSHD_FOLDER = "/run/sshd"  # compiled into sshd, which wants it when it runs as root


class Missing(Exception):
    """What a row needs and this machine has not, as a sentence."""


def find(program):
    """The path of a program, also of those that stand outside a user's PATH."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *sorted(glob.glob(POSTGRES_FOLDERS))]
    path = shutil.which(program, path=os.pathsep.join(folders))
    if path is None:
        raise Missing(f"{program} is not installed")
    return path


class Place:
    """Where a row runs: its folder, the address, the port; and what is to be undone after it."""

    def __init__(self, folder, address, port, programs):
        self.folder, self.address, self.port, self.programs = folder, address, port, programs
        self.undo = []
        self.environment = {}

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        return harness.write(self.at(name), text)

    @property
    def host(self):
        """The address as a URL has it."""
        return f"[{self.address}]" if ":" in self.address else self.address

    def leave(self):
        for action in reversed(self.undo):
            action()


def nginx(place, root_folder="www", workers=True):
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = "".join(f"{kind}_temp_path {place.at('nginx-' + kind)};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return [find("nginx"), "-e", place.at("nginx.errors"), "-p", place.folder, "-c", place.write("nginx.conf", f"""
daemon off;
master_process {"on" if workers else "off"};
worker_processes 1;
{user}
pid {place.at("nginx.pid")};
events {{ worker_connections 512; }}
http {{
  access_log off;
  {temporary}
  sendfile on;
  keepalive_requests 10000;
  server {{
    listen {place.host}:{place.port} backlog=512;
    root {place.at(root_folder)};
  }}
}}
""")]


def nginx_single(place):
    return nginx(place, workers=False)


def lighttpd(place):
    return [find("lighttpd"), "-D", "-f", place.write("lighttpd.conf", f"""
server.document-root = "{place.at("www")}"
server.bind = "{place.host}"
server.port = {place.port}
server.errorlog = "{place.at("lighttpd.errors")}"
server.max-keep-alive-requests = 10000
server.upload-dirs = ( "{place.folder}" )
index-file.names = ( "index.html" )
""")]


def http_server(place):
    return [sys.executable, "-m", "http.server", str(place.port), "--bind", place.address, "--directory", place.at("www")]


def rsync(place):
    user = "uid = root\ngid = root\n" if os.geteuid() == 0 else ""
    return [find("rsync"), "--daemon", "--no-detach", f"--address={place.address}", f"--port={place.port}", "--config", place.write("rsyncd.conf", f"""
use chroot = no
pid file = {place.at("rsyncd.pid")}
lock file = {place.at("rsyncd.lock")}
log file = {place.at("rsyncd.log")}
{user}
[files]
path = {place.at("www")}
[incoming]
path = {place.at("incoming")}
read only = no
""")]


def make_sshd_folder(place):
    if os.geteuid() != 0 or os.path.isdir(SSHD_FOLDER):
        return
    os.mkdir(SSHD_FOLDER, 0o755)

    def remove():
        try:
            os.rmdir(SSHD_FOLDER)
        except OSError:
            pass  # somebody else uses it by now
    place.undo.append(remove)


def sshd(place):
    keygen, server = find("ssh-keygen"), find("sshd")
    make_sshd_folder(place)
    for name in ("host_key", "user_key"):
        harness.run(keygen, "-q", "-t", "ed25519", "-N", "", "-f", place.at(name))
    place.write("authorized_keys", harness.read(place.at("user_key.pub")))
    place.write("ssh_config", f"""
Host *
  Port {place.port}
  IdentityFile {place.at("user_key")}
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile {place.at("known_hosts")}
  GlobalKnownHostsFile /dev/null
  LogLevel ERROR
  BatchMode yes
""")
    return [server, "-r", "-D", "-e", "-f", place.write("sshd_config", f"""
ListenAddress {place.host}:{place.port}
HostKey {place.at("host_key")}
AuthorizedKeysFile {place.at("authorized_keys")}
PidFile {place.at("sshd.pid")}
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
Subsystem sftp internal-sftp
""")]


def redis(place):
    find("redis-benchmark")
    return [find("redis-server"), "--bind", place.address, "--port", str(place.port), "--dir", place.folder, "--save", "", "--appendonly", "no",
            "--protected-mode", "no"]


def postgres(place):
    programs = {name: find(name) for name in ("initdb", "postgres", "psql", "pgbench")}
    as_user = []
    data = place.at("data")
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            raise Missing("there is no user postgres") from None
        as_user = [find("setpriv"), f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        if subprocess.run([*as_user, "test", "-r", place.programs], check=False).returncode != 0:
            raise Missing(f"user postgres cannot read {place.programs}, where the library is")
        os.mkdir(data, 0o700)
        os.chown(data, user.pw_uid, user.pw_gid)
        os.chmod(place.folder, 0o711)
    harness.run(*as_user, programs["initdb"], "-D", data, "-U", "bench", "-A", "trust", "--no-sync", "-E", "UTF8", "--no-locale")
    place.environment.update(PGUSER="bench", PGDATABASE="postgres", PGHOST=place.address, PGPORT=str(place.port), PGSSLMODE="disable", PGGSSENCMODE="disable",
                             PATH=os.path.dirname(programs["initdb"]) + os.pathsep + os.environ["PATH"])
    # Its shared memory stays in its folder, so that nothing is left in /dev/shm when it is killed.
    return [*as_user, programs["postgres"], "-D", data, "-h", place.address, "-p", str(place.port), "-k", data, "-F", "-c", "shared_memory_type=mmap",
            "-c", "dynamic_shared_memory_type=mmap", "-c", "max_connections=120"]


SERVICES = {service.__name__: service for service in (nginx, nginx_single, lighttpd, http_server, rsync, sshd, redis, postgres)}


def group_lives(group):
    """Whether a process of the group runs. One that has ended counts no more, even if nobody has waited for it yet."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            state, _, of = harness.read(path).rpartition(")")[2].split()[:3]
        except OSError:
            continue  # it has gone
        if int(of) == group and state != "Z":
            return True
    return False


def end_group(process, seconds):
    """Ends a server and what it has started. Returns False if something of it had to be killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        until = time.monotonic() + seconds
        while process.poll() is None or group_lives(process.pid):
            if time.monotonic() > until:
                break
            time.sleep(0.02)
        else:
            break
    process.wait()
    return number == signal.SIGTERM
