//! `stayput ui [FILE…]`: the inspector in a browser, with these files open. The page is part of the command; nothing leaves this machine.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;
use s3_documents::encoding::encode_percent;
use stayput_core::layout::METADATA_FILE;

use crate::exit::Exit;
use crate::input::{self, At};
use crate::terminal::{Shown, complain};

pub mod server;

use server::{File, Page, Server};

/// The built page, if it was there when the command was built: names and contents of its files.
static EMBEDDED: Page<'static> = Page {
    files: include!(concat!(env!("OUT_DIR"), "/page.rs")),
};

/// What `ui` is given.
#[derive(Args, Debug)]
#[command(after_help = Exit::HELP)]
pub struct Arguments {
    /// `_metadata` files, directories that hold one, listings, lifecycle rules
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the checkpoint lies, if not where its paths say: s3://bucket/…/chk-8
    #[arg(long, value_name = "URI", value_parser = input::place)]
    at: Option<At>,
    /// The port on 127.0.0.1. Default: any free one
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    port: u16,
}

/// Serves the page until the command is ended.
///
/// # Errors
/// The output can't be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Exit> {
    if let Some(exit) = input::one_place_for_one_file(arguments.at.as_ref(), arguments.files.len()) {
        return Ok(exit);
    }
    if !EMBEDDED.is_there() {
        complain(format_args!(
            "stayput: this build of the command has no page in it. Build the page first, with Node.js: `cargo xtask web build`, then the command \
             again; or open the inspector's single HTML file in a browser and drop the files there."
        ));
        return Ok(Exit::CantTell);
    }
    let mut files = Vec::new();
    for path in &arguments.files {
        match found(path) {
            Ok(file) => files.push(file),
            Err(message) => {
                complain(format_args!("stayput: {}", Shown(&message)));
                return Ok(Exit::CantTell);
            }
        }
    }
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)) {
        Ok(listener) => listener,
        Err(e) => {
            complain(format_args!(
                "stayput: port {} on 127.0.0.1 can't be had: {e}. Leave --port out for any free one",
                arguments.port
            ));
            return Ok(Exit::CantTell);
        }
    };
    let server = match Server::new(&EMBEDDED, files, &listener) {
        Ok(server) => server,
        Err(e) => {
            complain(format_args!("stayput: {e}"));
            return Ok(Exit::CantTell);
        }
    };
    let at = arguments.at.as_ref().map(|at| at.text.as_str());
    writeln!(out, "{}", server.url(at))?;
    writeln!(
        out,
        "Open it in a browser. It is for this machine only, and whoever knows it can read these files. Ctrl+C ends it."
    )?;
    out.flush()?;
    server.run(&listener);
    Ok(Exit::Fine)
}

/// A file that is there, or the `_metadata` of a directory.
fn found(path: &Path) -> Result<File, String> {
    let file = if path.is_dir() {
        path.join(METADATA_FILE)
    } else {
        path.to_path_buf()
    };
    let shown = path.display();
    match std::fs::metadata(&file) {
        Ok(there) if there.is_file() => Ok(File {
            name: name_of(&file),
            path: file,
        }),
        Ok(_) => Err(format!("{shown}: this is no file")),
        Err(_) if path.is_dir() => Err(format!(
            "{shown}: this directory holds no _metadata. Drop the directory on the page, or name the files in it"
        )),
        Err(e) => Err(format!("{shown}: {e}")),
    }
}

/// The last two parts of a path, for the URL: `chk-8/_metadata`.
fn name_of(file: &Path) -> String {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    let parts: Vec<String> = absolute
        .iter()
        .rev()
        .take(2)
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = parts
        .iter()
        .rev()
        .map(String::as_str)
        .filter(|part| *part != "/")
        .collect();
    encode_percent(&parts.join("/")).replace('+', "%2B")
}
