//! Where requests come in: notifications, /health and /metrics, over HTTP/1.1.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use s3_documents::notification::parse_body;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};

use super::asked_to_end;
use super::measures::Measures;
use super::token::Token;
use super::worker::Job;

/// So many connections at a time; others wait.
const MOST_AT_A_TIME: usize = 64;
/// A request must be whole within this.
const PATIENCE: Duration = Duration::from_secs(30);

type Answer = Response<Full<Bytes>>;

/// Lets in who knows the token.
pub(super) struct Door {
    token: Option<Token>,
    max_body: usize,
    jobs: mpsc::Sender<Job>,
    measures: Arc<Measures>,
}

impl Door {
    pub(super) fn new(
        token: Option<Token>,
        max_body: usize,
        jobs: mpsc::Sender<Job>,
        measures: Arc<Measures>,
    ) -> Self {
        Self {
            token,
            max_body,
            jobs,
            measures,
        }
    }

    /// Answers until it is stopped; requests at hand are still answered then.
    pub(super) async fn answer(self, listener: TcpListener, mut stopped: watch::Receiver<bool>) {
        let door = Arc::new(self);
        let room = Arc::new(Semaphore::new(MOST_AT_A_TIME));
        let mut open = tokio::task::JoinSet::new();
        loop {
            let connection = tokio::select! {
                () = asked_to_end(&mut stopped) => break,
                connection = listener.accept() => connection,
            };
            while open.try_join_next().is_some() {}
            let Ok((stream, _)) = connection else {
                // Too many open files, for instance: not at once again.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
                break;
            };
            let (door, stopped) = (Arc::clone(&door), stopped.clone());
            open.spawn(async move {
                door.serve(stream, stopped).await;
                drop(permit);
            });
        }
        drop(listener);
        while open.join_next().await.is_some() {}
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, mut stopped: watch::Receiver<bool>) {
        let service = service_fn(|request| {
            let door = Arc::clone(&self);
            async move { Ok::<_, Infallible>(door.one(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        // Who hangs up has what they wanted.
        tokio::select! {
            _ = connection.as_mut() => {}
            () = asked_to_end(&mut stopped) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }

    async fn one(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path();
        match (request.method(), path) {
            (&Method::GET, "/health") => {
                let health = self.measures.health();
                let status = match health.status {
                    "ok" => StatusCode::OK,
                    _ => StatusCode::SERVICE_UNAVAILABLE,
                };
                let text = serde_json::to_string(&health).unwrap_or_default();
                with(status, "application/json", text + "\n")
            }
            (&Method::GET, "/metrics") => {
                let form = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                with(StatusCode::OK, form, self.measures.text())
            }
            (&Method::POST, path) if path == "/events" || path.starts_with("/events/") => {
                if self.knows(&request) {
                    self.events(request).await
                } else {
                    self.measures.refused("token");
                    text(StatusCode::FORBIDDEN, "The token is missing or another one.")
                }
            }
            (_, "/health" | "/metrics" | "/events") => {
                text(StatusCode::METHOD_NOT_ALLOWED, "Not by this method.")
            }
            _ => text(StatusCode::NOT_FOUND, "Here are /events, /health and /metrics."),
        }
    }

    /// Whether the request has the token, in a header or in its path (Ceph's endpoints have no other place for it).
    fn knows(&self, request: &Request<Incoming>) -> bool {
        let Some(token) = &self.token else {
            return false;
        };
        let header = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let given = match header.and_then(|header| header.split_once(' ')) {
            Some((scheme, given)) if scheme.eq_ignore_ascii_case("bearer") => given.trim(),
            _ => request.uri().path().strip_prefix("/events/").unwrap_or_default(),
        };
        token.is(given)
    }

    async fn events(&self, request: Request<Incoming>) -> Answer {
        let body = Limited::new(request.into_body(), self.max_body).collect();
        let body = match tokio::time::timeout(PATIENCE, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                self.measures.refused("too long");
                let message = format!("A notification may have {} bytes (--max-body).", self.max_body);
                return text(StatusCode::PAYLOAD_TOO_LARGE, &message);
            }
            Ok(Err(_)) | Err(_) => {
                self.measures.refused("broken off");
                return text(StatusCode::REQUEST_TIMEOUT, "The request broke off.");
            }
        };
        // MinIO asks with an empty body whether somebody is there.
        if body.trim_ascii().is_empty() {
            return text(StatusCode::OK, "");
        }
        let records = match parse_body(&body) {
            Ok(records) => records,
            Err(error) => {
                self.measures.refused("malformed");
                return text(StatusCode::BAD_REQUEST, &error.to_string());
            }
        };
        match self.jobs.try_send(Job::told(records)) {
            Ok(()) => {
                self.measures.took("webhook", 1);
                text(StatusCode::OK, "")
            }
            Err(_) => {
                self.measures.refused("too many");
                text(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "Too many notifications wait. Send it again later; the sweep finds what nobody tells.",
                )
            }
        }
    }
}

fn text(status: StatusCode, message: &str) -> Answer {
    let line = if message.is_empty() {
        String::new()
    } else {
        format!("{message}\n")
    };
    with(status, "text/plain; charset=utf-8", line)
}

fn with(status: StatusCode, form: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(form));
    answer
}
