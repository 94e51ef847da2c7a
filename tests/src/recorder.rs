//! A proxy that writes down what is asked of the server behind it, and may keep it from being done or heard.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A request, as far as tests ask for it.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `PUT`, …
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// What is to be copied: `x-amz-copy-source`, as sent.
    pub copies: Option<String>,
    /// Whether tags are sent along, or asked to be copied.
    pub tags: bool,
    /// The fields of a form, by which SNS and STS are asked, as sent.
    pub form: Option<String>,
    /// The operation and the document by which SQS is asked: `AmazonSQS.SendMessageBatch`, and its JSON as sent.
    pub document: Option<(String, String)>,
}

impl Request {
    /// Whether it is a copy onto a key, whole or a part.
    pub fn is_copy(&self) -> bool {
        self.method == "PUT" && self.copies.is_some()
    }

    /// What is asked for, in a word or two: S3's own name of the operation where the tests need it.
    pub fn operation(&self) -> String {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let asks = |name: &str| query.split('&').any(|p| p.split('=').next() == Some(name));
        let of_an_object = path
            .trim_start_matches('/')
            .split_once('/')
            .is_some_and(|(_, key)| !key.is_empty());
        match (self.method.as_str(), of_an_object) {
            ("PUT", true) if self.copies.is_some() => "CopyObject".to_owned(),
            ("PUT", true) => "PutObject".to_owned(),
            ("GET", true) => "GetObject".to_owned(),
            ("HEAD", true) => "HeadObject".to_owned(),
            ("GET", false) if asks("versions") => "ListObjectVersions".to_owned(),
            ("GET", false) if asks("list-type") => "ListObjectsV2".to_owned(),
            (method, _) => {
                let what = query.split(['&', '=']).next().unwrap_or_default();
                format!("{method} {what}").trim_end().to_owned()
            }
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The server gets it, and its answer comes back.
    Answered,
    /// It is told to slow down, and the server hears nothing of it.
    Refused,
    /// The connection breaks before the server gets it.
    Lost,
    /// The server does it, and the connection breaks before its answer comes back.
    Unheard,
}

/// Listens on a loopback port until the process ends, and passes everything on that isn't fated otherwise.
pub struct Recorder {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Recorder {
    /// In front of the server at `http://HOST:PORT`.
    ///
    /// # Panics
    /// If no port is free.
    pub fn before(server: &str) -> Self {
        Self::with_fates(server, |_| Fate::Answered)
    }

    /// The same, and each request has its fate, which is asked for before the server hears of it.
    ///
    /// # Panics
    /// If no port is free.
    pub fn with_fates(server: &str, fate: impl Fn(&Request) -> Fate + Send + Sync + 'static) -> Self {
        let fate: Arc<Fates> = Arc::new(fate);
        let server = server.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.unwrap_or_else(|e| panic!("no free port on the loopback address: {e}"));
        let port = listener
            .local_addr()
            .unwrap_or_else(|e| panic!("a socket without an address: {e}"))
            .port();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = requests.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, seen, fate) = (server.clone(), seen.clone(), fate.clone());
                // A connection that breaks is the client's to report.
                std::thread::spawn(move || pass_on(client, &server, &seen, &*fate));
            }
        });
        Self {
            url: format!("http://127.0.0.1:{port}"),
            requests,
        }
    }

    /// Where it listens; no `/` at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What was asked since the last time, in the order of arrival; forgets it.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

type Fates = dyn Fn(&Request) -> Fate + Send + Sync;

const SLOW_DOWN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";

/// One request a connection: then only its head has to be understood.
fn pass_on(mut client: TcpStream, server: &str, seen: &Mutex<Vec<Request>>, fates: &Fates) -> io::Result<()> {
    let (head, mut rest) = read_head(&mut client)?;
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(' ');
    let mut request = Request {
        method: words.next().unwrap_or_default().to_owned(),
        target: words.next().unwrap_or_default().to_owned(),
        copies: None,
        tags: false,
        form: None,
        document: None,
    };
    let (mut is_form, mut asks, mut length) = (false, None, 0_usize);
    let mut asked = format!("{first}\r\n");
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "x-amz-copy-source" => request.copies = Some(value.trim().to_owned()),
            "content-type" => is_form = value.trim().starts_with("application/x-www-form-urlencoded"),
            "x-amz-target" => asks = Some(value.trim().to_owned()),
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "x-amz-tagging" => request.tags = true,
            "x-amz-tagging-directive" => request.tags |= value.trim() == "COPY",
            _ => {}
        }
        if name != "connection" {
            asked.push_str(&format!("{line}\r\n"));
        }
    }
    asked.push_str("connection: close\r\n\r\n");
    if is_form || asks.is_some() {
        let missing = length.saturating_sub(rest.len()) as u64;
        (&mut client).take(missing).read_to_end(&mut rest)?;
        let text = String::from_utf8_lossy(&rest).into_owned();
        match asks {
            Some(operation) => request.document = Some((operation, text)),
            None => request.form = Some(text),
        }
    }
    let fate = fates(&request);
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    match fate {
        Fate::Answered | Fate::Unheard => {}
        Fate::Lost => return client.shutdown(Shutdown::Both),
        Fate::Refused => {
            let length = SLOW_DOWN.len();
            let answer = format!(
                "HTTP/1.1 503 Slow Down\r\ncontent-type: application/xml\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{SLOW_DOWN}"
            );
            client.write_all(answer.as_bytes())?;
            return client.shutdown(Shutdown::Both);
        }
    }
    let mut server = TcpStream::connect(server)?;
    server.write_all(asked.as_bytes())?;
    server.write_all(&rest)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let body = std::thread::spawn(move || io::copy(&mut from, &mut to));
    let answered = match fate {
        Fate::Unheard => io::copy(&mut server, &mut io::sink()),
        _ => io::copy(&mut server, &mut client),
    };
    // Ends the other direction too.
    client.shutdown(Shutdown::Both)?;
    let _ = body.join();
    answered.map(|_| ())
}

/// The head with its empty line, and what came with it of the body.
fn read_head(client: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(at + 4);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        let read = client.read(&mut piece)?;
        if read == 0 || bytes.len() > 64 << 10 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..read]);
    }
}
