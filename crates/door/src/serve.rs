//! The sockets of a room and the connections that come to them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::forward::{Connection, Failure, PassingBody};
use crate::state::{LONGEST_HEAD, OpenSocket, RoomState, Site, Stream, Tasks, host_name};

/// How long a connection may take to say what it wants.
const GREETING: Duration = Duration::from_secs(10);

/// How long a connection may say nothing between two requests.
const IDLE: Duration = Duration::from_secs(600);

/// What a connection needs of its room. It holds a place among the room's connections until its last clone is dropped.
#[derive(Clone)]
struct Client {
    state: Arc<RoomState>,
    tasks: Tasks,
    #[expect(dead_code, reason = "held for the connection's place among those of the room")]
    place: Arc<OwnedSemaphorePermit>,
}

/// Serves one socket of a room.
pub(crate) async fn socket(state: Arc<RoomState>, tasks: Tasks, socket: OpenSocket, slots: Arc<Semaphore>) {
    let served = match socket {
        OpenSocket::Proxy(listener) => accept(&state, &tasks, listener, &slots, proxy).await,
        OpenSocket::Direct(listener) => {
            accept(&state, &tasks, listener, &slots, |client, stream| async move {
                serve(&client, stream, &Connection::new(client.state.clone(), None)).await;
            })
            .await
        }
    };
    if let Err(error) = served {
        state.record().fail(error);
    }
}

async fn accept<F: Future<Output = ()> + 'static>(
    state: &Arc<RoomState>,
    tasks: &Tasks,
    listener: std::net::TcpListener,
    slots: &Arc<Semaphore>,
    each: impl Fn(Client, TcpStream) -> F,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        // Nobody closes it.
        let place = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            // One connection failed, or there are no more files: that passes.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        if stream.set_nodelay(true).is_ok() {
            let place = Arc::new(place);
            tasks.spawn(each(Client { state: state.clone(), tasks: tasks.clone(), place }, stream));
        }
    }
}

/// A connection to the proxy: `CONNECT host:port`, or requests for `http://host/path`.
async fn proxy(client: Client, stream: TcpStream) {
    let connection = Connection::new(client.state.clone(), None);
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (client, connection) = (client.clone(), connection.clone());
        async move { Ok::<_, Failure>(ask_proxy(client, &connection, request).await) }
    });
    // Its error is the end of the connection, which each exchange says.
    let _ = server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

async fn ask_proxy(
    client: Client,
    connection: &Connection,
    mut request: hyper::Request<Incoming>,
) -> Response<PassingBody> {
    let host = request.uri().host().map(host_name);
    let Some(host) = host else { return PassingBody::answer(StatusCode::BAD_REQUEST, "this is a proxy\n") };
    let port = request.uri().port_u16();
    if request.method() != Method::CONNECT {
        let site = Site { host, port: port.unwrap_or(80), is_tls: false };
        return connection.forward(&site, request).await;
    }
    let port = port.unwrap_or(443);
    let tasks = client.tasks.clone();
    tasks.spawn(async move {
        let Ok(stream) = hyper::upgrade::on(&mut request).await else { return };
        tunnel(client, TokioIo::new(stream), host, port).await;
    });
    PassingBody::answer(StatusCode::OK, "")
}

/// What stands behind `CONNECT`: TLS, or HTTP as it is.
async fn tunnel(client: Client, mut stream: impl Stream + 'static, host: String, port: u16) {
    let mut first = [0];
    let Ok(Ok(1)) = tokio::time::timeout(GREETING, stream.read(&mut first)).await else { return };
    let stream = Begun { first: Some(first[0]), stream };
    // A record of TLS's handshake.
    let is_tls = first[0] == 0x16;
    let connection = Connection::new(client.state.clone(), Some(Site { host: host.clone(), port, is_tls }));
    if !is_tls {
        return serve(&client, stream, &connection).await;
    }
    let Ok(leaf) = client.state.door.authority.leaf(&host) else { return };
    let accepted = tokio::time::timeout(GREETING, tokio_rustls::TlsAcceptor::from(leaf).accept(stream)).await;
    let Ok(Ok(stream)) = accepted else { return };
    serve(&client, stream, &connection).await;
}

/// Serves requests to the site of a connection, or to the one that each names.
async fn serve(client: &Client, stream: impl Stream + 'static, connection: &Connection) {
    let service = service_fn(|request: hyper::Request<Incoming>| {
        // The place is held as long as a request is.
        let (connection, client) = (connection.clone(), client.clone());
        async move {
            let _client = client;
            Ok::<_, Failure>(connection.ask(request).await)
        }
    });
    let _ = server().serve_connection(TokioIo::new(stream), service).await;
}

fn server() -> http1::Builder {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(LONGEST_HEAD).preserve_header_case(true);
    server
}

/// A stream of which the first byte was read.
struct Begun<S> {
    first: Option<u8>,
    stream: S,
}

impl<S: Stream> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        if into.remaining() > 0
            && let Some(first) = self.first.take()
        {
            into.put_slice(&[first]);
            return std::task::Poll::Ready(Ok(()));
        }
        std::pin::Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: Stream> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        std::pin::Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
