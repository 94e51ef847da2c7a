//! What `sam build` makes for AWS: the function for arm64, built here by cargo-lambda with its own linker.

use std::path::{Path, PathBuf};

use crate::infra;
use crate::print;
use crate::process::quietly;
use crate::provide;

/// The functions of the template, which share one binary.
const FUNCTIONS: [&str; 2] = ["Judge", "Sweep"];
/// The C library of `provided.al2023`.
const NEWEST_GLIBC: (u32, u32) = (2, 34);
/// Lambda takes no more in a function, unpacked.
const MOST_BYTES: usize = 250 << 20;

/// Builds the template's functions as SAM deploys them, and looks at what came out. Returns the folder with the built template.
pub(crate) fn run(root: &Path) -> Result<PathBuf, String> {
    let sam = provide::sam(root)?;
    let cargo_lambda = provide::cargo_lambda(root)?;
    provide::rust(root, &[provide::ARM], &[])?;
    let folder = provide::local(root)?.join("sam-build");
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Its Python has the linker that cargo-lambda looks for.
    let tools = cargo_lambda.parent().map(Path::to_path_buf);
    let path = std::env::join_paths(tools.into_iter().chain(std::env::split_paths(&path)))
        .map_err(|e| format!("PATH: {e}"))?;
    let mut build = infra::command(&sam);
    build
        .current_dir(root)
        .env("PATH", path)
        .args(["build", "--region", "eu-west-1", "--build-dir"])
        .arg(&folder)
        .arg("--template")
        .arg(root.join("infra/template.yaml"));
    quietly(&mut build)?;
    for function in FUNCTIONS {
        let bootstrap = bootstrap_of(&folder, function)?;
        let bytes = std::fs::read(&bootstrap).map_err(|e| format!("{}: {e}", bootstrap.display()))?;
        let binary = look_at(&bytes).map_err(|e| format!("{}: {e}", bootstrap.display()))?;
        print::line(&format!(
            "     {function}: aarch64 ELF, {} bytes, needs {}",
            bytes.len(),
            match binary {
                Some((major, minor)) => format!("glibc {major}.{minor}"),
                None => "no C library".to_owned(),
            }
        ));
    }
    Ok(folder)
}

/// Where SAM put a function's binary; functions with the same code share a folder.
fn bootstrap_of(folder: &Path, function: &str) -> Result<PathBuf, String> {
    let template = folder.join("template.yaml");
    let text = std::fs::read_to_string(&template).map_err(|e| format!("{}: {e}", template.display()))?;
    let of_function = text
        .split_once(&format!("\n  {function}:\n"))
        .map(|(_, rest)| rest);
    let code = of_function
        .and_then(|rest| rest.lines().find_map(|line| line.trim().strip_prefix("CodeUri:")))
        .ok_or_else(|| format!("{} has no CodeUri of {function}", template.display()))?;
    Ok(folder.join(code.trim()).join("bootstrap"))
}

/// The newest glibc that a binary for arm64 asks for, if it asks for any.
fn look_at(bytes: &[u8]) -> Result<Option<(u32, u32)>, String> {
    // Magic, 64 bits, little end first; the machine is a number of two bytes at 18.
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err("it is no ELF of 64 bits".to_owned());
    }
    if bytes.get(18..20) != Some(&[183, 0]) {
        return Err(format!(
            "its machine is {:?}, not that of aarch64",
            bytes.get(18..20)
        ));
    }
    if bytes.len() > MOST_BYTES {
        return Err(format!("it has {} bytes, more than Lambda takes", bytes.len()));
    }
    let newest = versions(bytes).max();
    match newest {
        Some(version) if version > NEWEST_GLIBC => Err(format!(
            "it needs glibc {}.{}, and provided.al2023 has {}.{}",
            version.0, version.1, NEWEST_GLIBC.0, NEWEST_GLIBC.1
        )),
        newest => Ok(newest),
    }
}

/// The versions of glibc whose names are in the binary: `GLIBC_2.17`.
fn versions(bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    const NAME: &[u8] = b"GLIBC_";
    let places = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(NAME));
    places.filter_map(|at| {
        let rest = &bytes[at + NAME.len()..];
        let end = rest
            .iter()
            .position(|b| !(b.is_ascii_digit() || *b == b'.'))
            .unwrap_or(rest.len());
        let text = std::str::from_utf8(&rest[..end]).ok()?;
        let mut numbers = text.split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(machine: u8, names: &str) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();
        bytes.extend([machine, 0]);
        bytes.extend(names.as_bytes());
        bytes
    }

    #[test]
    fn a_binary_for_another_machine_or_a_newer_c_library_is_refused() {
        assert_eq!(
            look_at(&binary(183, "\0GLIBC_2.17\0GLIBC_2.4\0GLIBC_2.30\0")),
            Ok(Some((2, 30)))
        );
        assert_eq!(look_at(&binary(183, "\0GLIBC_PRIVATE\0")), Ok(None));
        assert!(
            look_at(&binary(183, "\0GLIBC_2.35\0"))
                .unwrap_err()
                .contains("2.35")
        );
        assert!(look_at(&binary(62, "")).unwrap_err().contains("machine"));
        assert!(look_at(b"#!/bin/sh").unwrap_err().contains("ELF"));
    }
}
