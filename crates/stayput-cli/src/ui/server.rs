//! The smallest server that can show a page with some files: HTTP/1.1, `GET` and `HEAD`, one answer for each connection, loopback only.
//!
//! Own code instead of a framework: it must refuse everything that it doesn't know, and there is little that it knows. A secret in the path
//! keeps other users of the machine out, the check of `Host` keeps out other pages in the same browser (DNS rebinding).

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A request has at most so many bytes before its body.
const LONGEST_REQUEST: u64 = 16 * 1024;
/// So many requests are answered at a time; more are turned away.
const MOST_AT_A_TIME: usize = 64;
/// Nobody waits longer for the other side.
const PATIENCE: Duration = Duration::from_secs(30);
/// The page may ask nobody but this server. Its own policy says the same; `frame-ancestors` works only here.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'";

/// The files of the page.
#[derive(Debug)]
pub struct Page<'p> {
    /// Names, as paths below the page, and contents.
    pub files: &'p [(&'p str, &'p [u8])],
}

impl Page<'_> {
    /// Whether there is a page.
    pub fn is_there(&self) -> bool {
        self.file("index.html").is_some()
    }

    fn file(&self, name: &str) -> Option<&[u8]> {
        self.files
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, content)| *content)
    }
}

/// A file that the page may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name in the URL, percent-encoded.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// Serves one page and some files.
#[derive(Debug)]
pub struct Server {
    page: &'static Page<'static>,
    files: Vec<File>,
    token: String,
    port: u16,
}

/// What is answered.
enum Answer<'s> {
    Bytes(&'static str, std::borrow::Cow<'s, [u8]>),
    File(fs::File, u64),
    Refused(u16, &'static str),
}

impl Server {
    /// For a listener that is bound already.
    ///
    /// # Errors
    /// The system gives no randomness or no address.
    pub fn new(page: &'static Page<'static>, files: Vec<File>, listener: &TcpListener) -> io::Result<Self> {
        let mut secret = [0u8; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self {
            page,
            files,
            token: secret.iter().map(|byte| format!("{byte:02x}")).collect(),
            port: listener.local_addr()?.port(),
        })
    }

    /// The address of the page with the files open. `at`: where the first lies.
    pub fn url(&self, at: Option<&str>) -> String {
        let mut url = format!("http://127.0.0.1:{}/{}/", self.port, self.token);
        for (number, file) in self.files.iter().enumerate() {
            let sign = if number == 0 { '?' } else { '&' };
            // The value of a query: its own signs are encoded once more.
            let name = file.name.replace('%', "%25");
            url.push_str(&format!("{sign}url=file/{number}/{name}"));
        }
        if let (Some(at), false) = (at, self.files.is_empty()) {
            let at = s3_documents::encoding::encode_percent(at)
                .replace('+', "%2B")
                .replace('&', "%26");
            url.push_str(&format!("&at={at}"));
        }
        url
    }

    /// Answers until the process ends.
    pub fn run(self, listener: &TcpListener) {
        let server = Arc::new(self);
        let busy = Arc::new(AtomicUsize::new(0));
        for connection in listener.incoming().flatten() {
            if busy.fetch_add(1, Ordering::SeqCst) >= MOST_AT_A_TIME {
                busy.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let (server, done) = (Arc::clone(&server), Arc::clone(&busy));
            std::thread::spawn(move || {
                // Who hangs up has what he wanted.
                let _ = server.serve(&connection);
                done.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    fn serve(&self, connection: &TcpStream) -> io::Result<()> {
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        let mut lines = BufReader::new(connection.take(LONGEST_REQUEST)).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        let mut host = None;
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("host")
            {
                // Two hosts are none.
                host = if host.is_none() {
                    Some(value.trim().to_owned())
                } else {
                    Some(String::new())
                };
            }
        }
        let mut words = request.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let answer = if !self.is_me(host.as_deref()) {
            Answer::Refused(403, "this server answers to its own address only")
        } else if !matches!(method, "GET" | "HEAD") {
            Answer::Refused(405, "only GET and HEAD")
        } else {
            self.answer(target)
        };
        respond(connection, answer, method == "HEAD")
    }

    fn is_me(&self, host: Option<&str>) -> bool {
        host.is_some_and(|host| {
            ["127.0.0.1", "localhost"]
                .iter()
                .any(|me| host == format!("{me}:{}", self.port))
        })
    }

    fn answer(&self, target: &str) -> Answer<'_> {
        let not_here = Answer::Refused(404, "not here");
        let path = target.split(['?', '#']).next().unwrap_or_default();
        let Some((token, name)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
            return not_here;
        };
        if !same(token.as_bytes(), self.token.as_bytes()) {
            return not_here;
        }
        if let Some(rest) = name.strip_prefix("file/") {
            let file = rest
                .split_once('/')
                .and_then(|(number, name)| Some((number.parse::<usize>().ok()?, name)))
                .and_then(|(number, name)| self.files.get(number).filter(|file| file.name == name));
            let opened = file.and_then(|file| {
                let opened = fs::File::open(&file.path).ok()?;
                let length = opened.metadata().ok().filter(fs::Metadata::is_file)?.len();
                Some(Answer::File(opened, length))
            });
            return opened.unwrap_or(not_here);
        }
        let name = if name.is_empty() { "index.html" } else { name };
        match self.page.file(name) {
            None => not_here,
            Some(content) if name == "index.html" => Answer::Bytes(kind_of(name), served(content).into()),
            Some(content) => Answer::Bytes(kind_of(name), content.into()),
        }
    }
}

/// The page, told that it comes from here: it then leaves its service worker away.
fn served(index: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(index);
    text.replacen(
        "<head>",
        "<head><meta name=\"stayput-served\" content=\"yes\">",
        1,
    )
    .into_bytes()
}

/// Compares without telling by the time it takes how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn respond(mut connection: &TcpStream, answer: Answer<'_>, head_only: bool) -> io::Result<()> {
    let (status, kind, length) = match &answer {
        Answer::Bytes(kind, content) => ("200 OK", *kind, content.len() as u64),
        Answer::File(_, length) => ("200 OK", "application/octet-stream", *length),
        Answer::Refused(code, text) => (
            match code {
                403 => "403 Forbidden",
                405 => "405 Method Not Allowed",
                _ => "404 Not Found",
            },
            "text/plain; charset=utf-8",
            text.len() as u64,
        ),
    };
    write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    if !head_only {
        match answer {
            Answer::Bytes(_, content) => connection.write_all(&content)?,
            // A file that grew meanwhile isn't told longer than it was said to be.
            Answer::File(file, length) => {
                io::copy(&mut file.take(length), &mut connection)?;
            }
            Answer::Refused(_, text) => connection.write_all(text.as_bytes())?,
        }
    }
    connection.flush()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    static PAGE: Page<'static> = Page {
        files: &[
            ("index.html", b"<html><head></head><body>page</body></html>"),
            ("assets/core.wasm", b"\0asm"),
        ],
    };

    struct Running {
        port: u16,
        token: String,
        url: String,
        // Kept until the test ends, since the file lies in it.
        _folder: Folder,
    }

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn running(name: &str) -> Running {
        let folder = std::env::temp_dir().join(format!("stayput-ui-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("_metadata");
        fs::write(&path, b"some bytes").unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let files = vec![File {
            name: "chk%208/_metadata".to_owned(),
            path,
        }];
        let server = Server::new(&PAGE, files, &listener).unwrap();
        let (port, token) = (server.port, server.token.clone());
        let url = server.url(Some("s3://b/a b&c/chk-8"));
        std::thread::spawn(move || server.run(&listener));
        Running {
            port,
            token,
            url,
            _folder: Folder(folder),
        }
    }

    fn ask(running: &Running, method: &str, target: &str, host: &str) -> (u16, String) {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, running.port)).unwrap();
        let host = host.replace("PORT", &running.port.to_string());
        write!(connection, "{method} {target} HTTP/1.1\r\n{host}\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    const ME: &str = "Host: 127.0.0.1:PORT";

    #[test]
    fn the_page_and_its_files_are_there_for_who_knows_the_secret() {
        let running = running("there");
        let at = |name: &str| format!("/{}/{name}", running.token);
        let (status, page) = ask(&running, "GET", &at(""), ME);
        assert_eq!(status, 200);
        assert!(
            page.contains("stayput-served")
                && page.contains("frame-ancestors 'none'")
                && page.contains("no-store")
        );
        let (status, wasm) = ask(&running, "GET", &at("assets/core.wasm"), ME);
        assert!(status == 200 && wasm.contains("application/wasm"));
        let (status, file) = ask(&running, "GET", &at("file/0/chk%208/_metadata?x"), ME);
        assert!(status == 200 && file.ends_with("some bytes"), "{file}");
        let (status, head) = ask(
            &running,
            "HEAD",
            &at("file/0/chk%208/_metadata"),
            "Host: localhost:PORT",
        );
        assert!(status == 200 && head.contains("Content-Length: 10") && head.ends_with("\r\n\r\n"));
        let expected = format!(
            "http://127.0.0.1:{}/{}/?url=file/0/chk%25208/_metadata&at=s3",
            running.port, running.token
        );
        assert!(running.url.starts_with(&expected), "{}", running.url);
        assert_eq!(running.url.matches('&').count(), 1, "{}", running.url);
    }

    #[test]
    fn everybody_else_is_turned_away() {
        let running = running("away");
        let at = |name: &str| format!("/{}/{name}", running.token);
        let wrong = format!("/{}0/", &running.token[1..]);
        for (target, host, expected) in [
            ("/", ME, 404),
            ("/index.html", ME, 404),
            (wrong.as_str(), ME, 404),
            (at("../../etc/passwd").as_str(), ME, 404),
            (at("file/0/_metadata").as_str(), ME, 404),
            (at("file/1/chk%208/_metadata").as_str(), ME, 404),
            (at("file/0/chk%208/_metadata/../../x").as_str(), ME, 404),
            (at("").as_str(), "Host: evil.example:PORT", 403),
            (at("").as_str(), "Host: 127.0.0.1", 403),
            (at("").as_str(), "X: y", 403),
            (at("").as_str(), "Host: 127.0.0.1:PORT\r\nHost: evil.example", 403),
        ] {
            assert_eq!(ask(&running, "GET", target, host).0, expected, "{target} {host}");
        }
        assert_eq!(ask(&running, "POST", &at(""), ME).0, 405);
        let long = format!("X: {}", "a".repeat(40_000));
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, running.port)).unwrap();
        let _ = write!(
            connection,
            "GET {} HTTP/1.1\r\n{long}\r\nHost: 127.0.0.1:{}\r\n\r\n",
            at(""),
            running.port
        );
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
}
