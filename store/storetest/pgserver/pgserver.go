// Package pgserver runs a throwaway PostgreSQL server for tests.
package pgserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// ErrMissing is the error of [Start] if PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: initdb and postgres are neither in PATH nor in /usr/lib/postgresql (apt-get install postgresql)")

// A Server is a running PostgreSQL server that listens on a socket in its own directory and nowhere else.
type Server struct {
	dir  string
	pipe io.Closer // the server runs until this pipe is closed
	cmd  *exec.Cmd
}

// Start creates an empty cluster, in memory if there is /dev/shm, and starts a server on it. A crash of the machine loses its
// data (fsync is off); a crash of its clients does not.
//
// The server ends with Close, when the Server is garbage collected, or with this process, even if that is killed: a shell
// script waits for the end of a pipe, then stops the server and removes its files.
func Start(ctx context.Context) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(as)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := s.start(ctx, bin, as); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), s.Close())
	}
	return s, nil
}

// script runs the server until its standard input ends. On SIGINT the server shuts down without waiting for its clients.
const script = `
"$1/postgres" -D "$2/data" -c listen_addresses= -c unix_socket_directories="$2" \
	-c fsync=off -c max_connections=300 -c max_wal_size=4GB >"$2/log" 2>&1 &
cat >/dev/null
kill -INT $!
wait $!
rm -rf "$2"`

func (s *Server) start(ctx context.Context, bin string, as *syscall.Credential) error {
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", filepath.Join(s.dir, "data"),
		"--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	initdb.Dir = s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	s.cmd = exec.Command("/bin/sh", "-c", script, "sh", bin, s.dir)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setsid: true} // so that Ctrl-C does not stop it
	s.cmd.Dir = s.dir
	pipe, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.pipe = pipe
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.await(ctx)
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", s.URL())
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%w: %s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL returns the URL of database postgres for the superuser.
func (s *Server) URL() string {
	return "postgres://postgres@/postgres?host=" + url.QueryEscape(s.dir)
}

// Close stops the server and removes its files.
func (s *Server) Close() error {
	if s.pipe != nil {
		s.pipe.Close()
		if s.cmd.Process != nil {
			s.cmd.Wait() // the status is that of rm; RemoveAll removes the rest
		}
	}
	return os.RemoveAll(s.dir)
}

// find returns the directory of the server's programs, the newest version if there are several.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && hasServer(filepath.Dir(path)) {
			return filepath.Dir(path), nil
		}
	}
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // fails on a bad pattern only
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range dirs {
		if hasServer(dir) {
			return dir, nil
		}
	}
	return "", ErrMissing
}

func hasServer(dir string) bool {
	_, err1 := os.Stat(filepath.Join(dir, "initdb"))
	_, err2 := os.Stat(filepath.Join(dir, "postgres"))
	return err1 == nil && err2 == nil
}

// version returns the number in /usr/lib/postgresql/15/bin.
func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // a directory that is not a number comes last
	return n
}

// unprivileged returns the user that the server runs as, since PostgreSQL refuses to run as root; nil: the current user.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")
}

func makeDir(as *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp("/dev/shm", "namewharf-pg-")
	if err != nil {
		if dir, err = os.MkdirTemp("", "namewharf-pg-"); err != nil {
			return "", err
		}
	}
	if as == nil {
		return dir, nil
	}
	return dir, os.Chown(dir, int(as.Uid), int(as.Gid))
}
