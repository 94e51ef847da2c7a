//! The `_metadata` files that the command is given.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use stayput_core::layout::METADATA_FILE;
use stayput_core::location::Location;

use crate::exit::Exit;
use crate::terminal::complain;

/// The most that is read of one file, in bytes: as much as the Lambda reads by default.
const MOST: u64 = 2 << 30;
const STANDARD_INPUT: &str = "standard input";

/// Where a checkpoint lies.
#[derive(Clone, Debug)]
pub struct At {
    /// As it was written: Flink keeps the scheme, `s3a` or `s3`.
    pub text: String,
    /// The place that it means.
    pub location: Location,
    /// Nobody said so: the checkpoint is taken to lie where its file was found.
    pub guessed: bool,
}

/// The bytes of one `_metadata`.
#[derive(Debug)]
pub struct Input {
    /// What was given, for people.
    pub name: String,
    /// All bytes.
    pub bytes: Vec<u8>,
    /// The directory that holds it: what the caller said, else where the file lies on this machine. `None` for standard input.
    pub at: Option<At>,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// Nothing there.
    #[error(
        "{name}: there is no such file. If the checkpoint is gone, look for an older version of its _metadata, or for another checkpoint"
    )]
    NotThere {
        /// What was given.
        name: String,
    },
    /// A directory without `_metadata`.
    #[error(
        "{name}: this directory holds no _metadata, so it is no complete checkpoint: unfinished, aborted, half deleted, or the directory above \
         the checkpoints"
    )]
    NoMetadata {
        /// What was given.
        name: String,
    },
    /// The system refused.
    #[error("{name}: {source}")]
    Io {
        /// What was given.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// More bytes than any `_metadata` has, or than this machine should hold.
    #[error(
        "{name}: this is longer than 2 GiB, the most that is read of one file; a _metadata is some megabytes"
    )]
    TooLong {
        /// What was given.
        name: String,
    },
    /// An object store's address.
    #[error(
        "{name}: this command reads local files. Download the _metadata first, and say with --at where it came from"
    )]
    NotLocal {
        /// What was given.
        name: String,
    },
}

impl InputError {
    /// What was given.
    pub fn name(&self) -> &str {
        match self {
            Self::NotThere { name }
            | Self::NoMetadata { name }
            | Self::Io { name, .. }
            | Self::TooLong { name }
            | Self::NotLocal { name } => name,
        }
    }
}

/// Reads the value of `--at`.
///
/// # Errors
/// It is no location.
pub fn place(text: &str) -> Result<At, String> {
    match Location::parse_flink_path(text) {
        Ok(location) => Ok(At {
            text: text.to_owned(),
            location,
            guessed: false,
        }),
        Err(e) => Err(e.to_string()),
    }
}

/// `--at` can tell the place of one file only.
pub(crate) fn one_place_for_one_file(at: Option<&At>, files: usize) -> Option<Exit> {
    (at.is_some() && files > 1).then(|| {
        complain(format_args!("stayput: --at says where one checkpoint lies, but {files} files are given: call it for each of them"));
        Exit::Usage
    })
}

/// Reads a file, the `_metadata` of a directory, or standard input (`-`). With `at` its place is what the caller says.
///
/// # Errors
/// The file can't be read. The text of the error names it.
pub fn read(file: &Path, at: Option<&At>) -> Result<Input, InputError> {
    let name = file.display().to_string();
    if file.as_os_str() == "-" {
        return Ok(Input {
            name: STANDARD_INPUT.to_owned(),
            bytes: all_of(io::stdin().lock(), STANDARD_INPUT)?,
            at: at.cloned(),
        });
    }
    let (path, directory) = if file.is_dir() {
        (file.join(METADATA_FILE), file.to_path_buf())
    } else {
        (
            file.to_path_buf(),
            file.parent().map(Path::to_path_buf).unwrap_or_default(),
        )
    };
    let opened = File::open(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound if path != file => InputError::NoMetadata { name: name.clone() },
        io::ErrorKind::NotFound if name.contains("://") => InputError::NotLocal { name: name.clone() },
        io::ErrorKind::NotFound => InputError::NotThere { name: name.clone() },
        _ => InputError::Io {
            name: name.clone(),
            source,
        },
    })?;
    let bytes = all_of(opened, &name)?;
    let at = at.cloned().or_else(|| on_this_machine(directory));
    Ok(Input {
        name: path.display().to_string(),
        bytes,
        at,
    })
}

/// Reads a file that is no `_metadata`, or standard input (`-`).
///
/// # Errors
/// The file can't be read. The text of the error names it.
pub fn read_file(file: &Path) -> Result<Vec<u8>, InputError> {
    if file.as_os_str() == "-" {
        return all_of(io::stdin().lock(), STANDARD_INPUT);
    }
    let name = file.display().to_string();
    match File::open(file) {
        Ok(opened) => all_of(opened, &name),
        Err(source) => Err(InputError::Io { name, source }),
    }
}

fn all_of(from: impl io::Read, name: &str) -> Result<Vec<u8>, InputError> {
    no_more_than(MOST, from, name)
}

/// A device, or a pipe that never ends, must not take the whole memory.
fn no_more_than(most: u64, from: impl io::Read, name: &str) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let read = from.take(most + 1).read_to_end(&mut bytes);
    match read {
        Err(source) => Err(InputError::Io {
            name: name.to_owned(),
            source,
        }),
        Ok(_) if bytes.len() as u64 > most => Err(InputError::TooLong {
            name: name.to_owned(),
        }),
        Ok(_) => Ok(bytes),
    }
}

fn on_this_machine(directory: PathBuf) -> Option<At> {
    let directory = if directory.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        directory
    };
    let absolute = std::path::absolute(directory).ok()?;
    let place = place(&format!("file:{}", absolute.to_str()?)).ok()?;
    Some(At {
        guessed: true,
        ..place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused_and_what_just_fits_is_read() {
        let endless = no_more_than(9, io::repeat(0), "/dev/zero").unwrap_err();
        assert!(
            matches!(&endless, InputError::TooLong { name } if name == "/dev/zero"),
            "{endless}"
        );
        assert_eq!(no_more_than(9, &b"123456789"[..], "nine").unwrap(), b"123456789");
    }
}
