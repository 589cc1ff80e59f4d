//! A room in bubblewrap with a network of its own: `room COMMAND…`.
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use skill_evals_agents::process::{self, Job, Start, opener::RoomNetwork, watchdog};
use skill_evals_door::{Credential, Door, PathRule, Reach, Room, RoomSockets, Route, Rules, Upstream};
use skill_evals_evidence::text::redact::Redactor;

struct Net(Room);
impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Net")
    }
}
impl RoomNetwork for Net {
    fn ports(&self) -> &[u16] {
        &[3128, 443, 80, 53]
    }
    fn adopt(&self, sockets: Vec<OwnedFd>) -> std::io::Result<()> {
        let [proxy, https, http, names] = sockets.try_into().map_err(|_| std::io::Error::other("four"))?;
        let sockets = RoomSockets {
            proxy: Some(TcpListener::from(proxy)),
            https: Some(https.into()),
            http: Some(http.into()),
            names: Some(names.into()),
        };
        self.0.adopt(sockets).map_err(std::io::Error::other)
    }
}
fn main() {
    if watchdog::take_over() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for s in listener.incoming() {
            let mut s = s.unwrap();
            std::thread::spawn(move || {
                use std::io::*;
                let mut b = [0; 4096];
                while let Ok(n) = s.read(&mut b) {
                    if n == 0 {
                        break;
                    }
                    eprintln!("SERVER {}", String::from_utf8_lossy(&b[..n]));
                    let _ = s.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello\n");
                }
            });
        }
    });
    let upstream =
        Upstream { instead: vec![("api.provider.test:443".parse().unwrap(), address)], ..Upstream::default() };
    let door = Door::open(&upstream).unwrap();
    std::fs::write("/tmp/bundle.pem", door.bundle()).unwrap();
    let rules = Rules {
        reach: Reach::Web,
        provider: vec!["api.provider.test:443".parse().unwrap()],
        allowed: vec![],
        shared: vec![],
        credentials: vec![Credential {
            placeholder: "PLACE".into(),
            real: "REAL".into(),
            routes: vec![Route {
                method: "POST".into(),
                host: "api.provider.test".parse().unwrap(),
                path: PathRule("/v1/*".into()),
            }],
        }],
    };
    let record = dir.path().join("wire.jsonl");
    let room = door.room(rules, &record, |t| t.to_owned()).unwrap();
    std::fs::write("/tmp/resolv.conf", "nameserver 127.0.0.1\n").unwrap();
    let options = [
        "--unshare-user",
        "--unshare-pid",
        "--cap-add",
        "CAP_NET_BIND_SERVICE",
        "--ro-bind",
        "/",
        "/",
        "--ro-bind",
        "/tmp/resolv.conf",
        "/etc/resolv.conf",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    .map(Into::into)
    .to_vec();
    let net = Arc::new(Net(room));
    let call: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let start = Start::sandbox("bwrap".into(), options, call).in_network(net.clone());
    let env = [("PATH", "/usr/bin:/bin"), ("SSL_CERT_FILE", "/tmp/bundle.pem"), ("CURL_CA_BUNDLE", "/tmp/bundle.pem")];
    let redactor = Redactor::new([]);
    let job = Job {
        start,
        env: env.into_iter().map(|(a, b)| (a.into(), b.into())).collect(),
        folder: "/".into(),
        timeout: Duration::from_secs(30),
        cpu_wait: None,
        stdout: dir.path().join("o"),
        appends: false,
        by_file: None,
        input: Some(b"given\n".to_vec()),
        stderr: dir.path().join("e"),
        redactor: &redactor,
        works_on: false,
        settled: None,
    };
    println!("{:?}", process::run(&job, &mut ()).unwrap());
    println!(
        "{}\n--\n{}",
        std::fs::read_to_string(dir.path().join("o")).unwrap(),
        std::fs::read_to_string(dir.path().join("e")).unwrap()
    );
    drop(job);
    Arc::into_inner(net).unwrap().0.close().unwrap();
    println!("{}", std::fs::read_to_string(record).unwrap());
}
