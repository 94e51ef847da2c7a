//! The wrappers that sinks put around what a file system keeps of a file, outermost first.

use super::bytes::Bytes;
use super::recoverable::read_recoverable;
use super::{Element, SinkError, SinkErrorKind, SinkFile, SinkState, Stage};

/// `BucketStateSerializer` and `FileWriterBucketStateSerializer`.
const BUCKET: u32 = 0x1e76_4b79;
/// `OutputStreamBasedInProgressFileRecoverableSerializer`.
const IN_PROGRESS: u32 = 0xb3a4_073d;
/// `OutputStreamBasedPendingFileRecoverableSerializer`.
const PENDING: u32 = 0x2c85_3c89;
/// `FileSinkCommittableSerializer`.
const COMMITTABLE: u32 = 0x1e76_5c80;
/// `CommittableCollectorSerializer`, and `StreamingCommitterStateSerializer` up to 1.14.
const COLLECTOR: u32 = 0xb91f_252c;
/// `CompactCoordinatorStateHandler` and `CompactorOperatorStateHandler`: requests by checkpoint.
const REQUESTS: u32 = 0xa946_be83;
/// `CompactorRequestSerializer`.
const REQUEST: u32 = 0x2fc6_1e19;

type Read<T> = Result<T, SinkError>;

/// Reads one element of a state: a serializer's version, a length and so many bytes.
///
/// # Errors
/// It is the state of a file sink, but damaged or of a serializer version that isn't known here.
pub fn read(state: SinkState, element: &[u8]) -> Read<Element> {
    let mut bytes = Bytes::new(element, "an element");
    // What another sink writes has no reason to look like this.
    let Ok((version, value)) = bytes.versioned("an element") else {
        return Ok(Element::AnotherSink);
    };
    let magic = match state {
        SinkState::Writer | SinkState::Buckets => BUCKET,
        SinkState::Committer => COLLECTOR,
        SinkState::CompactionCoordinator => COMMITTABLE,
        SinkState::Compactor => REQUESTS,
    };
    if !value.rest().starts_with(&magic.to_be_bytes()) {
        return Ok(Element::AnotherSink);
    }
    let mut files = Vec::new();
    match state {
        SinkState::Writer => bucket(version, value, 3, &mut files)?,
        SinkState::Buckets => bucket(version, value, 2, &mut files)?,
        SinkState::Committer => match collector(version, value, &mut files)? {
            Whose::FileSink => {}
            Whose::AnotherSink => return Ok(Element::AnotherSink),
        },
        SinkState::CompactionCoordinator => files.extend(committable(version, value, Stage::Pending)?),
        SinkState::Compactor => requests(version, value, &mut files)?,
    }
    bytes.end()?;
    Ok(Element::Files(files))
}

/// The state of one bucket of a writer. Version 1 has what the file system keeps without wrappers, version 3 has no list of pending files.
fn bucket(version: i32, mut bytes: Bytes<'_>, newest: i32, files: &mut Vec<SinkFile>) -> Read<()> {
    if !(1..=newest).contains(&version) {
        return bytes.unknown_version(version);
    }
    bytes = bytes.of("the state of a bucket");
    bytes.magic(BUCKET)?;
    // The id is the user's own; only the path tells the place.
    bytes.versioned("the id of a bucket")?;
    let directory = bytes.utf()?;
    let of_directory = |mut file: SinkFile| {
        file.directory = Some(directory.clone());
        file
    };
    let scheme = scheme_of(&directory).map(str::to_owned);
    bytes.i64()?;
    if bytes.bool()? {
        let (version_of_file, file) = bytes.versioned("a file in progress")?;
        files.push(of_directory(match version {
            1 => bare(version_of_file, file, scheme.as_deref(), Stage::InProgress)?,
            _ => in_progress(version_of_file, file, scheme.as_deref(), Stage::InProgress)?,
        }));
    }
    if version == 3 {
        return bytes.end();
    }
    let version_of_file = bytes.i32()?;
    let checkpoints = bytes.i32()?;
    for _ in 0..bytes.length(checkpoints)? {
        let checkpoint_id = bytes.i64()?;
        let n = bytes.i32()?;
        for _ in 0..bytes.length(n)? {
            let file = bytes.nested("a pending file")?;
            let mut file = match version {
                1 => bare(version_of_file, file, scheme.as_deref(), Stage::Pending)?,
                _ => pending(version_of_file, file, scheme.as_deref(), Stage::Pending)?,
            };
            file.checkpoint_id = Some(checkpoint_id);
            files.push(of_directory(file));
        }
    }
    bytes.end()
}

/// Version 1 of a bucket's state (before 1.11).
fn bare(version: i32, bytes: Bytes<'_>, scheme: Option<&str>, stage: Stage) -> Read<SinkFile> {
    Ok(SinkFile {
        stage,
        target: None,
        directory: None,
        checkpoint_id: None,
        recoverable: read_recoverable(version, bytes, scheme)?,
    })
}

fn in_progress(version: i32, mut bytes: Bytes<'_>, scheme: Option<&str>, stage: Stage) -> Read<SinkFile> {
    bytes = bytes.of("a file in progress");
    bytes.magic(IN_PROGRESS)?;
    let target = match version {
        1 => None,
        2 => target(&mut bytes)?,
        _ => return bytes.unknown_version(version),
    };
    file(bytes, target, scheme, stage)
}

fn pending(version: i32, mut bytes: Bytes<'_>, scheme: Option<&str>, stage: Stage) -> Read<SinkFile> {
    bytes = bytes.of("a pending file");
    bytes.magic(PENDING)?;
    let target = match version {
        1 => None,
        2 => {
            let target = target(&mut bytes)?;
            bytes.i64()?;
            target
        }
        _ => return bytes.unknown_version(version),
    };
    file(bytes, target, scheme, stage)
}

fn target(bytes: &mut Bytes<'_>) -> Read<Option<String>> {
    Ok(if bytes.bool()? { Some(bytes.utf()?) } else { None })
}

fn file(mut bytes: Bytes<'_>, target: Option<String>, scheme: Option<&str>, stage: Stage) -> Read<SinkFile> {
    let (version, kept) = bytes.versioned("what the file system keeps")?;
    bytes.end()?;
    let scheme = target.as_deref().and_then(scheme_of).or(scheme);
    Ok(SinkFile {
        stage,
        recoverable: read_recoverable(version, kept, scheme)?,
        target,
        directory: None,
        checkpoint_id: None,
    })
}

/// A file that waits for its commit, and what the commit deletes.
fn committable(version: i32, mut bytes: Bytes<'_>, stage: Stage) -> Read<Vec<SinkFile>> {
    bytes = bytes.of("a committable");
    bytes.magic(COMMITTABLE)?;
    if !(1..=2).contains(&version) {
        return bytes.unknown_version(version);
    }
    if version == 2 {
        bytes.utf()?;
    }
    let mut files = Vec::new();
    if bytes.bool()? {
        let (version, file) = bytes.versioned("a pending file")?;
        files.push(pending(version, file, None, stage)?);
    }
    if bytes.bool()? {
        let (version, file) = bytes.versioned("a file in progress")?;
        files.push(in_progress(version, file, None, Stage::CleanUp)?);
    }
    if version == 2 && bytes.bool()? {
        // A file that was compacted into another one: visible until the commit deletes it.
        bytes.utf()?;
    }
    bytes.end()?;
    Ok(files)
}

/// Whose committables a committer has: the same collector is around those of every sink.
enum Whose {
    FileSink,
    AnotherSink,
}

fn collector(version: i32, mut bytes: Bytes<'_>, files: &mut Vec<SinkFile>) -> Read<Whose> {
    bytes = bytes.of("the committables of a committer");
    bytes.magic(COLLECTOR)?;
    match version {
        1 => {
            let (version, all) = bytes.versioned_list("a committable")?;
            bytes.end()?;
            for one in all {
                if !is_of_file_sink(&one) {
                    return Ok(Whose::AnotherSink);
                }
                files.extend(committable(version, one, Stage::Pending)?);
            }
        }
        2 => {
            let (layout, checkpoints) = bytes.versioned_list("the committables of a checkpoint")?;
            bytes.end()?;
            for checkpoint in checkpoints {
                match of_checkpoint(layout, checkpoint, files)? {
                    Whose::FileSink => {}
                    Whose::AnotherSink => return Ok(Whose::AnotherSink),
                }
            }
        }
        _ => return bytes.unknown_version(version),
    }
    Ok(Whose::FileSink)
}

fn of_checkpoint(layout: i32, mut bytes: Bytes<'_>, files: &mut Vec<SinkFile>) -> Read<Whose> {
    if !(0..=1).contains(&layout) {
        return bytes.unknown_version(layout);
    }
    let checkpoint_id = bytes.i64()?;
    if layout >= 1 {
        bytes.i32()?;
    }
    let (layout, subtasks) = bytes.versioned_list("the committables of a subtask")?;
    bytes.end()?;
    for mut subtask in subtasks {
        if !(0..=2).contains(&layout) {
            return subtask.unknown_version(layout);
        }
        if layout >= 1 {
            subtask.i32()?;
        }
        let (version, requests) = subtask.versioned_list("a request to commit")?;
        if version != 0 {
            return subtask.unknown_version(version);
        }
        // How many there are, were drained (up to list version 1) and failed.
        for _ in 0..if layout <= 1 { 3 } else { 2 } {
            subtask.i32()?;
        }
        subtask.end()?;
        for mut request in requests {
            let (version, one) = request.versioned("a committable")?;
            request.i32()?;
            let stage = match request.i32()? {
                0 | 1 => Stage::Pending,
                2 | 3 => Stage::Settled,
                other => return Err(request.error(SinkErrorKind::OutOfRange(other.into()))),
            };
            request.end()?;
            if !is_of_file_sink(&one) {
                return Ok(Whose::AnotherSink);
            }
            let mut of_one = committable(version, one, stage)?;
            for file in &mut of_one {
                file.checkpoint_id = Some(checkpoint_id);
            }
            files.extend(of_one);
        }
    }
    Ok(Whose::FileSink)
}

fn is_of_file_sink(committable: &Bytes<'_>) -> bool {
    committable.rest().starts_with(&COMMITTABLE.to_be_bytes())
}

fn requests(version: i32, mut bytes: Bytes<'_>, files: &mut Vec<SinkFile>) -> Read<()> {
    bytes = bytes.of("requests to compact");
    bytes.magic(REQUESTS)?;
    if version != 1 {
        return bytes.unknown_version(version);
    }
    let n = bytes.i32()?;
    for _ in 0..bytes.length(n)? {
        let checkpoint_id = bytes.i64()?;
        let (version, all) = bytes.versioned_list("a request to compact")?;
        for mut request in all {
            request.magic(REQUEST)?;
            if version != 1 {
                return request.unknown_version(version);
            }
            request.utf()?;
            // To be compacted, and to be passed on as they are.
            for _ in 0..2 {
                let (version, all) = request.versioned_list("a committable")?;
                for one in all {
                    let mut of_one = committable(version, one, Stage::Pending)?;
                    for file in &mut of_one {
                        file.checkpoint_id = Some(checkpoint_id);
                    }
                    files.extend(of_one);
                }
            }
            request.end()?;
        }
    }
    bytes.end()
}

fn scheme_of(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once(':')?;
    (!scheme.contains('/')).then_some(scheme)
}
