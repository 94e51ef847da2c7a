//! What people read: every link leads somewhere, and the book's contents are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Pages of a folder and of those below it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
    found
}

/// Where the links of a page lead, those to other machines left aside.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|part| part.split_once(')'))
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// Files and folders of the repository that a page names in backquotes.
fn names(text: &str) -> Vec<&str> {
    let tops = [
        "infra/",
        "docs/",
        "tests/",
        "crates/",
        "lambda/",
        "xtask/",
        "policies/",
    ];
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| tops.iter().any(|top| name.starts_with(top)))
        .filter(|name| !name.contains([' ', '*', '{', '<']))
        .collect()
}

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_and_every_file_that_is_named_is_there() {
    let root = root();
    let mut all = pages(&root.join("docs"));
    all.extend(pages(&root.join("infra")));
    all.extend(["README.md", "CONTRIBUTING.md"].map(|name| root.join(name)));
    let mut checked = 0;
    for page in &all {
        let text = read(page);
        let folder = page.parent().unwrap_or(&root);
        for target in links(&text) {
            let (path, heading) = target.split_once('#').unwrap_or((target, ""));
            let to = if path.is_empty() {
                page.clone()
            } else {
                folder.join(path)
            };
            assert!(
                to.exists(),
                "{} links to {target}, which isn't there",
                page.display()
            );
            if !heading.is_empty() {
                let text = read(&to);
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                assert!(
                    headings.any(|line| anchor(line.trim_start_matches('#')) == heading),
                    "{} links to {target}: there is no such heading",
                    page.display()
                );
            }
            checked += 1;
        }
        for name in names(&text) {
            let to = if name.starts_with("policies/") {
                folder.join(name)
            } else {
                root.join(name)
            };
            assert!(to.exists(), "{} names {name}, which isn't there", page.display());
            checked += 1;
        }
    }
    assert!(
        checked >= 30,
        "only {checked} links and names in {} pages",
        all.len()
    );
}

#[test]
fn what_the_book_lists_is_there() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let listed: BTreeSet<String> = links(&summary).into_iter().map(str::to_owned).collect();
    assert!(listed.len() >= 8, "{listed:?}");
    for page in &listed {
        assert!(
            docs.join(page).is_file(),
            "docs/SUMMARY.md lists {page}, which isn't there"
        );
    }
    let book = read(&docs.join("book.toml"));
    assert!(book.contains("src = \".\""), "{book}");
}
