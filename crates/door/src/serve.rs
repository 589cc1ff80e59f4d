//! The sockets of a room and the connections that come to them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::server::Acceptor;

use crate::forward::{Connection, Failure, PassingBody};
use crate::state::{LONGEST_HEAD, RoomState, Site, Stream, Tasks, host_name};

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

/// Serves one socket of a room: the port to which the proxy variables point, or one of a server outside.
pub(crate) async fn socket(
    state: Arc<RoomState>,
    tasks: Tasks,
    listener: std::net::TcpListener,
    slots: Arc<Semaphore>,
) {
    if let Err(error) = accept(&state, &tasks, listener, &slots).await {
        state.record().fail(error);
    }
}

async fn accept(
    state: &Arc<RoomState>,
    tasks: &Tasks,
    listener: std::net::TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let local = listener.local_addr()?;
    loop {
        // Nobody closes it.
        let place = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
        let Ok((stream, _)) = listener.accept().await else {
            // One connection failed, or there are no more files: that passes.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        if stream.set_nodelay(true).is_ok() {
            let client = Client { state: state.clone(), tasks: tasks.clone(), place: Arc::new(place) };
            let begun = Beginning { host: local.ip().to_string(), port: local.port(), is_named: false };
            tasks.spawn(greet(client, stream, begun));
        }
    }
}

/// What is known of a connection before its first byte.
struct Beginning {
    host: String,
    port: u16,
    /// Whether a program named it by `CONNECT`. Otherwise its requests do, and without them it is that of the socket.
    is_named: bool,
}

/// A connection: TLS, or HTTP as it is.
async fn greet(client: Client, mut stream: impl Stream + 'static, begun: Beginning) {
    let Beginning { mut host, port, is_named } = begun;
    let mut first = [0];
    let Ok(Ok(1)) = tokio::time::timeout(IDLE, stream.read(&mut first)).await else { return };
    let stream = Begun { first: Some(first[0]), stream };
    // A record of TLS's handshake.
    if first[0] != 0x16 {
        let site = is_named.then_some(Site { host, port, is_tls: false });
        return serve(&client, stream, Connection::new(client.state.clone(), site)).await;
    }
    let greeting = async {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        if let Some(name) = hello.client_hello().server_name().filter(|_| !is_named) {
            host = host_name(name);
        }
        let leaf = client.state.door.authority.leaf(&host).map_err(io::Error::other)?;
        hello.into_stream(leaf).await
    };
    let Ok(Ok(stream)) = tokio::time::timeout(GREETING, greeting).await else { return };
    serve(&client, stream, Connection::new(client.state.clone(), Some(Site { host, port, is_tls: true }))).await;
}

/// Serves requests to the site of a connection, or to the one that each names.
async fn serve(client: &Client, stream: impl Stream + 'static, connection: Connection) {
    let service = service_fn(|request: hyper::Request<Incoming>| {
        // The place is held as long as a request is.
        let (connection, client) = (connection.clone(), client.clone());
        async move {
            let answer = if request.method() == Method::CONNECT && !connection.has_site() {
                connect(client, request)
            } else {
                connection.ask(request).await
            };
            Ok::<_, Failure>(answer)
        }
    });
    // Its error is the end of the connection, which each exchange says.
    let _ = server().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

/// Answers `CONNECT host:port`: what follows is a connection to there.
fn connect(client: Client, mut request: hyper::Request<Incoming>) -> Response<PassingBody> {
    let Some(host) = request.uri().host().map(host_name) else {
        return PassingBody::answer(StatusCode::BAD_REQUEST, "no host\n");
    };
    let begun = Beginning { host, port: request.uri().port_u16().unwrap_or(443), is_named: true };
    let tasks = client.tasks.clone();
    let tunnel: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
        let Ok(stream) = hyper::upgrade::on(&mut request).await else { return };
        greet(client, TokioIo::new(stream), begun).await;
    });
    tasks.spawn(tunnel);
    PassingBody::answer(StatusCode::OK, "")
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
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        if into.remaining() > 0
            && let Some(first) = self.first.take()
        {
            into.put_slice(&[first]);
            return std::task::Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: Stream> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
